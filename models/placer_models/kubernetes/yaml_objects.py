"""Objects of a YAML file, handed out one by one: plain blocks by lines, all else by libyaml.

A document of a dump is mostly a List of thousands of plain items, cut apart at the dashes of the
list. Whether an item is one, and is plain, shows when it is read. An item that is not plain is read
by libyaml alone; where that fails, or the item has anchors, libyaml reads the rest of the document
as if the items before were not there, so that what it says is what it would have said of the file.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from placer_models.files.errors import InputError
from placer_models.kubernetes.chunks import (
    CHUNK,
    MAX_OBJECT_CHARACTERS,
    ChunkValue,
    DumpUtf8Reader,
    ParsedListItemOrDocument,
)
from placer_models.kubernetes.plain_yaml import PlainYamlReader
from placer_models.kubernetes.yaml_events import (
    LineKeepingStream,
    empty_yaml_anchors,
    iterate_yaml_objects,
)

_MARK = "---\n"
_HEAD = re.compile(r"(?:---\n)?((?:(?!---|items:|[.%])[^\n]*\n){0,50})items:\n( *)- ")
"""The first lines of a List, up to its first item."""

_DIRECTIVE = re.compile(r"(?m)^%")
_DOCUMENT = re.compile(r"(?m)^---(?=[ \t\r\n])")
_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
_MOST_OF_ONE = 4 * CHUNK
"""A single document larger than this is left to libyaml."""


def iterate_chunked_yaml_objects(
    chunks: DumpUtf8Reader, file: str
) -> Iterator[ParsedListItemOrDocument]:
    """Yield the items of Lists as they end, and each document at its end.

    Raises:
        InputError: The text is not YAML, or uses a feature that is not read here.

    """
    reader = _Reader(_Window(chunks), PlainYamlReader(), file)
    while reader.window.fill():
        yield from reader.document()


class _Window:
    """A part of the text, which moves on.

    Attributes:
        text: The part.
        at: Where in it reading goes on.
        line: How many lines of the file come before that.
        ended: Whether the file ends with the part.

    """

    def __init__(self, chunks: DumpUtf8Reader) -> None:
        self._chunks = chunks
        self.text = ""
        self.at = 0
        self.line = 0
        self.ended = False

    def fill(self) -> bool:
        """Read if nothing is left, and return whether something is."""
        return self.at < len(self.text) or self.more()

    def more(self) -> bool:
        """Read on, and return whether there was more."""
        # Twice as much each time, so that a large object is not copied over and over.
        wanted = max(CHUNK, len(self.text) - self.at)
        parts = [self.text[self.at :]]
        while wanted > 0 and not self.ended:
            parts.append(self._chunks.read())
            wanted -= len(parts[-1])
            self.ended = not parts[-1]
        self.text, self.at = "".join(parts), 0
        return bool(parts[1:] and parts[1])

    def take(self, end: int) -> str:
        """Return the text up to there, and go on after it."""
        taken = self.text[self.at : end]
        self.at = end
        self.line += _lines_in(taken)
        return taken


def _lines_in(text: str) -> int:
    """Return how many lines end in a text, as libyaml counts them."""
    if text.isascii() and "\r" not in text:
        return text.count("\n")
    return len(_BREAK.findall(text))


@dataclass(slots=True)
class _Reader:
    window: _Window
    plain: PlainYamlReader
    file: str

    def document(self) -> Iterator[ParsedListItemOrDocument]:
        """Yield the parts of the next document."""
        window = self.window
        head = _HEAD.match(window.text, window.at)
        root = None
        if head is not None:
            root = self.plain.mapping(head[1]) if head[1] else {}
        if head is None or root is None:
            yield from self._single()
            return
        start = window.take(head.end() - len(head[2]) - len("- "))
        yield from self._items(start, head[2], root)
        yield from self._by_events(start)

    def _items(
        self, start: str, indent: str, root: dict[str, ChunkValue]
    ) -> Iterator[ParsedListItemOrDocument]:
        """Yield the items of a List, but for its last one, as far as each can be read by itself."""
        window, column = self.window, len(indent) + len("- ")
        dash, left = f"\n{indent}- ", re.compile(rf"\n(?= {{0,{len(indent)}}}[^ \n])")
        while True:
            at = window.text.find(dash, window.at)
            if at < 0:
                too_long = len(window.text) - window.at > MAX_OBJECT_CHARACTERS
                if too_long or left.search(window.text, window.at) or not window.more():
                    return
                continue
            written = window.text[window.at : at + 1]
            text = " " * column + written[column:]
            value = self.plain.mapping(text, column)
            if value is not None:
                part = ParsedListItemOrDocument(value, window.line + 1, text, root)
            elif not left.search(written, 0, len(written) - 1) and (
                found := self._item_by_events(start, written)
            ):
                part = found._replace(root=root)
            else:
                return
            yield part
            window.take(at + 1)

    def _item_by_events(self, start: str, written: str) -> ParsedListItemOrDocument | None:
        """Return an item that libyaml can read by itself."""
        texts, anchors = iter((start, written)), empty_yaml_anchors()
        before = self.window.line - _lines_in(start)
        try:
            kept = LineKeepingStream(lambda size: next(texts, ""), before)
            item, *rest = iterate_yaml_objects(kept, self.file, anchors)
        except (InputError, ValueError):
            return None
        return item if len(rest) == 1 and not anchors else None

    def _single(self) -> Iterator[ParsedListItemOrDocument]:
        """Yield the parts of a document that is no plain List."""
        window = self.window
        while True:
            found = _DOCUMENT.search(window.text, window.at + len("---"))
            if found or window.ended or len(window.text) - window.at > _MOST_OF_ONE:
                break
            window.more()
        if found or window.ended:
            end = found.start() if found else len(window.text)
            marked = window.text.startswith(_MARK, window.at)
            text = window.text[window.at + marked * len(_MARK) : end]
            value = self.plain.mapping(text)
            if value is not None and "items" not in value:
                yield ParsedListItemOrDocument(value, window.line + marked + 1, text)
                window.take(end)
                return
        yield from self._by_events("")

    def _by_events(self, start: str) -> Iterator[ParsedListItemOrDocument]:
        """Yield the rest of a document, as libyaml reads it after its first lines."""
        rest = _Rest(self.window, start)
        kept = LineKeepingStream(rest.read, self.window.line - _lines_in(start), rest.is_last)
        yield from iterate_yaml_objects(kept, self.file)


class _Rest:
    """The rest of a document, after its first lines, and the mark of the next one."""

    def __init__(self, window: _Window, start: str) -> None:
        self._window = window
        self._start = start
        self._is_begun = bool(start)
        self._is_stream = False
        self._marked = False

    def read(self, size: int) -> str:
        """Return more of it, or an empty text at its end."""
        del size
        if self._start:
            start, self._start = self._start, ""
            return start
        window = self._window
        if self._marked or not window.fill():
            return ""
        # Whole lines, since the mark of the next document is one.
        while not window.ended and "\n" not in window.text[window.at :]:
            if len(window.text) - window.at > MAX_OBJECT_CHARACTERS or not window.more():
                break
        end = len(window.text) if window.ended else window.text.rfind("\n") + 1
        end = end if end > window.at else len(window.text)
        # What a directive means may go on beyond its document.
        self._is_stream |= _DIRECTIVE.search(window.text, window.at, end) is not None
        if not self._is_stream:
            own = 0 if self._is_begun else len("---")
            if mark := _DOCUMENT.search(window.text, window.at + own, end):
                self._marked = True
                return window.take(mark.start()) + _MARK
        self._is_begun = True
        return window.take(end)

    def is_last(self) -> bool:
        """Return whether the file ends with the text."""
        return not self._marked and not self._window.fill()
