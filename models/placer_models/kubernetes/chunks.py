"""Chunks of a text stream, and the parts of a document that are handed out one by one."""

import codecs
from typing import IO, NamedTuple

from placer_models.files.errors import InputError
from placer_models.files.mistaken import KUBECTL_ERRORS, kubectl_error_advice
from placer_models.files.reading import Tell

CHUNK = 2**20

MAX_OBJECT_CHARACTERS = 64 * 2**20
"""The most characters of one object; a cluster keeps none larger than a few MiB."""

_ERROR_CHARACTERS = max(map(len, KUBECTL_ERRORS)) + 1

ChunkValue = None | bool | int | float | str | list["ChunkValue"] | dict[str, "ChunkValue"]
"""Values of YAML and JSON."""


class ParsedListItemOrDocument(NamedTuple):
    """An item of a List, or a whole document (a List without its items).

    Attributes:
        line: The line that it begins on.
        text: Its text as written, from that line on.
        root: For an item, the fields of its List that came before it; None for a document.
        is_list: For a document, whether it had items.

    """

    value: ChunkValue
    line: int
    text: str
    root: dict[str, ChunkValue] | None = None
    is_list: bool = False


class DumpUtf8Reader:
    """The text of a stream of UTF-8, without a byte order mark and without kubectl's errors."""

    def __init__(
        self, stream: IO[bytes], file: str = "", tell: Tell = lambda done_bytes: None
    ) -> None:
        """Begin at the stream's first byte.

        Args:
            stream: The stream.
            file: The file's name for messages.
            tell: Told how many bytes are read by now.

        """
        self._stream = stream
        self._file = file
        self._tell = tell
        self._bytes = 0
        self._last = "\n"  # the end of the text so far, which may begin an error
        self._lines = 0  # line breaks before it
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self._ahead = ""
        self._ended = False

    def head(self) -> str:
        """Return the beginning of the remaining text, without taking it."""
        self._ahead = self._ahead or self.read()
        return self._ahead

    def read(self, size: int = CHUNK) -> str:
        """Return more of the text, or an empty text at its end.

        Raises:
            UnicodeDecodeError: The stream is not UTF-8.
            InputError: A line is an error of kubectl.

        """
        if self._ahead:
            text, self._ahead = self._ahead, ""
            return text
        while not self._ended:
            data = self._stream.read(max(size, 1))
            self._ended = not data
            self._bytes += len(data)
            self._tell(self._bytes)
            if text := self._decoder.decode(data, final=self._ended):
                self._refuse_errors(text)
                return text
        return ""

    def _refuse_errors(self, text: str) -> None:
        """Refuse a line that begins as kubectl's errors do: no YAML or JSON of objects has one.

        What an object quotes is indented in YAML, and has no line breaks in JSON.
        """
        seen = self._last + text
        for begin in KUBECTL_ERRORS:
            at = seen.find(f"\n{begin}")
            if at < 0:
                continue
            line = seen[at + 1 : at + 1001].partition("\n")[0].rstrip("\r")
            number = self._lines + seen.count("\n", 0, at + 1)
            raise InputError(self._file, number, "", f"holds {kubectl_error_advice(line)}")
        self._last = seen[-_ERROR_CHARACTERS:]
        self._lines += seen.count("\n", 0, len(seen) - len(self._last))
