"""Bar on a terminal that shows how many of a known number are done; nothing in a file or a pipe."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console

_BAR_COLUMNS = 20


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
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    bar = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(_BAR_COLUMNS),
        TaskProgressColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )
    with bar:
        task = bar.add_task(what, total=most)
        yield lambda done: bar.update(task, completed=done)
