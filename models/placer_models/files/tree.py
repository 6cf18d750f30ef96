"""A document as it was written: text, not values, with the line of every part.

A plain scalar of YAML has no type yet: ``no`` may be a name, ``12`` a label. Its type
is decided by the field it stands in (``validate``), never by its looks alone.
"""

import re
from collections.abc import Iterator, Sequence
from math import isfinite
from typing import NamedTuple

from placer_models.files.errors import InputError
from placer_models.message_text import in_quotes

Path = tuple[str | int, ...]
"""Keys and indices from the root of a document to one of its parts."""

Plain = None | bool | int | float | str | list["Plain"] | dict[str, "Plain"]
"""What JSON can say."""

MAX_DEPTH = 64
"""Deepest nesting that is read; an instance needs eight."""

MAX_VALUES = 500_000
"""Most values in one file: bounds the memory that a file can make us take."""

MAX_KEYS = 10_000
"""Most fields of one mapping."""

_SHOWN_KEY_CHARACTERS = 80

_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,29})\Z")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,29})(?:\.[0-9]{1,30})?(?:[eE][-+]?[0-9]{1,3})?\Z")
_WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None, "~": None, "": None}


class DocumentTreeScalar(NamedTuple):
    """A single value; a quoted one is text for certain."""

    text: str
    quoted: bool
    line: int


class DocumentTreeMappingEntry(NamedTuple):
    """One field of a mapping; its line is that of its key."""

    node: "Tree"
    line: int


class DocumentTreeMapping(NamedTuple):
    """Fields in the order written."""

    entries: dict[str, DocumentTreeMappingEntry]
    line: int


class DocumentTreeList(NamedTuple):
    """A list of parts."""

    items: list["Tree"]
    line: int


Tree = DocumentTreeScalar | DocumentTreeMapping | DocumentTreeList


class DocumentTreeBuilder:
    """Grows a tree from the events of a reader, within the limits.

    The nesting is kept on a list of our own, so no input can exhaust the stack.
    """

    def __init__(self, file: str) -> None:
        self._file = file
        self._open: list[DocumentTreeMapping | DocumentTreeList] = []
        self._keys: list[DocumentTreeScalar | None] = []
        self._values = 0
        self.roots: list[Tree] = []

    @property
    def open(self) -> Sequence[Tree]:
        """The mappings and lists that are open, from the root on."""
        return self._open

    @property
    def wants_key(self) -> bool:
        """Whether the next scalar is a key of the mapping that is open."""
        return (
            bool(self._open)
            and isinstance(self._open[-1], DocumentTreeMapping)
            and self._keys[-1] is None
        )

    def scalar(self, text: str, *, quoted: bool, line: int) -> None:
        """Add a key or a value."""
        # Values of a mapping and items of a list make up a file: they come first here.
        node = DocumentTreeScalar(text, quoted, line)
        if self._keys and self._keys[-1] is None and type(self._open[-1]) is DocumentTreeMapping:
            self._key(node)
        else:
            self._add(node)

    def start(self, node: DocumentTreeMapping | DocumentTreeList) -> None:
        """Open a mapping or a list."""
        if self.wants_key:
            raise self.fault(node.line, "a key is a single name; got a list or a mapping as key")
        if len(self._open) >= MAX_DEPTH:
            raise self.fault(node.line, f"nested deeper than {MAX_DEPTH} levels; flatten it")
        self._add(node)
        self._open.append(node)
        self._keys.append(None)

    def alias(self, part: Tree, values: int, line: int) -> None:
        """Add a part once more, in another place.

        Args:
            part: The part, which is complete.
            values: How many values it has, itself among them.
            line: The line of the place.

        """
        if self.wants_key:
            raise self.fault(line, "a key is a single name; got an alias as key")
        if self._values + values > MAX_VALUES:
            raise self.fault(
                line,
                f"more than {MAX_VALUES:,} values with all that aliases stand for; "
                "aliases of aliases grow without bound (as in a billion laughs): "
                "write the values out, or split the file",
            )
        self._values += values - 1
        self._add(part)

    def end(self) -> None:
        """Close the mapping or the list that was opened last."""
        self._open.pop()
        self._keys.pop()

    def fault(self, line: int, message: str) -> InputError:
        """Return the error that refuses the file at the line."""
        return InputError(self._file, line, "", message)

    def _key(self, key: DocumentTreeScalar) -> None:
        mapping = self._open[-1]
        if not isinstance(mapping, DocumentTreeMapping):
            return
        if len(mapping.entries) == MAX_KEYS:
            raise self.fault(key.line, f"more than {MAX_KEYS:,} fields in one mapping; use a list")
        if key.text in mapping.entries:
            first = mapping.entries[key.text].line
            raise self.fault(
                key.line,
                f"the key {in_quotes(key.text)} is already given on line {first}; keep one",
            )
        self._keys[-1] = key

    def _add(self, node: Tree) -> None:
        self._values += 1
        if self._values > MAX_VALUES:
            raise self.fault(
                node.line,
                f"more than {MAX_VALUES:,} values; use replicas and host lists, or split the file",
            )
        if not self._open:
            self.roots.append(node)
            return
        parent, key = self._open[-1], self._keys[-1]
        if isinstance(parent, DocumentTreeList):
            parent.items.append(node)
        elif key is not None:
            parent.entries[key.text] = DocumentTreeMappingEntry(node, key.line)
            self._keys[-1] = None


def document_tree_to_plain_values(
    tree: Tree, as_text: frozenset[Path] = frozenset(), path: Path = ()
) -> Plain:
    """Return the tree as JSON would say it.

    An unquoted scalar that JSON reads as a number, true, false or null becomes that value.
    Everything else is text, and so are the scalars at the paths ``as_text``. For that reason
    YAML's own ideas (``no``, ``0o17``, ``1_000``, ``1:30``, dates) are text.
    """
    if not as_text:
        return _plain(tree)
    if isinstance(tree, DocumentTreeMapping):
        return {
            key: document_tree_to_plain_values(e.node, as_text, (*path, key))
            for key, e in tree.entries.items()
        }
    if isinstance(tree, DocumentTreeList):
        return [
            document_tree_to_plain_values(node, as_text, (*path, i))
            for i, node in enumerate(tree.items)
        ]
    return tree.text if path in as_text else _plain(tree)


def _plain(tree: Tree) -> Plain:
    """Return the whole tree, typed by its looks: the usual case, for which no path is built."""
    if isinstance(tree, DocumentTreeMapping):
        return {key: _plain(entry.node) for key, entry in tree.entries.items()}
    if isinstance(tree, DocumentTreeList):
        return [_plain(node) for node in tree.items]
    text, quoted, _ = tree
    if quoted:
        return text
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.match(text):
        return int(text)
    if _NUMBER.match(text) and isfinite(float(text)):
        return float(text)
    return text


def is_blank_scalar(tree: Tree) -> bool:
    """Return whether the part is a scalar that says nothing: ``null``, ``~`` or no text."""
    return (
        isinstance(tree, DocumentTreeScalar)
        and not tree.quoted
        and _WORDS.get(tree.text, tree.text) is None
    )


def steps_along_path(
    tree: Tree, path: Sequence[str | int]
) -> Iterator[tuple[str | int, Tree, int]]:
    """Yield each step along the path from the root, with its part and its line.

    Steps that the tree does not have are passed over.
    """
    for step in path:
        if isinstance(tree, DocumentTreeMapping) and isinstance(step, str) and step in tree.entries:
            tree, line = tree.entries[step]
        elif (
            isinstance(tree, DocumentTreeList)
            and isinstance(step, int)
            and 0 <= step < len(tree.items)
        ):
            tree = tree.items[step]
            line = tree.line
        else:
            continue
        yield step, tree, line


def deepest_part_on_path(tree: Tree, path: Sequence[str | int]) -> Tree:
    """Return the deepest part along the path that exists."""
    return [tree, *(part for _, part, _ in steps_along_path(tree, path))][-1]


def field_line_number(tree: Tree, path: Sequence[str | int]) -> int:
    """Return the line of the deepest part along the path that exists."""
    return [tree.line, *(line for _, _, line in steps_along_path(tree, path))][-1]


def describe_part(tree: Tree) -> str:
    """Return the part as messages show it."""
    if isinstance(tree, DocumentTreeMapping):
        return "a mapping"
    if isinstance(tree, DocumentTreeList):
        return f"a list of {len(tree.items)}"
    return in_quotes(tree.text) if tree.text or tree.quoted else "nothing"


def field_path_text(path: Sequence[str | int]) -> str:
    """Write a path as people do: ``pods[3].requests.cpu``; long keys are cut short."""
    parts: list[str] = []
    for step in path:
        if isinstance(step, int):
            parts.append(f"[{step}]")
        else:
            key = step if len(step) <= _SHOWN_KEY_CHARACTERS else f"{step[:_SHOWN_KEY_CHARACTERS]}…"
            parts.append(f".{key}" if parts else key)
    return "".join(parts)
