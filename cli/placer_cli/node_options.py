"""Options about a node that several commands of the node's side share."""

from typing import Annotated

import typer

from placer_cli.output import check_absolute_path

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
