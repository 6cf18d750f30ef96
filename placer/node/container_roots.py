"""Roots of containers: cgroups below which runtimes put them, and names that kubelets give them.

Whoever may make a cgroup gives it its name, so a name alone proves nothing: a user with a
delegated subtree can name a cgroup after anybody's pod. A container is therefore looked for only
where its runtime puts it, and only where nobody else can change a step of the way (`ways`).
"""

import re

from placer.node.errors import InapplicableDocumentError

OUR_ROOT = "placer"
"""The cgroup below which our own cgroups are."""

CONTAINER_ROOTS = (
    "kubepods",  # the kubelet with the cgroupfs driver
    "kubepods.slice",  # the kubelet with the systemd driver
    "kubelet/kubepods",  # the same below a cgroupRoot, as kind has it
    "kubelet.slice/kubelet-kubepods.slice",
    "system.slice",  # services, and scopes of docker and nerdctl
    "machine.slice",  # scopes of podman and machined
    "docker",  # docker and podman with the cgroupfs driver
    "libpod_parent",
    "system.slice/slurmstepd.scope",  # jobs of Slurm on version 2
    "slurm",  # on version 1
)
"""Where runtimes put containers unless they are told otherwise."""

_ROOT = re.compile(r"(?!.*(?:^|/)\.\.?(?:/|$))[A-Za-z0-9@._:-]+(?:/[A-Za-z0-9@._:-]+)*")
_QOS_CLASSES = ("burstable", "besteffort")
_USER_OF_SLURM = re.compile("uid_[0-9]+")


def check_cgroup_path_syntax(root: str) -> None:
    """Refuse a root that is no path of a cgroup.

    Raises:
        InapplicableDocumentError: It is no such path.

    """
    if not _ROOT.fullmatch(root):
        raise InapplicableDocumentError(
            f"the root {root!r} is no path of a cgroup; expected such as {OUR_ROOT}"
        )


def pod_uid_in_cgroup_name(cgroup: str) -> str | None:
    """Return the uid in the name of a kubelet's cgroup for a pod; None if it is no such cgroup.

    It is ``pod<uid>``, or under systemd a slice named after the one above it, with ``_`` for ``-``.
    """
    above, name = _names(cgroup)
    if above.endswith(".slice"):
        start = f"{above.removesuffix('.slice')}-pod"
        is_pod = name.startswith(start) and name.endswith(".slice")
        return name[len(start) : -len(".slice")] if is_pod else None
    return name.removeprefix("pod") if name.startswith("pod") else None


def is_intermediate_cgroup(cgroup: str) -> bool:
    """Return whether a cgroup stands between a root and its containers, by its name."""
    above, name = _names(cgroup)
    if above.endswith(".slice"):
        return name.endswith(".slice") and name.startswith(f"{above.removesuffix('.slice')}-")
    return name in _QOS_CLASSES or bool(_USER_OF_SLURM.fullmatch(name))


def _names(cgroup: str) -> tuple[str, str]:
    return cgroup.rpartition("/")[0].rpartition("/")[2], cgroup.rpartition("/")[2]
