"""One look for every table: a line under the head, columns without content left out."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from placer_cli.draw.breaking import WrappingText, least_text_width
from placer_cli.draw.palette import FRAME, QUIET, STRONG

GAP_COLUMNS = 2
"""Room between two columns."""

NAMES = frozenset({"pod", "node", "name", "gang", "from", "to", "who"})
"""Columns of names, which people copy: they stay whole as long as anything else can give way."""


TableCell = Text | str
"""What stands in a cell; a plain text has no style."""


def table_without_empty_columns(
    columns: Sequence[str],
    rows: Sequence[Sequence[TableCell]],
    width: int | None = None,
    *,
    numbers: Collection[str] = (),
    wrap: Mapping[str, int] | None = None,
    spare: Sequence[str] = (),
    sentences: str = "",
) -> RenderableType:
    """Return a table without the columns that are empty in every row.

    Columns named in ``numbers`` are set to the right. Where room is short, this is done in turn,
    as far as it needs:

    1. Columns of ``wrap`` give way, down to the width given there, and so do very wide ones.
    2. A domain that all names of a column share is said once, below the table.
    3. The columns named in ``spare`` are left out, one after the other.
    4. Names, too, go on in the next line.

    No line ends within a word (`breaking`). Where even that does not fit, each row is a list of
    its cells: all of them, one below the other.

    What the column named in ``sentences`` says stands below the other cells of its row, over all
    of the width, where one of its sentences would take more than three lines beside them.
    """
    texts = [[Text(one) if isinstance(one, str) else one for one in row] for row in rows]
    shown = [i for i in range(len(columns)) if any(row[i].plain for row in texts)]
    page = _Page(columns, texts, frozenset(numbers), dict(wrap or {}), shown)
    fitting = next(
        ((page, least) for page, least in _ways(page, spare) if _fits(least, width)), None
    )
    told_below = columns.index(sentences) if sentences else None
    if told_below in shown and (
        fitting is None or fitting[0].is_long(told_below, fitting[1], width)
    ):
        return _sentences_below(columns, texts, told_below, width)
    if fitting is None:
        return _one_below_the_other(columns, texts, width)
    return fitting[0].drawn(fitting[1], width)


def table_of_first_rows(
    columns: Sequence[str],
    rows: Sequence[Sequence[TableCell]],
    width: int,
    most: int,
    more: Callable[[int], str],
    **look: Any,
) -> RenderableType:
    """Return a table of the first rows, and below it how many more there are.

    Args:
        columns: As in `table_without_empty_columns`.
        rows: All rows.
        width: As in `table_without_empty_columns`.
        most: How many rows are drawn.
        more: Says of a number of rows what they are.
        look: What else `table_without_empty_columns` is told.

    """
    drawn = table_without_empty_columns(columns, rows[:most], width, **look)
    if len(rows) <= most:
        return drawn
    return Group(drawn, Text(f"and {more(len(rows) - most)}", QUIET))


def _ways(page: "_Page", spare: Iterable[str]) -> Iterator[tuple["_Page", dict[int, int]]]:
    """Yield ways to need less room, each with the least width of each column that is left."""
    shorter = page.without_domains()
    yield page, page.least(_longest_word)
    yield shorter, shorter.least(_longest_word)
    for names in (_longest_word, least_text_width):
        least = shorter.least(names)
        for name in spare:
            least.pop(page.columns.index(name), None)
            yield shorter, dict(least)


MOST_LINES = 3
"""A sentence of more lines than this stands below the other cells of its row."""

MOST_COLUMNS = 40
"""A column that is wider than this wraps where room is short, whatever it is."""

Least = Callable[[str], int]
"""The fewest columns that a text needs so that it breaks nowhere else than it may."""


@dataclass(frozen=True, slots=True)
class _Page:
    """A table before it is known what has room.

    Attributes:
        shown: Indices of the columns that are not empty.
        domain: What a mark stands for in names; empty if there is no mark.

    """

    columns: Sequence[str]
    rows: Sequence[Sequence[Text]]
    numbers: frozenset[str]
    wrap: Mapping[str, int]
    shown: Sequence[int]
    domain: str = ""

    def least(self, names: Least) -> dict[int, int]:
        """Return the least width of each column; names get what ``names`` says that they need."""
        return {i: self._least(i, names) for i in self.shown}

    def _least(self, column: int, names: Least) -> int:
        name = self.columns[column]
        natural = self._natural(column)
        if not self._wraps(column):
            return natural
        need = names if name in NAMES else least_text_width
        texts = (need(row[column].plain) for row in self.rows)
        return min(natural, max(len(name), self.wrap.get(name, MOST_COLUMNS), *texts))

    def _natural(self, column: int) -> int:
        return max(len(self.columns[column]), *(_longest_line(row[column]) for row in self.rows))

    def _wraps(self, column: int) -> bool:
        name = self.columns[column]
        wide = name in self.wrap or self._natural(column) > MOST_COLUMNS
        return wide and name not in self.numbers

    def without_domains(self) -> "_Page":
        """Return the page with a mark for each domain that all names of a column share."""
        rows = [list(row) for row in self.rows]
        domains = []
        for i in self.shown:
            domain = _shared_domain(row[i].plain for row in rows)
            if self.columns[i] in NAMES and domain:
                domains.append(domain)
                for row in rows:
                    row[i] = _without(row[i], domain)
        # One mark must not stand for two domains.
        if len(set(domains)) != 1:
            return self
        return replace(self, rows=rows, domain=domains[0])

    def _widths(self, least: Mapping[int, int], width: int | None) -> dict[int, int]:
        """Return the width of each column: names get their words first, then all evenly."""
        natural = {i: self._natural(i) for i in least}
        if width is None or _fits(natural, width):
            return natural
        widths = dict(least)
        left = width - sum(least.values()) - GAP_COLUMNS * (len(least) - 1)
        for i in least:
            if self.columns[i] in NAMES:
                whole = max(_longest_word(row[i].plain) for row in self.rows)
                more = min(left, max(0, whole - widths[i]))
                widths[i] += more
                left -= more
        ordered = sorted(least, key=lambda i: natural[i] - widths[i])
        for number, i in enumerate(ordered):
            more = min(left // (len(ordered) - number), natural[i] - widths[i])
            widths[i] += more
            left -= more
        return widths

    def is_long(self, column: int, least: Mapping[int, int], width: int | None) -> bool:
        """Return whether a sentence of a column takes too many lines in what it gets of a width."""
        wide = self._widths(least, width)[column]
        return any(
            sum(1 for _ in WrappingText(sentence).lines(wide)) > MOST_LINES
            for row in self.rows
            for sentence in row[column].split("\n")
        )

    def drawn(self, least: Mapping[int, int], width: int | None) -> RenderableType:
        drawn = Table(
            box=box.SIMPLE_HEAD,
            border_style=FRAME,
            header_style=STRONG,
            pad_edge=False,
            padding=(0, GAP_COLUMNS - 1, 0, 0),
            show_edge=False,
        )
        for i, wide in self._widths(least, width).items():
            drawn.add_column(
                self.columns[i],
                justify="right" if self.columns[i] in self.numbers else "left",
                overflow="fold",
                no_wrap=not self._wraps(i),
                width=wide,
            )
        for row in self.rows:
            drawn.add_row(*(WrappingText(row[i]) if self._wraps(i) else row[i] for i in least))
        if not self.domain:
            return drawn
        return Group(drawn, Text(f"{SHORT} is {self.domain}", QUIET))


def drawn_table_column_count(drawn: RenderableType) -> int:
    """Return how many columns a drawn table has."""
    parts = drawn.renderables if isinstance(drawn, Group) else [drawn]
    return sum(len(part.columns) for part in parts if isinstance(part, Table))


def _fits(least: Mapping[int, int], width: int | None) -> bool:
    return width is None or sum(least.values()) + GAP_COLUMNS * (len(least) - 1) <= width


def _longest_line(cell: Text) -> int:
    return max(map(len, cell.plain.split("\n")))


def _longest_word(text: str) -> int:
    return max((len(word) for word in text.split()), default=0)


SHORT = ".*"
"""Stands for a domain; letters that every terminal has."""

MOST_SHORT = 8
"""A domain of fewer letters is not worth a line below the table."""

_DOMAIN = re.compile(r"(?<=[a-z0-9])(\.[a-z0-9-]+)+(?=[\s,\]]|$)")


def _shared_domain(cells: Iterable[str]) -> str:
    """Return the domain that all names have that have any; empty if they differ."""
    found = {match.group() for cell in cells for match in _DOMAIN.finditer(cell)}
    domain = found.pop() if len(found) == 1 else ""
    return domain if len(domain) >= MOST_SHORT else ""


def _without(cell: Text, domain: str) -> Text:
    """Return a cell with a mark in place of a domain."""
    at = [match.span() for match in _DOMAIN.finditer(cell.plain) if match.group() == domain]
    if not at:
        return cell
    parts = cell.divide([edge for span in at for edge in span])
    return Text.assemble(*(Text(SHORT) if part.plain == domain else part for part in parts))


def _one_below_the_other(
    columns: Sequence[str], rows: Sequence[Sequence[Text]], width: int | None
) -> RenderableType:
    """Return a line for each cell that has content, and a blank line between two rows.

    A word that is longer than the page goes over its edge: a terminal breaks it where it likes,
    and yet gives it whole to who copies it.
    """
    longest = max((len(name) for name in columns), default=0) + GAP_COLUMNS
    lines: list[Text] = []
    for row in rows:
        lines += [Text()] if lines else []
        lines += _as_list(columns, row, longest, width)
    return Group(*lines)


def _sentences_below(
    columns: Sequence[str], rows: Sequence[Sequence[Text]], told_below: int, width: int | None
) -> RenderableType:
    """Return for each row its names in one line, and below it what a column says, indented.

    A sentence that goes on in the next line is indented further there.
    """
    lines: list[Text] = []
    for row in rows:
        first, *others = (i for i in range(len(columns)) if i != told_below)
        names = Text.assemble(*row[first].split("\n")[:1])
        names.stylize_before(STRONG)
        more = [Text(f"{columns[i]} {row[i].plain}", QUIET) for i in others if row[i].plain]
        lines.append(Text("  ", no_wrap=True, overflow="ignore").join([names, *more]))
        for sentence in row[told_below].split("\n", allow_blank=True):
            room = None if width is None else max(1, width - 2 * GAP_COLUMNS)
            for i, line in enumerate(WrappingText(sentence).lines(room)):
                indent = " " * (GAP_COLUMNS if i == 0 else 2 * GAP_COLUMNS)
                lines.append(Text.assemble(indent, line, no_wrap=True, overflow="ignore"))
    return Group(*lines)


def _as_list(
    columns: Sequence[str], row: Sequence[Text], label: int, width: int | None
) -> Iterator[Text]:
    for name, cell in zip(columns, row, strict=True):
        if not cell.plain.strip():
            continue
        indent = label
        if width is not None and least_text_width(cell.plain) > width - label:
            indent = GAP_COLUMNS
            yield Text(name, QUIET)
        room = None if width is None else max(1, width - indent)
        for i, line in enumerate(WrappingText(cell).lines(room)):
            head = name if i == 0 and indent == label else ""
            parts = Text(head.ljust(indent), QUIET), line
            yield Text.assemble(*parts, no_wrap=True, overflow="ignore")
