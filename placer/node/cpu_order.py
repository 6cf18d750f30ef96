"""Order in which containers get their CPUs, so that no exclusive CPU is ever in two places.

First every container shrinks to the CPUs that it has and keeps. Then each one that waits for no
other gets its new set, which frees CPUs that others wait for. Where containers wait for each
other in a circle, one that owns CPUs is parked in the shared pool, which ends the circle.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from placer_models.cpuset import CpuSet, format_cpu_list
from placer_models.policy import QosClass


@dataclass(frozen=True, slots=True)
class ContainerCpuMove:
    """A container, and the CPUs that it runs on now and is to run on.

    Attributes:
        name: For messages.
        owner: Its pod: containers of one pod may be on the same CPUs.
        fixed: Whether another writer owns its cpuset, so that it stays as it is.
        was: Its class before, which counts until it has left its CPUs; None if unchanged.

    """

    name: str
    owner: str
    qos: QosClass
    now: CpuSet
    goal: CpuSet
    fixed: bool = False
    was: QosClass | None = None

    @property
    def classes(self) -> frozenset[QosClass]:
        """Its class, and the one that it had before."""
        return frozenset({self.qos, self.was or self.qos})

    @property
    def owns_cpus(self) -> bool:
        """Whether it has CPUs of its own, or had."""
        return any(qos.owns_cpus for qos in self.classes)


class CpusetStep(NamedTuple):
    """One container gets a set of CPUs.

    Attributes:
        holder: The container's index.

    """

    holder: int
    cpus: CpuSet
    why: str


class NoCpusetStepOrderError(Exception):
    """There is no order in which no exclusive CPU is in two places; ``str()`` says why."""


def qos_classes_may_not_share_cpu(one: QosClass, other: QosClass) -> bool:
    """Return whether pods of the two classes may not share a CPU (C4)."""
    classes = {one, other}
    if QosClass.LSE in classes:
        return True
    return QosClass.LSR in classes and QosClass.BE not in classes


def cpu_handover_steps(
    holders: Sequence[ContainerCpuMove], shared: CpuSet
) -> tuple[CpusetStep, ...]:
    """Return the steps, in order, by which containers get their CPUs.

    Args:
        holders: The containers; their goals do not conflict with each other.
        shared: The shared pool as it is to be; a container is parked on a part of it.

    Raises:
        NoCpusetStepOrderError: Containers wait for each other and no CPU is shared, or they wait
            for one that stays as it is.

    """
    return tuple(_Order(holders, shared).steps())


class _Order:
    def __init__(self, holders: Sequence[ContainerCpuMove], shared: CpuSet) -> None:
        self._holders = holders
        self._shared = shared
        # Set of CPUs -> the containers that have it: owners of CPUs, then all others. Hundreds
        # of containers of a pool have the same set, and need not be looked through one by one.
        self._owners: dict[CpuSet, set[int]] = {}
        self._others: dict[CpuSet, set[int]] = {}
        self._has: list[CpuSet] = [frozenset()] * len(holders)
        self._parked: set[int] = set()
        for i, holder in enumerate(holders):
            self._put(i, holder.now)

    def steps(self) -> Iterable[CpusetStep]:
        # Pools shrink before owners, so that what an owner has left is its own at once.
        first = sorted(range(len(self._holders)), key=lambda i: self._holders[i].owns_cpus)
        for i in first:
            holder = self._holders[i]
            kept = holder.now & holder.goal
            if kept and kept != holder.now and not holder.fixed:
                self._put(i, kept)
                why = "" if kept == holder.goal else "keeps what it has before and after"
                yield CpusetStep(i, kept, why)
        waiting = [i for i, h in enumerate(self._holders) if not h.fixed and self._has[i] != h.goal]
        while waiting:
            stuck = []
            for i in waiting:
                goal = self._holders[i].goal
                if self._blockers(i, goal):
                    stuck.append(i)
                    continue
                self._parked.discard(i)
                self._put(i, goal)
                yield CpusetStep(i, goal, "")
            if len(stuck) == len(waiting):
                i = self._one_of_a_circle(stuck)
                self._parked.add(i)
                self._put(i, self._spare())
                yield CpusetStep(
                    i, self._has[i], "parked on the shared pool, for others wait for it"
                )
            waiting = stuck

    def _put(self, i: int, cpus: CpuSet) -> None:
        on = self._owners if self._holders[i].owns_cpus else self._others
        before = on.get(self._has[i], set())
        before.discard(i)
        if not before:
            on.pop(self._has[i], None)
        on.setdefault(cpus, set()).add(i)
        self._has[i] = cpus

    def _blockers(self, i: int, goal: CpuSet) -> list[int]:
        """Return the containers on CPUs of a goal that may not be there beside its holder."""
        me = self._holders[i]
        tables = (self._owners, self._others) if me.qos.owns_cpus else (self._owners,)
        there = {
            other
            for table in tables
            for cpus, holders in table.items()
            if not cpus.isdisjoint(goal)
            for other in holders
        }
        return sorted(
            other
            for other in there - self._parked
            if self._holders[other].owner != me.owner
            and any(qos_classes_may_not_share_cpu(me.qos, qos) for qos in self._classes(other))
        )

    def _classes(self, i: int) -> frozenset[QosClass]:
        """Return the classes that a container counts as on its present CPUs."""
        holder = self._holders[i]
        return frozenset({holder.qos}) if self._has[i] == holder.goal else holder.classes

    def _one_of_a_circle(self, stuck: list[int]) -> int:
        """Return the owner with the fewest CPUs in a circle of containers that block each other."""
        path: list[int] = []
        at = stuck[0]
        while at not in path:
            path.append(at)
            blockers = self._blockers(at, self._holders[at].goal)
            movable = [b for b in blockers if b in stuck]
            if not movable:
                other = self._holders[blockers[0]]
                me = self._holders[at]
                raise NoCpusetStepOrderError(
                    f"{me.name} waits for CPUs {format_cpu_list(me.goal & other.now)}, on which "
                    f"{other.name} is and stays"
                )
            at = movable[0]
        circle = path[path.index(at) :]
        owners = [i for i in circle if self._holders[i].owns_cpus and i not in self._parked]
        if not owners or not self._spare():
            names = ", ".join(self._holders[i].name for i in circle)
            raise NoCpusetStepOrderError(
                f"{names} wait for each other's CPUs, and no CPU is shared on which one of them "
                "could be meanwhile; leave the shared pool a CPU, or stop one of them first"
            )
        return min(owners, key=lambda i: (len(self._has[i]), i))

    def _spare(self) -> CpuSet:
        """Return the CPUs of the shared pool that no owner is on."""
        taken = [cpus for cpus, on in self._owners.items() if on - self._parked]
        return self._shared.difference(*taken)
