"""Options of commands that solve many questions, and the workers that they name."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from placer_cli.options import MOST_WORKERS, number_option

if TYPE_CHECKING:
    from placer.sweep.workers import SweepBackend

LEAST_S = 0.1
"""With fewer seconds than this no plan is searched."""

Processes = Annotated[
    int | None,
    number_option(
        "Solve so many questions at a time, in processes of this machine.  [default: 1]",
        1,
        MOST_WORKERS,
        show_default=False,
    ),
]

ExecutorAddress = Annotated[
    str | None,
    typer.Option(
        "--executor",
        metavar="dask:tcp://HOST:PORT",
        help="Solve on the workers of a Dask scheduler, where Placer is installed, too.",
        show_default=False,
    ),
]


def sweep_workers_from_options(processes: int | None, address: str | None) -> "SweepBackend":
    """Return the workers that the options name; usage errors are told as such."""
    from placer.sweep.workers import make_sweep_workers

    with sweep_worker_errors_as_usage_errors():
        return make_sweep_workers(processes, address)


@contextmanager
def sweep_worker_errors_as_usage_errors() -> Iterator[None]:
    """Tell of workers that cannot be had as of wrong usage."""
    from placer.sweep.workers import SweepWorkersError

    try:
        yield
    except SweepWorkersError as error:
        raise typer.BadParameter(str(error)) from None
