"""The option ``--demand``: a file of the pods that strategy ``expected`` keeps room for."""

from pathlib import Path
from typing import Annotated

import typer

from placer_models.demand import ExpectedDemand

ExpectedPods = Annotated[
    Path | None,
    typer.Option(
        "--demand",
        metavar="FILE",
        help="The pods that strategy expected keeps room for, a document of kind Demand. "
        "[default: what INSTANCE says, else such as run and wait there]",
    ),
]
"""A file of the pods that are expected."""


def read_demand_file(path: Path) -> ExpectedDemand:
    """Return the pods that a file expects.

    Raises:
        InputError: Something is wrong with it.

    """
    from placer_models.instance.demand import load_demand

    return load_demand(path)
