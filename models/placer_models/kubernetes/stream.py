"""Streams of Kubernetes' objects, read from files one object at a time, with Lists unpacked."""

import re
import stat
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from placer_models.files.documents import API_VERSION, STANDARD_INPUT, shown_file_name
from placer_models.files.errors import InputError
from placer_models.files.json_tree import read_json
from placer_models.files.reading import file_reading_progress
from placer_models.files.tree import Path as FieldPath
from placer_models.files.tree import field_line_number
from placer_models.files.yaml_tree import read_yaml
from placer_models.kubernetes.chunks import DumpUtf8Reader, ParsedListItemOrDocument
from placer_models.kubernetes.json_objects import iterate_json_objects
from placer_models.kubernetes.object_fields import Object
from placer_models.kubernetes.yaml_objects import iterate_chunked_yaml_objects

HEAD_BYTES = 65_536
"""The number of bytes within which a file must tell what it holds."""

_OURS = API_VERSION.partition("/")[0] + "/"
_OUR_KINDS = frozenset(
    {"Instance", "Machine", "Placement", "NodePlacement", "JobGraph", "QueueSimulation"}
)
_JSON_START = re.compile(r"\s*\{")
_FIRST = re.compile(
    r"""(?m)(?:^[ \t-]*|[{,]\s*)["']?(apiVersion|kind)["']?[ \t]*:[ \t]*["']?([A-Za-z0-9./-]+)"""
)
_API_VERSION = re.compile(r"(?:[a-z0-9.-]+/)?v[0-9]+(?:(?:alpha|beta)[0-9]+)?")


@dataclass(frozen=True, slots=True)
class ParsedObject:
    """One object, as it was read.

    Attributes:
        line: The line that it begins on.
        kind: The kind; for an item without one, the kind that its List implies.
        text: Its text as written, from that line on.

    """

    file: str
    line: int
    api_version: str
    kind: str
    value: Object
    text: str
    is_json: bool

    def line_at(self, path: FieldPath) -> int:
        """Return the line of a field, or of what would hold it; needed only for faults."""
        try:
            tree = read_json(self.text, "") if self.is_json else read_yaml(self.text, "")[0]
        except (InputError, IndexError):
            return self.line
        return self.line - 1 + field_line_number(tree, path)


Found = ParsedObject | InputError
"""An object, or the error in its place; reading goes on after it as far as possible."""


def holds_kubernetes_objects(path: Path) -> bool:
    """Return whether a file holds objects of Kubernetes rather than documents of ours.

    The first ``apiVersion`` and ``kind`` in it decide; a file without them holds none.
    """
    try:
        if path == STANDARD_INPUT:
            peek = getattr(sys.stdin.buffer, "peek", None)
            head = peek(HEAD_BYTES)[:HEAD_BYTES] if peek else b""
        else:
            with path.open("rb") as stream:
                head = stream.read(HEAD_BYTES)
    except (OSError, ValueError, AttributeError):
        return False  # whoever reads it says why it cannot
    said: dict[str, str] = {}
    for match in _FIRST.finditer(head.decode(errors="replace")):
        said.setdefault(match[1], match[2])
    version = said.get("apiVersion", "")
    known = _API_VERSION.fullmatch(version) and not version.startswith(_OURS)
    return bool(known) and said.get("kind") not in _OUR_KINDS


def load_kubernetes_objects(path: Path) -> Iterator[Found]:
    """Yield the objects of a YAML or JSON file, and its errors where they occur.

    Documents may be objects or Lists of them; ``-`` is standard input.
    """
    file = shown_file_name(path)
    with ExitStack() as stack:
        try:
            opened = _opened(path, stack)
            tell = stack.enter_context(file_reading_progress(file, _size_bytes(path)))
            yield from _objects(DumpUtf8Reader(opened, file, tell), path, file)
        except InputError as error:
            yield error
        except UnicodeDecodeError as error:
            cut = error.reason == "unexpected end of data" and error.end == len(error.object)
            mend = "it was cut off, so get it again" if cut else "save it as UTF-8"
            yield InputError(file, None, "", f"is not UTF-8: {error.reason}; {mend}")
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            yield InputError(file, None, "", f"cannot be read: {reason}")


def _opened(path: Path, stack: ExitStack) -> IO[bytes]:
    if path == STANDARD_INPUT:
        return sys.stdin.buffer
    return stack.enter_context(path.open("rb"))


def _size_bytes(path: Path) -> int | None:
    """Return the size of a file; None for what comes from elsewhere, such as a pipe."""
    if path == STANDARD_INPUT:
        return None
    status = path.stat()
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def _objects(chunks: DumpUtf8Reader, path: Path, file: str) -> Iterator[Found]:
    is_yaml = path.suffix in (".yaml", ".yml")
    is_json = path.suffix == ".json" or (
        not is_yaml and _JSON_START.match(chunks.head()) is not None
    )
    held: list[Found] = []  # the last item so far, which may have been cut off with its List
    unnamed: list[
        ParsedListItemOrDocument
    ] = []  # items to which their List may give a kind at its end
    count = 0
    try:
        for part in (iterate_json_objects if is_json else iterate_chunked_yaml_objects)(
            chunks, file
        ):
            if part.root is not None:
                count += 1
                yield from held
                held = []
                if _lacks_kind(part) and not _kind_of_items(part.root):
                    unnamed.append(part)
                else:
                    held = [_object(part, part.root, file, is_json=is_json)]
                continue
            if part.is_list and isinstance(part.value, dict) and "kind" not in part.value:
                held, unnamed = [_cut_off(file, part.line, count)], []
            if part.is_list:
                yield from held
                root = part.value if isinstance(part.value, dict) else {}
                yield from (_object(one, root, file, is_json=is_json) for one in unnamed)
                held, unnamed, count = [], [], 0
            elif part.value is not None:
                yield _object(part, {}, file, is_json=is_json)
    except (InputError, ValueError, OSError):
        yield from held  # what is wrong comes after it
        raise


def _cut_off(file: str, line: int, count: int) -> InputError:
    return InputError(
        file,
        line,
        "",
        f"a list of {count:,} items ends without a kind: it was cut off, so get it again; "
        "a whole one says 'kind: List'",
    )


def _lacks_kind(part: ParsedListItemOrDocument) -> bool:
    return isinstance(part.value, dict) and not ("kind" in part.value or "apiVersion" in part.value)


def _kind_of_items(root: Object) -> str:
    """Return the kind of a List's items by the List's own kind: ``PodList`` holds ``Pod``."""
    kind = root.get("kind")
    return kind.removesuffix("List") if isinstance(kind, str) and kind.endswith("List") else ""


def _object(part: ParsedListItemOrDocument, root: Object, file: str, *, is_json: bool) -> Found:
    value = part.value
    if not isinstance(value, dict):
        what = "a list" if isinstance(value, list) else "no mapping"
        return InputError(
            file, part.line, "", f"{what}; expected an object with apiVersion and kind"
        )
    found: dict[str, object] = dict(value)
    if _lacks_kind(part) and _kind_of_items(root):
        found = {"apiVersion": root.get("apiVersion"), "kind": _kind_of_items(root), **value}
    for field in ("apiVersion", "kind"):
        said = found.get(field)
        if not isinstance(said, str) or not said:
            message = "is missing; every object of Kubernetes names its apiVersion and kind"
            return InputError(file, part.line, field, message)
    version, kind = str(found["apiVersion"]), str(found["kind"])
    if version.startswith(_OURS):
        return InputError(
            file,
            part.line,
            "apiVersion",
            f"{kind} of {version} is Placer's own, "
            "beside objects of Kubernetes; pass one or the other",
        )
    return ParsedObject(file, part.line, version, kind, found, part.text, is_json)
