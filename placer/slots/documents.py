"""The one document of a slots file, of the kind that is expected."""

from pathlib import Path

from placer_models.files.documents import name_of, read_documents
from placer_models.files.errors import InputError, shown, suggestion
from placer_models.files.faults import Faults, Place


def only_document(path: Path, kind: str) -> Place:
    """Return the document of a file; ``-`` is standard input.

    Raises:
        InputError: There is not one document, or it is of another kind.

    """
    documents = read_documents(path)
    if len(documents) != 1:
        message = f"got {len(documents)} documents; expected one of 'kind: {kind}'"
        raise InputError(name_of(path), None, "", message)
    place = Place(documents[0], Faults(documents))
    # Said before saying that the fields are strange.
    said = place.at("kind")
    if said.exists and said.value != shown(kind):
        said.fault(f"got {said.value}; expected '{kind}'{suggestion(said.value, (kind,))}")
        place.faults.raise_first()
    return place
