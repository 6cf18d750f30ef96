"""Documents of a file, or one message that says why its bytes are not documents."""

import re
import stat
import sys
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice
from pathlib import Path

from placer_models.files.errors import InputError
from placer_models.files.json_tree import read_json
from placer_models.files.mistaken import non_text_file_advice, non_yaml_text_advice
from placer_models.files.reading import file_reading_progress
from placer_models.files.tree import DocumentTreeMapping, Tree, describe_part
from placer_models.files.yaml_tree import read_yaml

API_VERSION = "placer/v1"

MAX_FILE_BYTES = 32 * 2**20
"""Largest file that is read; 1,000 nodes written out one by one take about 1 MiB."""

MOST_BESIDE, LIKE = 10_000, 0.75
"""Of how many files one may be meant in place of one that is not there, and how like it is."""

STANDARD_INPUT = Path("-")

_UTF8_MARK = b"\xef\xbb\xbf"
_HEAD_BYTES = 4096
_JSON_START = re.compile(r'\s*\{\s*["}]')


@dataclass(frozen=True, slots=True)
class DocumentInFile:
    """One document of a file.

    Attributes:
        file: The file's name for messages.
        folder: What relative paths in the document start from.

    """

    file: str
    folder: Path
    tree: DocumentTreeMapping


def load_documents(path: Path) -> tuple[DocumentInFile, ...]:
    """Return the documents of a YAML or JSON file; ``-`` is standard input.

    Raises:
        InputError: The file cannot be read, or is neither YAML nor JSON.

    """
    return documents_in_text(read_text(path), path)


def documents_in_text(text: str, path: Path) -> tuple[DocumentInFile, ...]:
    """Return the documents of the text that was read from the path."""
    file = shown_file_name(path)
    folder = Path() if path == STANDARD_INPUT else path.parent
    roots = [root for root in _roots(text, path) if describe_part(root) != "nothing"]
    if not roots:
        raise InputError(
            file,
            None,
            "",
            f"is empty; expected a document that begins with 'apiVersion: {API_VERSION}'",
        )
    documents = []
    for root in roots:
        if not isinstance(root, DocumentTreeMapping):
            raise InputError(
                file,
                root.line,
                "",
                f"got {describe_part(root)}; expected fields such as 'apiVersion: {API_VERSION}'",
            )
        documents.append(DocumentInFile(file, folder, root))
    return tuple(documents)


def shown_file_name(path: Path) -> str:
    """Return the file's name for messages."""
    return "standard input" if path == STANDARD_INPUT else str(path)


def read_text(path: Path) -> str:
    """Return the text of a file, which must be UTF-8 of bounded size.

    Raises:
        InputError: It cannot be read, is too large, or is no text.

    """
    file = shown_file_name(path)
    data = _read_bytes(path, file)
    if b"\0" in data:
        raise InputError(
            file, None, "", f"is binary: byte {data.index(0) + 1} is NUL; expected YAML or JSON"
        )
    try:
        # An editor's UTF-8 mark at the start says nothing that we need.
        text = data.removeprefix(_UTF8_MARK).decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            file,
            line,
            "",
            f"is not UTF-8 text: byte {error.start + 1} is 0x{data[error.start]:02x}; "
            "expected YAML or JSON saved as UTF-8",
        ) from None
    if mistaken := non_yaml_text_advice(text):
        raise InputError(file, 1, "", mistaken)
    return text


def _read_bytes(path: Path, file: str) -> bytes:
    try:
        if path == STANDARD_INPUT:
            data = sys.stdin.buffer.read(MAX_FILE_BYTES + 1)
            _refuse_mistaken(data, file)
        else:
            status = path.stat()
            with path.open("rb") as stream:
                head = stream.read(_HEAD_BYTES)
                _refuse_mistaken(head, file)
                if stat.S_ISREG(status.st_mode) and status.st_size > MAX_FILE_BYTES:
                    raise _too_large(file)
                data = head + stream.read(MAX_FILE_BYTES + 1 - len(head))
    except IsADirectoryError:
        raise InputError(file, None, "", "is a folder; expected a file") from None
    except FileNotFoundError:
        raise InputError(file, None, "", f"does not exist{_nearest(path)}") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(file, None, "", f"cannot be read: {reason}") from None
    if len(data) > MAX_FILE_BYTES:
        raise _too_large(file)
    return data


def _nearest(path: Path) -> str:
    """Return the question whether a file beside it is meant, or nothing if none is like it."""
    try:
        beside = [one.name for one in islice(path.parent.iterdir(), MOST_BESIDE)]
    except OSError:
        return ""
    near = get_close_matches(path.name, sorted(beside), n=1, cutoff=LIKE)
    return f"; did you mean '{path.with_name(near[0])}'?" if near else ""


def _refuse_mistaken(head: bytes, file: str) -> None:
    if mistaken := non_text_file_advice(head[:_HEAD_BYTES]):
        raise InputError(file, None, "", mistaken)


def _too_large(file: str) -> InputError:
    return InputError(
        file,
        None,
        "",
        f"is larger than {MAX_FILE_BYTES >> 20} MiB; use replicas and host lists, "
        "or split it into several files",
    )


def _roots(text: str, path: Path) -> list[Tree]:
    file = shown_file_name(path)
    if text.strip() == "":
        return []
    is_yaml = path.suffix in (".yaml", ".yml")
    is_json = path.suffix == ".json" or (not is_yaml and _JSON_START.match(text))
    with file_reading_progress(file, len(text)) as tell:
        return [read_json(text, file, tell)] if is_json else read_yaml(text, file, tell)
