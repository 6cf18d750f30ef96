"""The page of a report: sections one below the other, with a look for light, dark and paper."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files

from placer_cli.report.html import Html, html_element, joined_html

_NO_NETWORK = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


_MOST_NARROW = 3
"""A narrow screen has room for so many columns, one of them text, or for one fewer."""


@dataclass(frozen=True, slots=True)
class SortableTableCell:
    """A cell of a table.

    Attributes:
        text: What is shown.
        value: What rows are sorted by, where that is not the text.

    """

    text: str
    value: float | str | None = None


def html_page(title: str, lead: Sequence[str], sections: Iterable[Html], foot: str) -> str:
    """Return a page as text.

    Args:
        title: Its title.
        lead: The answer: a sentence, and further ones.
        sections: What stands below.
        foot: How it was made.

    """
    first, *others = lead or (title,)
    head = html_element(
        "head",
        Html('<meta charset="utf-8">'),
        Html('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        Html(f'<meta http-equiv="Content-Security-Policy" content="{_NO_NETWORK}">'),
        html_element("title", title),
        html_element("style", _own("page.css")),
    )
    body = html_element(
        "body",
        html_element(
            "header", html_element("h1", first), *(html_element("p", line) for line in others)
        ),
        html_element("main", *sections),
        html_element("footer", foot),
        html_element("script", _own("page.js")),
    )
    return f'<!doctype html>\n<html lang="en">{head}{body}</html>\n'


def _own(name: str) -> Html:
    """Return a file that lies beside this one, to stand in the page."""
    return Html(files("placer_cli.report").joinpath(name).read_text("utf-8"))


def html_section(title: str, *parts: Html) -> Html:
    """Return a section under a title."""
    return html_element("section", html_element("h2", title), *parts)


def figure_tiles(figures: Iterable[tuple[str, str]]) -> Html:
    """Return figures side by side: what it is, and the figure."""
    drawn = (
        html_element("div", html_element("b", figure), html_element("span", name), class_="tile")
        for name, figure in figures
    )
    return html_element("div", *drawn, class_="tiles")


def sortable_table(head: Sequence[str], rows: Iterable[Sequence[SortableTableCell | str]]) -> Html:
    """Return a table that sorts by the column whose head is clicked.

    A head that begins with ``#`` is that of numbers, which stand to the right. On a narrow screen
    a table that would be cut has a line for each cell, with its head.
    """
    names = [name.removeprefix("#") for name in head]
    numbers = [name.startswith("#") for name in head]
    heads = (
        html_element(
            "th",
            html_element("button", name, type="button"),
            class_="number" if number else None,
            scope="col",
        )
        for name, number in zip(names, numbers, strict=True)
    )
    cut = len(head) > _MOST_NARROW - (numbers.count(False) > 1)
    shown_heads = names if cut else [None] * len(names)
    lines = (
        html_element(
            "tr",
            *(
                _cell(one, number=number, head=name)
                for one, number, name in zip(row, numbers, shown_heads, strict=True)
            ),
        )
        for row in rows
    )
    table = html_element(
        "table",
        html_element("thead", html_element("tr", *heads)),
        html_element("tbody", *lines),
        class_="cards" if cut else None,
    )
    return html_element("div", table, class_="wide")


def _cell(cell: SortableTableCell | str, *, number: bool, head: str | None) -> Html:
    one = cell if isinstance(cell, SortableTableCell) else SortableTableCell(cell)
    return html_element(
        "td", one.text, class_="number" if number else None, data_value=one.value, data_head=head
    )


def html_paragraphs(lines: Iterable[str], look: str | None = None) -> Html:
    """Return lines as paragraphs."""
    return joined_html(*(html_element("p", line, class_=look) for line in lines))
