"""Progress on a terminal: what the solver is at; nothing in a file or a pipe."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.text import Text


@contextmanager
def progress(console: Console) -> Iterator[Callable[[str], None]]:
    """Yield a function to be told what is done next."""
    if not console.is_terminal:
        yield lambda words: None
        return
    with console.status(Text("solving")) as status:
        yield lambda words: status.update(Text(f"solving: {words}"))
