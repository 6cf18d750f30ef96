"""Lookup of pods' containers: found in /proc by pod uid or container id, or made by us."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from placer.node.cgroups import parent
from placer.node.errors import DocumentError
from placer_models.node_placement import NodePod
from placer_models.pod import Pod

OUR_ROOT = "placer"
"""The cgroup below which our own cgroups are."""

_ROOT = re.compile(r"(?!.*(?:^|/)\.\.?(?:/|$))[A-Za-z0-9@._:-]+(?:/[A-Za-z0-9@._:-]+)*")
_PROCESS = re.compile(r"[0-9]+")
_RUNTIME = re.compile(r"(?:[a-z-]+-)?(?P<id>[A-Za-z0-9][A-Za-z0-9_.-]*?)(?:\.scope)?")


def check_root(root: str) -> None:
    """Refuse a root that is no path of a cgroup.

    Raises:
        DocumentError: It is no such path.

    """
    if not _ROOT.fullmatch(root):
        raise DocumentError(
            f"the root {root!r} is no path of a cgroup; expected such as {OUR_ROOT}"
        )


def our_cgroup(root: str, pod: Pod, container: str) -> str:
    """Return our own cgroup for a container; ``@`` keeps its name apart from those of files."""
    return f"{root}/{pod.name}@{pod.namespace}/{container}@{pod.name}"


def cgroups_of_processes(proc: Path, version: int) -> frozenset[str]:
    """Return the cgroup of every process, as paths below the root of the (cpuset) hierarchy."""
    found = set()
    for entry in sorted(proc.iterdir()):
        if not _PROCESS.fullmatch(entry.name):
            continue
        try:
            text = (entry / "cgroup").read_text(encoding="utf-8", errors="surrogateescape")
        except (FileNotFoundError, ProcessLookupError):
            continue  # it ended meanwhile
        for line in text.splitlines():
            _, controllers, path = line.split(":", 2)
            named = controllers.split(",")
            if (version == 2 and named == [""]) or (version == 1 and "cpuset" in named):
                # The kernel marks the cgroup of a process whose cgroup was removed.
                found.add(path.removesuffix(" (deleted)").strip("/"))
    return frozenset(found)


class Running:
    """The cgroups that have processes, and those above them, searched for pods and containers."""

    def __init__(self, cgroups: Iterable[str]) -> None:
        above = {up for cgroup in cgroups for up in _upwards(cgroup)}
        self._by_name: dict[str, list[str]] = {}
        self._children: dict[str, list[str]] = {}
        for cgroup in sorted(above):
            self._by_name.setdefault(cgroup.rpartition("/")[2], []).append(cgroup)
            self._children.setdefault(parent(cgroup), []).append(cgroup)

    def cgroups_of(self, one: NodePod, container: str) -> tuple[str, ...]:
        """Return the cgroups of a container of a pod that is not our own.

        They are found by the container's id. If it is not known, those of all containers of the pod
        are returned.
        """
        told = dict(one.container_ids).get(container)
        if told is not None:
            return tuple(self._with_id(told, one.uid))
        return tuple(sorted(child for pod in self._pods(one.uid) for child in self._below(pod)))

    def _pods(self, uid: str) -> Iterator[str]:
        """Yield the cgroups of a pod: ``pod<uid>``, or a slice in whose name ``-`` is ``_``."""
        if not uid:
            return
        slice_end = f"-pod{uid.replace('-', '_')}.slice"
        for name, cgroups in self._by_name.items():
            if name == f"pod{uid}" or name.endswith(slice_end):
                yield from cgroups

    def _below(self, pod: str) -> list[str]:
        return self._children.get(pod, [])

    def _with_id(self, told: str, uid: str) -> Iterator[str]:
        pods = set(self._pods(uid))
        for name, cgroups in self._by_name.items():
            match = _RUNTIME.fullmatch(name)
            if name == told or (match and match["id"] == told):
                yield from (c for c in cgroups if not uid or parent(c) in pods)


def _upwards(cgroup: str) -> Iterator[str]:
    while cgroup:
        yield cgroup
        cgroup = parent(cgroup)
