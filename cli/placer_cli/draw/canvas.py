"""The canvas: its width, and the marks that it can show."""

from dataclasses import dataclass

from rich.console import Console


@dataclass(frozen=True, slots=True)
class MarkCharacters:
    """One-column marks that are not letters, so that letters are free for owners."""

    free: str
    reserved: str
    offline: str
    broken: str
    thread: str
    efficiency: str
    full: str
    shared: str
    best_effort: str
    empty: str
    shades: str
    up: str
    down: str
    yes: str
    times: str
    dot: str


UNICODE = MarkCharacters(
    free="·",
    reserved="▪",
    offline="×",
    broken="!",
    thread="■",
    efficiency="□",
    full="█",
    shared="▓",
    best_effort="░",
    empty="·",
    shades="█▓▒░",
    up="↑",
    down="↓",
    yes="✓",
    times="×",
    dot="·",
)

ASCII = MarkCharacters(
    free=".",
    reserved="#",
    offline="x",
    broken="!",
    thread="o",
    efficiency="e",
    full="=",
    shared="+",
    best_effort="-",
    empty=".",
    shades="@O+-",
    up="^",
    down="v",
    yes="yes",
    times="x",
    dot="-",
)


@dataclass(frozen=True, slots=True)
class WidthAndMarks:
    """The page: its width in columns, and its marks."""

    width: int
    marks: MarkCharacters = UNICODE


def width_and_marks_of_console(console: Console) -> WidthAndMarks:
    """Return the canvas that a console offers."""
    return WidthAndMarks(console.width, ASCII if console.options.ascii_only else UNICODE)
