"""Options and arguments that several commands have, and the limits of what they take."""

from pathlib import Path
from typing import Annotated, Any

import typer

from placer_cli.output import check_absolute_path, parse_output_path

LEAST_S = 0.001
"""With fewer seconds than this nothing is ever searched."""

LONGEST_S = 10**7
"""More than a hundred days: beyond that a limit is a slip of the keyboard."""

MOST_WORKERS = 1024
"""A search cannot use more threads than this, and each takes memory of its own."""

LARGEST_SEED = 2**31 - 1
"""The largest seed: the search takes 31 bits."""

InstanceFiles = Annotated[
    list[Path],
    typer.Argument(
        metavar="INSTANCE",
        help="Files of one instance, or of one cluster's objects; - is standard input.",
    ),
]
"""Files that are read as one instance."""

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

ContainerRoots = Annotated[
    list[str] | None,
    typer.Option(
        "--container-root",
        metavar="CGROUP",
        help="Where a runtime puts containers; may be repeated. [default: the usual places]",
    ),
]
"""Cgroups below which containers are looked for; None: the usual ones."""

KubeletRoot = Annotated[
    str | None,
    typer.Option(
        "--kubelet-root",
        metavar="DIR",
        callback=check_absolute_path,
        help="The kubelet's --root-dir. [default: /var/lib/kubelet]",
    ),
]
"""The root directory of the kubelet, absolute; None: the usual one."""


def format_option(help_text: str) -> Any:
    """Return the option ``--format``."""
    return typer.Option("--format", help=help_text)


def output_option(help_text: str, *names: str, metavar: str = "FILE", **more: Any) -> Any:
    """Return an option that names a file to be written."""
    return typer.Option(*names, parser=parse_output_path, metavar=metavar, help=help_text, **more)


def seconds_option(help_text: str, least_s: float = LEAST_S, metavar: str = "S") -> Any:
    """Return an option for seconds to search."""
    return typer.Option(min=least_s, max=LONGEST_S, metavar=metavar, help=help_text)


def number_option(help_text: str, least: int, most: int | None = None, **more: Any) -> Any:
    """Return an option for a whole number between limits."""
    return typer.Option(min=least, max=most, help=help_text, **{"metavar": "N", **more})
