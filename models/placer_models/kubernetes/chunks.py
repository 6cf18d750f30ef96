"""Chunks of a text stream, and the parts of a document that are handed out one by one."""

import codecs
from typing import IO, NamedTuple

CHUNK = 2**20

MAX_OBJECT_CHARACTERS = 64 * 2**20
"""The most characters of one object; a cluster keeps none larger than a few MiB."""

ChunkValue = None | bool | int | float | str | list["ChunkValue"] | dict[str, "ChunkValue"]
"""Values of YAML and JSON."""


class Chunk(NamedTuple):
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


class Chunks:
    """The text of a stream of UTF-8, without a byte order mark."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
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

        """
        if self._ahead:
            text, self._ahead = self._ahead, ""
            return text
        while not self._ended:
            data = self._stream.read(max(size, 1))
            self._ended = not data
            if text := self._decoder.decode(data, final=self._ended):
                return text
        return ""
