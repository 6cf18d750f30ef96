"""Objects of a JSON file, handed out one by one, however large their List is."""

import json
import re
from collections.abc import Iterator
from typing import NoReturn

from placer_models.annotations.json_parts import refuse_json_constant
from placer_models.files.errors import InputError
from placer_models.kubernetes.chunks import (
    CHUNK,
    MAX_OBJECT_CHARACTERS,
    ChunkValue,
    DumpUtf8Reader,
    ParsedListItemOrDocument,
)
from placer_models.message_text import in_quotes

_AFTER = frozenset(",:]} \t\r\n")
_BLANKS = re.compile(r"[ \t\r\n]*+")


def iterate_json_objects(chunks: DumpUtf8Reader, file: str) -> Iterator[ParsedListItemOrDocument]:
    """Yield each item of a List, and each of the file's values, as soon as it ends.

    Raises:
        InputError: The text is not JSON.

    """
    text = _Text(chunks, file)
    while text.mark():
        if text.mark() == "{":
            yield from _object(text)
        else:
            value, line, written = text.value()
            yield ParsedListItemOrDocument(value, line, written)


def _object(text: "_Text") -> Iterator[ParsedListItemOrDocument]:
    """Yield the items of the List that begins here, or the single object."""
    begun = text.line
    root: dict[str, ChunkValue] = {}
    is_list = False
    written = [text.take("{", "an object")]
    while text.mark() != "}":
        if len(written) > 1:
            written.append(text.take(",", "',' or '}'"))
        key, _, between = text.value()
        if not isinstance(key, str):
            text.refuse("expected a key in quotes")
        written += [between, text.take(":", "':'")]
        if key == "items" and text.mark() == "[":
            is_list = True
            text.take("[", "a list")
            while text.mark() != "]":
                value, line, item = text.value()
                yield ParsedListItemOrDocument(value, line, item, root)
                if text.mark() != "]":
                    text.take(",", "',' or ']': the list is cut off, so get it again")
            text.take("]", "']'")
        else:
            root[key], _, between = text.value()
            written.append(between)
    written.append(text.take("}", "'}'"))
    yield ParsedListItemOrDocument(
        root, text.line if is_list else begun, "".join(written), None, is_list
    )


class _Text:
    """A window on the text that moves on as values are taken.

    Attributes:
        line: The line where the window begins.

    """

    def __init__(self, chunks: DumpUtf8Reader, file: str) -> None:
        self._chunks = chunks
        self._file = file
        self._window = ""
        self._at = 0
        self._decode = json.JSONDecoder(parse_constant=refuse_json_constant).raw_decode
        self._ended = False
        self.line = 1

    def mark(self) -> str:
        """Return the next character that is not blank, or an empty text at the end."""
        while True:
            blanks = _BLANKS.match(self._window, self._at)
            end = blanks.end() if blanks else self._at
            self.line += self._window.count("\n", self._at, end)
            self._at = end
            if end < len(self._window) or not self._more():
                return self._window[end : end + 1]

    def take(self, mark: str, expected: str) -> str:
        """Take the mark that must come next, and return it with the line breaks before it."""
        line = self.line
        if self.mark() != mark:
            self.refuse(f"expected {expected}")
        self._at += 1
        return "\n" * (self.line - line) + mark

    def value(self) -> tuple[ChunkValue, int, str]:
        """Take a value, and return it with its line and its text as written."""
        before = self.line
        self.mark()
        line = self.line
        while True:
            try:
                value, end = self._decode(self._window, self._at)
            except json.JSONDecodeError as error:
                if self._more():
                    continue
                self.line += self._window.count("\n", self._at, error.pos)
                is_cut = error.msg.startswith("Unterminated")
                self._at = len(self._window) if is_cut else error.pos
                self.refuse(error.msg)
            except (ValueError, RecursionError) as error:
                self.refuse(str(error))
            # A number may go on beyond the window; after a whole value comes a mark or a blank.
            if self._window[end : end + 1] in _AFTER or not self._more():
                break
        written = self._window[self._at : end]
        self.line += self._window.count("\n", self._at, end)
        self._at = end
        return value, line, "\n" * (line - before) + written

    def refuse(self, expected: str) -> NoReturn:
        """Say that the text is not JSON here.

        Raises:
            InputError: Always.

        """
        rest = self._window[self._at : self._at + 20]
        got = in_quotes(rest) if rest else "the end of the file: it was cut off, so get it again"
        raise InputError(self._file, self.line, "", f"is not JSON: {expected}, got {got}")

    def _more(self) -> bool:
        """Widen the window, and return whether there was more text."""
        if self._ended:
            return False
        if len(self._window) - self._at > MAX_OBJECT_CHARACTERS:
            self.refuse(f"an object of more than {MAX_OBJECT_CHARACTERS:,} characters")
        # Twice as much each time, so that a value larger than a chunk is not parsed over and over.
        wanted = max(CHUNK, len(self._window) - self._at)
        parts = [self._window[self._at :]]
        while wanted > 0 and (text := self._chunks.read(wanted)):
            parts.append(text)
            wanted -= len(text)
        self._ended = wanted > 0
        self._window, self._at = "".join(parts), 0
        return len(parts) > 1
