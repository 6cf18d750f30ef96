"""The two streams: results go to standard output, all else to standard error."""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rich.console import Console, RenderableType

if TYPE_CHECKING:
    from placer.kubernetes.summary import DumpSummary
    from placer_cli.draw.canvas import WidthAndMarks


DEFAULT_WIDTH = 80
"""Columns of a page whose width nobody knows."""


class _Stream(Console):
    """A console that prints what it is given: no markup, no guessed highlights."""

    def __init__(self, *, stderr: bool) -> None:
        columns = os.environ.get("COLUMNS")
        super().__init__(
            stderr=stderr,
            markup=False,
            highlight=False,
            emoji=False,
            # Rich takes a width of 0 as it is; some terminals that have no size say 0.
            width=DEFAULT_WIDTH if columns and not columns.strip("0") else None,
        )

    def print(self, *objects: Any, **options: Any) -> None:
        """Print as Rich does, but words that are longer than a line are not cut off."""
        super().print(*objects, **{"crop": False, **options})

    def on_broken_pipe(self) -> None:
        """Let the caller see the broken pipe; Rich would exit with code 1."""
        raise BrokenPipeError


def result_console() -> Console:
    """Return the console for results."""
    return _Stream(stderr=False)


def print_drawing(draw: "Callable[[WidthAndMarks], RenderableType]") -> None:
    """Print a result that is drawn for the width and the marks of this terminal."""
    from placer_cli.draw.canvas import width_and_marks_of_console

    console = result_console()
    console.print(draw(width_and_marks_of_console(console)))


def error_console() -> Console:
    """Return the console for messages and progress."""
    return _Stream(stderr=True)


def print_note(line: str) -> None:
    """Print a line about the input beside the result."""
    error_console().print(line, style="dim", soft_wrap=True)


def print_dump_summary(summary: "DumpSummary") -> None:
    """Say what became of the objects of a dump."""
    for line in summary.lines():
        print_note(line)
