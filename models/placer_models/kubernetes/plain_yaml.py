"""The YAML that kubectl prints, read line by line: blocks whose scalars each stand on one line.

That is nearly all of a dump, and libyaml with its events takes several times as long for it.
Whatever else YAML knows is not understood here, and is left to libyaml.
"""

import re
import sys
from typing import Any, Final

from placer_models.files.tree import DocumentTreeScalar, document_tree_to_plain_values
from placer_models.kubernetes.chunks import ChunkValue

_MAX_LEVELS = 60
"""Below what libyaml's reader takes, which decides about deeper ones."""

_MAX_LINES = 30_000
"""The most lines that are remembered."""

_MAX_CHARACTERS = 150
"""The most characters of a line that is remembered; longer ones hardly ever come again."""

_OTHER = re.compile(r"[^\n -~]")
"""Characters that may mean something: tabs, line breaks of other kinds, what may not stand in YAML.
Letters beyond ASCII are rare enough to be left to libyaml with them."""

_LINE = re.compile(
    r"""
    (?P<indent>\ *)
    (?P<dash>-\ )?
    (?:
        (?P<key>[A-Za-z0-9_./](?:[^\s\#:]|:(?=[^\s]))*|"[^"\\\n]{1,200}"|'[^'\n]{1,200}')
        :(?:\ (?P<value>[^ ].*))?
        |
        (?P<item>[^ ].*)
    )
    """,
    re.VERBOSE,
)
_PLAIN = re.compile(r"[A-Za-z0-9_./+~$^()=;\\<]|-[A-Za-z0-9._/]")
"""How a text without quotes may begin, and mean only itself."""

_SINGLE = re.compile(r"'((?:[^']|'')*)'")
_DOUBLE = re.compile(r'"((?:[^"\\]|\\["\\nrt])*)"')
_ESCAPE = re.compile(r"\\(.)")
_ESCAPED = {'"': '"', "\\": "\\", "n": "\n", "r": "\r", "t": "\t"}
_LONGEST_KEY = 500

_NOTHING: Final = object()
"""The value of a key whose value, if any, begins on a line below."""

_EMPTY: Final = {"{}": dict, "[]": list}
"""Values that are made anew wherever they stand."""

_Line = tuple[int, bool, str | None, Any]
"""Indentation of a line; whether a dash follows; the key, or None; the value, or its type."""


class PlainYamlReader:
    """Reads blocks. It remembers lines, since most of a dump's come again and again."""

    def __init__(self) -> None:
        """Begin without lines."""
        self._lines: dict[str, _Line] = {}

    def mapping(self, text: str, indent: int = 0) -> dict[str, ChunkValue] | None:
        """Return the mapping that a block is; None if any of it is not understood.

        Args:
            text: The whole lines of the block.
            indent: How far its keys stand from the left.

        """
        if not text or _OTHER.search(text):
            return None
        root: dict[str, ChunkValue] = {}
        here: Any = root  # the mapping or list that is open, and where it stands
        column, is_list = indent, False
        key: str | None = None
        waits = False  # for the value of the key, on a line below it
        above: list[tuple[Any, int, bool]] = []
        known = self._lines.get
        for written in text.splitlines():
            line = known(written) or self._line(written)
            if line is None:
                return None
            at, dash, name, value = line
            if waits:
                if at > column or (dash and at == column):
                    if len(above) > _MAX_LEVELS:
                        return None
                    above.append((here, column, False))
                    new: Any = [] if dash else {}
                    here[key] = new
                    here, column, is_list = new, at, dash
                else:
                    here[key] = None
                waits = False
            while at < column or (is_list and not dash and at == column):
                if not above:
                    return None
                here, column, is_list = above.pop()
            if at != column or is_list is not dash:
                return None
            if dash:
                if name is None:
                    here.append(value() if type(value) is type else value)
                    continue
                above.append((here, column, True))
                new = {}
                here.append(new)
                here, column, is_list = new, at + 2, False
            if name in here:
                return None
            if value is _NOTHING:
                key, waits = name, True
            else:
                here[name] = value() if type(value) is type else value
        if waits:
            here[key] = None
        return root

    def _line(self, written: str) -> _Line | None:
        line = _parsed(written)
        if line is not None and len(written) <= _MAX_CHARACTERS:
            if len(self._lines) == _MAX_LINES:
                self._lines.clear()
            self._lines[written] = line
        return line


def _parsed(written: str) -> _Line | None:
    """Return a line; None if it is not understood by itself."""
    match = _LINE.fullmatch(written)
    if match is None:
        return None
    at, dash, key = len(match["indent"]), match["dash"] is not None, match["key"]
    if key is None:
        value = _scalar(match["item"]) if dash else _NOTHING
        return None if value is _NOTHING else (at, dash, None, value)
    if len(key) > _LONGEST_KEY:
        return None
    value = _NOTHING
    if match["value"] is not None:
        value = _scalar(match["value"])
        if value is _NOTHING:
            return None
    if key[0] in "'\"":
        key = key[1:-1]
    return at, dash, sys.intern(key), value


def _scalar(text: str) -> Any:
    """Return what a text means after a key or a dash: its value, or the type of an empty one.

    _NOTHING if it is not understood.
    """
    if text in _EMPTY:
        return _EMPTY[text]
    if _PLAIN.match(text):
        if ": " in text or " #" in text or text[-1] in ": ":
            return _NOTHING
        return document_tree_to_plain_values(DocumentTreeScalar(text, quoted=False, line=0))
    if quoted := _SINGLE.fullmatch(text):
        return quoted[1].replace("''", "'")
    if quoted := _DOUBLE.fullmatch(text):
        return _ESCAPE.sub(lambda found: _ESCAPED[found[1]], quoted[1])
    return _NOTHING
