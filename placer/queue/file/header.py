"""The header of every document: its version, its kind, and what it is about."""

from pathlib import Path

from placer.queue.file.fields import Fields
from placer_models.files.documents import name_of, read_documents
from placer_models.files.errors import InputError
from placer_models.files.faults import Faults, Place

API_VERSION = "placer/v1"

_HEADER = ("apiVersion", "kind", "metadata")


def open_document(path: Path, kind: str, known: tuple[str, ...]) -> tuple[Fields, str]:
    """Return the fields of the only document of a file, and its title.

    Raises:
        InputError: It is no document of the kind.

    """
    documents = read_documents(path)
    if len(documents) != 1:
        message = f"expected one document of 'kind: {kind}', got {len(documents)}"
        raise InputError(name_of(path), None, "", message)
    tree, place = documents[0].tree, Place(documents[0], Faults(documents))
    header = Fields(tree, place, (*_HEADER, *tree.entries))
    for name, expected in (("apiVersion", API_VERSION), ("kind", kind)):
        if header.text(name) != expected and name in header:
            header.fault(name, f"got {place.at(name).value}; expected '{expected}'")
    place.faults.raise_first()
    fields = Fields(tree, place, (*_HEADER, *known))
    metadata = fields.below("metadata", ("name", "description"))
    title = metadata.text("name", path.stem) if metadata else path.stem
    if metadata:
        metadata.text("description", "")
    return fields, title
