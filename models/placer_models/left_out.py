"""Pods that are left out before anything is solved, such as illegal ones and who needs them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from placer_models.placement import NamespacedName
from placer_models.pod import Gang, GangGroup, NamedInNamespace, Pod
from placer_models.reasons import Illegal, IllegalGangInGroup, IllegalMembers, Reason

IllegalPods = Mapping[NamespacedName, Illegal]
"""Key of an illegal pod that waits -> what is wrong with it."""


@dataclass(frozen=True, slots=True)
class PodLeftOutBeforeSolve(NamedInNamespace):
    """A pod that waits, and that no solver is asked about.

    Attributes:
        gang: Name of its gang; None for a lone pod.
        why: As in `placement.Unplaced`.

    """

    name: str
    namespace: str
    gang: str | None
    why: tuple[Reason, ...]


@dataclass(frozen=True, slots=True)
class GangsWithoutIllegalPods:
    """What is left of gangs and gang groups without their illegal pods.

    Attributes:
        gangs: Gangs with the members that are legal, at least their minimum.
        groups: Groups of which every gang is left.
        left_out: All other pods, in the order of the gangs.

    """

    gangs: tuple[Gang, ...]
    groups: tuple[GangGroup, ...]
    left_out: tuple[PodLeftOutBeforeSolve, ...] = ()


def without_illegal_pods(
    gangs: tuple[Gang, ...], groups: tuple[GangGroup, ...], illegal: IllegalPods
) -> GangsWithoutIllegalPods:
    """Leave out illegal pods, and what cannot run without them (G1).

    A gang is asked about without its illegal members as long as its minimum is left. Otherwise it
    is left out whole, as it would never run, and so is its gang group.
    """
    if not illegal:
        return GangsWithoutIllegalPods(gangs, groups)
    kept = {gang.key: tuple(p for p in gang.pods if p.key not in illegal) for gang in gangs}
    short = {gang.key for gang in gangs if len(kept[gang.key]) < gang.minimum}
    broken: dict[NamespacedName, IllegalGangInGroup] = {}
    for group in groups:
        for _, name in [key for key in group.gangs if key in short][:1]:
            broken |= {key: IllegalGangInGroup(group.name, name) for key in group.gangs}
    left: list[Gang] = []
    left_out: list[PodLeftOutBeforeSolve] = []
    for gang in gangs:
        why = _short_of(gang, illegal) if gang.key in short else broken.get(gang.key)
        for pod in gang.pods:
            if pod.key in illegal:
                left_out.append(_left_out(pod, gang, illegal[pod.key]))
            elif why:
                left_out.append(_left_out(pod, gang, why))
        if not why:
            same = len(kept[gang.key]) == len(gang.pods)
            left.append(gang if same else replace(gang, pods=kept[gang.key]))
    whole_groups = tuple(g for g in groups if short.isdisjoint(g.gangs))
    return GangsWithoutIllegalPods(tuple(left), whole_groups, tuple(left_out))


def _short_of(gang: Gang, illegal: IllegalPods) -> IllegalMembers:
    names = tuple(pod.name for pod in gang.pods if pod.key in illegal)
    return IllegalMembers(gang.name, names, len(gang.pods), gang.minimum)


def _left_out(pod: Pod, gang: Gang, why: Reason) -> PodLeftOutBeforeSolve:
    return PodLeftOutBeforeSolve(pod.name, pod.namespace, None if gang.lone else gang.name, (why,))
