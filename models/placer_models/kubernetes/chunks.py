"""The text of a stream in chunks, and the parts of a document that are handed out one by one."""

import codecs
from typing import IO, NamedTuple

CHUNK = 2**20

MAX_OBJECT_CHARACTERS = 64 * 2**20
"""A cluster keeps no object larger than a few MiB."""

ChunkValue = None | bool | int | float | str | list["ChunkValue"] | dict[str, "ChunkValue"]
"""What YAML and JSON can say."""


class Chunk(NamedTuple):
    """An item of a List, or the whole of a document (of a List all but its items).

    Attributes:
        line: Where it begins.
        text: As it was written, from there on.
        root: Of an item: the fields of its List that came before. Of a document: None.
        is_list: Of a document: whether it had items.

    """

    value: ChunkValue
    line: int
    text: str
    root: dict[str, ChunkValue] | None = None
    is_list: bool = False


class Chunks:
    """The text of a stream of UTF-8; a mark at its beginning says nothing."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self._ahead = ""
        self._ended = False

    def head(self) -> str:
        """Return what comes next, without taking it."""
        self._ahead = self._ahead or self.read()
        return self._ahead

    def read(self, size: int = CHUNK) -> str:
        """Return more of the text; nothing at its end.

        Raises:
            UnicodeDecodeError: It is no UTF-8.

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
