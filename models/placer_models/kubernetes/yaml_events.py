"""Objects of a YAML text, handed out one by one from the events of libyaml."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, partial

import yaml

from placer_models.files.anchors import BadYamlAliasError, YamlAnchors
from placer_models.files.errors import InputError
from placer_models.files.tree import MAX_DEPTH, DocumentTreeScalar, document_tree_to_plain_values
from placer_models.files.yaml_tree import LOADER, MERGE_KEY, MERGES
from placer_models.kubernetes.chunks import (
    CHUNK,
    MAX_OBJECT_CHARACTERS,
    ChunkValue,
    ParsedListItemOrDocument,
)
from placer_models.message_text import in_quotes

_AT_END = "; the file ends here: if it was cut off, get it again"


def iterate_yaml_objects(
    text: "LineKeepingStream", file: str, anchors: YamlAnchors[ChunkValue] | None = None
) -> Iterator[ParsedListItemOrDocument]:
    """Yield the items of Lists as they end, and each document at its end.

    An alias stands for the very part that has its anchor, in another item too. Tags are refused, as
    in our own files.

    Args:
        text: The text.
        file: The file's name for messages.
        anchors: Gets the anchors of the first document.

    Raises:
        InputError: The text is not YAML, or uses a feature that is not read here.

    """
    try:
        yield from _parts(text, file, empty_yaml_anchors() if anchors is None else anchors)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        context = f" {error.context}" if error.context else ""
        raise InputError(
            file,
            text.offset + mark.line + 1 if mark else None,
            "",
            f"is not YAML{f' at column {mark.column + 1}' if mark else ''}:{context} "
            f"{error.problem}{_AT_END if mark and text.ends_at(mark) else ''}",
        ) from None
    except yaml.reader.ReaderError as error:
        raise InputError(file, None, "", f"is not YAML: {error.reason}") from None


def empty_yaml_anchors() -> YamlAnchors[ChunkValue]:
    """Return the anchors of a document before there are any."""
    return YamlAnchors(_parts_of)


def _parts(
    kept: "LineKeepingStream", file: str, anchors: YamlAnchors[ChunkValue]
) -> Iterator[ParsedListItemOrDocument]:
    offset = kept.offset
    refused = partial(_refused, file, offset)
    parser = LOADER(kept)
    root: ChunkValue = None
    here: dict[str, ChunkValue] | list[ChunkValue] | None = None
    above: list[dict[str, ChunkValue] | list[ChunkValue] | None] = []
    key: str | None = None
    items: list[ChunkValue] | None = None
    begun = yaml.Mark("", 0, 0, 0, None, 0)
    try:
        while True:
            event = parser.get_event()
            what = type(event)
            if what is yaml.ScalarEvent:
                if event.tag:
                    raise refused(event, f"the tag {event.tag!r} is not read; delete it")
                if type(here) is dict and key is None:
                    key = event.value
                    if event.anchor:
                        anchors.name(event.anchor, key)
                    if key == MERGE_KEY and not event.style:
                        raise refused(event, MERGES)
                    if key in here:
                        raise refused(event, f"the key {in_quotes(key)} is given twice")
                    continue
                value: ChunkValue = event.value if event.style else _value(event.value)
                if event.anchor:
                    anchors.name(event.anchor, value)
                if here is items and here is not None:
                    yield ParsedListItemOrDocument(
                        value, offset + event.start_mark.line + 1, "", _fields(root)
                    )
                elif type(here) is dict:
                    here[str(key)], key = value, None
                elif type(here) is list:
                    here.append(value)
                else:
                    root, begun = value, event.start_mark
            elif what is yaml.MappingStartEvent or what is yaml.SequenceStartEvent:
                if event.tag or (type(here) is dict and key is None) or len(above) > MAX_DEPTH:
                    raise refused(event, "tags, keys of several parts and deep nests are not read")
                new: dict[str, ChunkValue] | list[ChunkValue] = (
                    {} if what is yaml.MappingStartEvent else []
                )
                if not above:
                    root, begun = new, event.start_mark
                elif here is items and here is not None:
                    begun = event.start_mark
                elif type(here) is dict:
                    if len(above) == 1 and key == "items" and type(new) is list:
                        items = new
                    else:
                        here[str(key)] = new
                elif type(here) is list:
                    here.append(new)
                above.append(here)
                here, key = new, None
                if event.anchor:
                    anchors.name(event.anchor, new)
            elif what is yaml.MappingEndEvent or what is yaml.SequenceEndEvent:
                ended, here = here, above.pop()
                key = None
                if here is items and here is not None:
                    yield ParsedListItemOrDocument(
                        ended, offset + begun.line + 1, kept.text(begun, event), _fields(root)
                    )
            elif what is yaml.DocumentEndEvent:
                is_list = items is not None
                line = offset + event.start_mark.line + 1 if is_list else offset + begun.line + 1
                text = "" if is_list else kept.text(begun, event)
                yield ParsedListItemOrDocument(root, line, text, None, is_list)
                root = items = None
                anchors = empty_yaml_anchors()
            elif what is yaml.AliasEvent:
                value = _aliased(event, anchors, [*above, here], items, refused)
                if here is items and here is not None:
                    yield ParsedListItemOrDocument(
                        value, offset + event.start_mark.line + 1, "", _fields(root)
                    )
                elif type(here) is list:
                    here.append(value)
                elif type(here) is dict and key is not None:
                    here[key], key = value, None
                else:
                    raise refused(event, "an alias as a key is not read; write it out")
            elif what is yaml.StreamEndEvent:
                return
    finally:
        parser.dispose()


def _aliased(
    event: yaml.AliasEvent,
    anchors: YamlAnchors[ChunkValue],
    around: list[dict[str, ChunkValue] | list[ChunkValue] | None],
    items: list[ChunkValue] | None,
    refused: Callable[[yaml.Event, str], InputError],
) -> ChunkValue:
    try:
        value = anchors.aliased(event.anchor or "", around)
    except BadYamlAliasError as error:
        raise refused(event, str(error)) from None
    if value is items and items is not None:
        message = f"the alias '*{event.anchor}' names all items of a List; write them out"
        raise refused(event, message)
    return value


def _parts_of(value: ChunkValue) -> Iterable[ChunkValue]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _fields(root: ChunkValue) -> dict[str, ChunkValue]:
    return root if isinstance(root, dict) else {}


def _refused(file: str, offset: int, event: yaml.Event, message: str) -> InputError:
    line = event.start_mark.line + 1 if event.start_mark else 1
    return InputError(file, offset + line, "", message)


@lru_cache(65_536)
def _value(text: str) -> ChunkValue:
    """Return the value of a text without quotes, as in our own files."""
    value = document_tree_to_plain_values(DocumentTreeScalar(text, quoted=False, line=0))
    assert not isinstance(value, list | dict)
    return value


class LineKeepingStream:
    """A text that a parser reads piece by piece, of which the lines of the current object are kept.

    Attributes:
        offset: How many lines of the file come before it.

    """

    def __init__(
        self,
        more: Callable[[int], str],
        offset: int = 0,
        ends: Callable[[], bool] = lambda: True,
    ) -> None:
        """Begin with nothing read.

        Args:
            more: Returns about as many more characters, or an empty text at the end.
            offset: As above.
            ends: Whether the file ends where the text has ended.

        """
        self.offset = offset
        self._more = more
        self._ends = ends
        self._lines: deque[str] = deque([""])
        self._first = 0  # the number of the first line kept, from 0
        self._characters = 0

    def read(self, size: int = CHUNK) -> str:
        """Return more of the text."""
        text = self._more(size)
        lines = text.splitlines(keepends=True)
        if lines:
            self._lines[-1] += lines[0]
            self._lines.extend(lines[1:])
            if lines[-1].endswith("\n"):
                self._lines.append("")
        self._characters += len(text)
        if self._characters > MAX_OBJECT_CHARACTERS:
            raise yaml.MarkedYAMLError(
                problem=f"an object of more than {MAX_OBJECT_CHARACTERS:,} characters"
            )
        return text

    def ends_at(self, mark: yaml.Mark) -> bool:
        """Return whether the file ends on the line of a mark, or on the next one."""
        return mark.line >= self._first + len(self._lines) - 2 and self._ends()

    def text(self, begun: yaml.Mark, ended: yaml.Event) -> str:
        """Return the text between two marks, and forget what came before it."""
        while self._first < begun.line and len(self._lines) > 1:
            self._characters -= len(self._lines.popleft())
            self._first += 1
        end = ended.end_mark or begun
        last = end.line - self._first
        lines = [line for line, _ in zip(self._lines, range(last + 1), strict=False)]
        if len(lines) > last:
            lines[last] = lines[last][: end.column]
        if lines:
            lines[0] = " " * begun.column + lines[0][begun.column :]
        return "".join(lines)
