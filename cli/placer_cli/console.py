"""The two streams: results go to standard output, all else to standard error."""

from rich.console import Console


class _Stream(Console):
    """A console that prints what it is given: no markup, no guessed highlights."""

    def __init__(self, *, stderr: bool) -> None:
        super().__init__(stderr=stderr, markup=False, highlight=False, emoji=False)

    def on_broken_pipe(self) -> None:
        """Let the caller see the broken pipe; Rich would exit with code 1."""
        raise BrokenPipeError


def out() -> Console:
    """Return the console for results."""
    return _Stream(stderr=False)


def err() -> Console:
    """Return the console for messages and progress."""
    return _Stream(stderr=True)


def note(line: str) -> None:
    """Say what became of the input, beside the result."""
    err().print(line, style="dim", soft_wrap=True)
