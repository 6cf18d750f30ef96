"""Options that name the files of the openb trace."""

from pathlib import Path
from typing import Annotated

import typer

NodesFile = Annotated[
    Path, typer.Option("--nodes", metavar="CSV", help="List of nodes, a row each.")
]

PodsFile = Annotated[Path, typer.Option("--pods", metavar="CSV", help="List of pods, a row each.")]

SequenceFile = Annotated[
    Path,
    typer.Option(
        "--sequence",
        metavar="NPZ",
        help="Orders of arrival (pods_SEED) and ranks of nodes (noderank_SEED) by seed.",
    ),
]
