"""The two streams: results go to standard output, all else to standard error."""

from typing import TYPE_CHECKING, Any

from rich.console import Console

if TYPE_CHECKING:
    from placer.kubernetes.summary import DumpSummary


class _Stream(Console):
    """A console that prints what it is given: no markup, no guessed highlights."""

    def __init__(self, *, stderr: bool) -> None:
        super().__init__(stderr=stderr, markup=False, highlight=False, emoji=False)

    def print(self, *objects: Any, **options: Any) -> None:
        """Print as Rich does, but words that are longer than a line are not cut off."""
        super().print(*objects, **{"crop": False, **options})

    def on_broken_pipe(self) -> None:
        """Let the caller see the broken pipe; Rich would exit with code 1."""
        raise BrokenPipeError


def result_console() -> Console:
    """Return the console for results."""
    return _Stream(stderr=False)


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
