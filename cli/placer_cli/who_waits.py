"""The options that say which waiting pods of a cluster are to be placed."""

from typing import Annotated

import typer

from placer_models.kubernetes.who_waits import ALL, IgnorablePodRequirementKind, WaitingPodFilter

SchedulerNames = Annotated[
    list[str] | None,
    typer.Option(
        "--scheduler-name",
        metavar="NAME",
        help="Of a cluster's pods place only those of this scheduler; may be given several times. "
        "[default: whoever waits]",
    ),
]
"""Schedulers whose pods are placed."""

Gated = Annotated[
    bool,
    typer.Option("--gated", help="Place pods with scheduling gates, too, as if they had none."),
]
"""Whether pods with scheduling gates are placed."""


Ignore = Annotated[
    list[IgnorablePodRequirementKind] | None,
    typer.Option(
        "--ignore",
        help="Place pods as if they did not have these; for objects that say nothing of volumes.",
    ),
]
"""What nobody is to look at."""


def waiting_pod_filter_from_options(
    names: list[str] | None, *, gated: bool, ignore: list[IgnorablePodRequirementKind] | None = None
) -> WaitingPodFilter:
    """Return what the options say."""
    return WaitingPodFilter(frozenset(names or ()), gated, frozenset(ignore or ()))


def refuse_cluster_options(who: WaitingPodFilter, *, is_cluster: bool) -> None:
    """Refuse the options where they mean nothing.

    Raises:
        BadParameter: One is given, and what was read are no objects of a cluster.

    """
    if who != ALL and not is_cluster:
        option = "--gated" if who.gated else "--ignore"
        option = "--scheduler-name" if who.schedulers else option
        raise typer.BadParameter(f"{option} goes with the objects of a cluster; leave it out")
