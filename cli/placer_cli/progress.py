"""Progress on a terminal: what the solver is at, how much is done; nothing in a file or a pipe."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn

BAR_COLUMNS = 20
"""The width of a bar."""


@contextmanager
def solving_spinner(console: Console) -> Iterator[Callable[[str], None]]:
    """Yield a function to be told what is done next."""
    if not console.is_terminal:
        yield lambda words: None
        return
    with console.status(Text("solving")) as status:
        yield lambda words: status.update(Text(f"solving: {words}"))


@contextmanager
def counting_progress_bar(
    console: Console, what: str, most: int
) -> Iterator[Callable[[int], None]]:
    """Yield a function to be told how many are done.

    Args:
        console: Where the bar is drawn.
        what: What is counted.
        most: How many there will be.

    """
    if not console.is_terminal:
        yield lambda done: None
        return
    from rich.progress import MofNCompleteColumn, TimeRemainingColumn

    with transient_progress_bar(console, MofNCompleteColumn(), TimeRemainingColumn()) as bar:
        task = bar.add_task(what, total=most)
        yield lambda done: bar.update(task, completed=done)


def transient_progress_bar(console: Console, *figures: "ProgressColumn", **more: Any) -> "Progress":
    """Return a bar with a description, a percentage and figures; it is gone when it ends."""
    # Only now: most commands draw no bar, and start sooner without it.
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(BAR_COLUMNS),
        TaskProgressColumn(),
        *figures,
        console=console,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
        **more,
    )
