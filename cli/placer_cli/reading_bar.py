"""Bar on a terminal that shows how far a large file is read; nothing in a file or a pipe."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic

from placer_cli.console import error_console
from placer_cli.progress import BAR_COLUMNS, transient_progress_bar
from placer_models.files.reading import LEAST_BYTES, Tell

_EVERY_S = 0.1
_FIGURES_COLUMNS = len("reading    100%  1023.9/1023.9 MiB ")


@contextmanager
def reading_bar(file: str, size_bytes: int | None) -> Iterator[Tell]:
    """Show how much of a file is read; `reading.Watcher`."""
    console = error_console()
    if not console.is_terminal:
        yield lambda done_bytes: None
        return
    # Only now: most commands read small files, and start sooner without it.
    from rich.cells import set_cell_size
    from rich.progress import DownloadColumn

    bar = transient_progress_bar(console, DownloadColumn(binary_units=True), auto_refresh=False)
    room = max(8, console.width - BAR_COLUMNS - _FIGURES_COLUMNS)
    name = set_cell_size(Path(file).name, room).rstrip()
    task = bar.add_task(f"reading {name}", total=size_bytes)

    def show(done_bytes: int) -> None:
        if size_bytes is None and done_bytes < LEAST_BYTES:
            return  # most of what comes from a pipe is small
        if not bar.live.is_started:
            bar.start()
        bar.update(task, completed=done_bytes, refresh=True)

    try:
        yield _seldom(show)
    finally:
        bar.stop()


def _seldom(show: Tell) -> Tell:
    """Return what calls the function at most ten times a second."""
    shown_s = [0.0]

    def tell(done_bytes: int) -> None:
        now_s = monotonic()
        if now_s - shown_s[0] >= _EVERY_S:
            shown_s[0] = now_s
            show(done_bytes)

    return tell
