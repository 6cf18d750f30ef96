"""Lookup of pods' containers: found by pod uid or container id below the roots, or made by us."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property

from placer.node.cgroups import CgroupReader, as_proc_cgroup_path, parent_cgroup_path
from placer.node.container_roots import is_intermediate_cgroup, pod_uid_in_cgroup_name
from placer.node.ways import CgroupWritableByOthersCheck
from placer_models.node_placement import NodePlacementPod
from placer_models.pod import Pod

_RUNTIME = re.compile(
    r"(?!(?:[a-z]+-)?conmon-)(?:[a-z-]+-)?(?P<id>[A-Za-z0-9][A-Za-z0-9_.-]*?)(?:\.scope)?"
)
"""A container's cgroup is named by its id; that of conmon beside it is no container's."""


def container_cgroup_path(root: str, pod: Pod, container: str) -> str:
    """Return our own cgroup for a container; ``@`` keeps its name apart from those of files."""
    return f"{root}/{pod.name}@{pod.namespace}/{container}@{pod.name}"


@dataclass(frozen=True, slots=True)
class LocatedContainer:
    """What was found of a container.

    Attributes:
        cgroups: Its cgroups; those of all containers of the pod where nothing tells them apart.
        runs: Whether there is a process in one of them.
        why_not: Why none is taken, though there is one; empty if that is not so.

    """

    cgroups: tuple[str, ...] = ()
    runs: bool = False
    why_not: str = ""


class ContainerCgroupFinder:
    """The containers below the roots, which are read when the first one is looked for.

    Attributes:
        barred: Cgroup that is not looked into -> who else may change it, in words.

    """

    def __init__(self, cgroups: CgroupReader, roots: Iterable[str]) -> None:
        self.barred: dict[str, str] = {}
        self._cgroups = cgroups
        self._roots = tuple(roots)
        self._ways = CgroupWritableByOthersCheck(cgroups)
        self._alone: list[str] = []
        self._children = cache(cgroups.children_if_there)

    def find(self, one: NodePlacementPod, container: str) -> LocatedContainer:
        """Return the cgroups of a container of a pod that is not our own.

        They are found by the container's id. If it is not known, those of all containers of the
        pod are returned.
        """
        told = dict(one.container_ids).get(container)
        if not one.uid:
            return self._one_of(self._by_id.get(told, ()) if told else ())
        # In the name of a slice `_` stands for `-`.
        names = dict.fromkeys((one.uid, one.uid.replace("-", "_")))
        pods = [pod for name in names for pod in self._pods.get(name, ())]
        if told is None:
            found = self._one_of([pod for pod in pods if self._children(pod)], inside=True)
            inside = [child for pod in found.cgroups for child in self._children(pod)]
            return replace(found, cgroups=tuple(inside))
        inside = [child for pod in pods for child in self._children(pod)]
        return self._one_of([child for child in inside if told in _ids(child)])

    def _one_of(self, candidates: Sequence[str], *, inside: bool = False) -> LocatedContainer:
        """Return the one of some cgroups that can be meant; those that run count before others.

        Args:
            candidates: The cgroups.
            inside: Whether those inside it are meant.

        """
        troubles = [
            self._ways.trouble(one if inside else parent_cgroup_path(one)) for one in candidates
        ]
        good = [one for one, trouble in zip(candidates, troubles, strict=True) if not trouble]
        running = [one for one in good if self._cgroups.has_processes(one)]
        if len(found := running or good) > 1:
            named = " and ".join(map(as_proc_cgroup_path, found))
            return LocatedContainer(why_not=f"{named} could each be it; remove what is not")
        if candidates and not good:
            return LocatedContainer(
                why_not=f"{as_proc_cgroup_path(candidates[0])} need not be it: {troubles[0]}"
            )
        return LocatedContainer(tuple(found), bool(running))

    @cached_property
    def _pods(self) -> dict[str, list[str]]:
        """The cgroups of pods by the uid in their names; those of other containers are noted."""
        pods: dict[str, list[str]] = {}
        waiting = [root for root in dict.fromkeys(self._roots) if self._cgroups.exists(root)]
        while waiting:
            above = waiting.pop()
            if trouble := self._ways.trouble(above):
                self.barred[above] = trouble
                continue
            for child in self._children(above):
                if (uid := pod_uid_in_cgroup_name(child)) is not None:
                    pods.setdefault(uid, []).append(child)
                elif is_intermediate_cgroup(child):
                    waiting.append(child)
                else:
                    self._alone.append(child)
        return pods

    @cached_property
    def _by_id(self) -> dict[str, list[str]]:
        """The cgroups of containers by the id in their names."""
        found: dict[str, list[str]] = {}
        inside = [
            child for pods in self._pods.values() for pod in pods for child in self._children(pod)
        ]
        for one in (*self._alone, *inside):
            for name in _ids(one):
                found.setdefault(name, []).append(one)
        return found


def _ids(cgroup: str) -> set[str]:
    """Return by which ids a container may be known whose cgroup this is."""
    name = cgroup.rpartition("/")[2]
    match = _RUNTIME.fullmatch(name)
    return {name, match["id"]} if match else {name}
