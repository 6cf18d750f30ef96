"""Placements and answers: which pods run where, how good that is, why the rest do not (G3)."""

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from typing import NamedTuple

from placer_models.cpuset import CpuSet
from placer_models.device_share import DeviceShare
from placer_models.environment import Env
from placer_models.goals import PLACED, Tier
from placer_models.pod import NamedInNamespace
from placer_models.reasons import Blocked, FewMembers, GangGroupTooLarge, Reason
from placer_models.typed import TypeChecked

NamespacedName = tuple[str, str]
"""Namespace and name of a pod, a gang or another object."""

_MOST_COMPARED = 80
"""So many characters of a name that somebody typed are compared; comparing takes their square."""


def pod_or_gang_title(namespace: str, name: str) -> str:
    """Return the name of a pod or a gang for people: the namespace ``default`` is left out."""
    return name if namespace == "default" else f"{namespace}/{name}"


def pod_spelling_suggestion(key: NamespacedName, known: Iterable[NamespacedName]) -> str:
    """Return ``; did you mean 'shop/web-0'?`` for the nearest of the known names, or nothing.

    The same name in another namespace is nearest; then come like names of the same namespace, and
    of others. A namespace alone makes nothing alike.
    """
    namespace, name = key
    keys = sorted(set(known), key=lambda one: (one[0] != namespace, one))
    for one in keys:
        if one[1] == name:
            return f"; did you mean '{pod_or_gang_title(*one)}'?"
    for some in (
        [one for one in keys if one[0] == namespace],
        [one for one in keys if one[0] != namespace],
    ):
        titles = {one[1]: pod_or_gang_title(*one) for one in reversed(some)}
        if near := get_close_matches(name[:_MOST_COMPARED], titles, n=1):
            return f"; did you mean '{titles[near[0]]}'?"
    return ""


@dataclass(frozen=True, slots=True)
class DeviceGrant(TypeChecked):
    """A device that a pod holds, or the part of it that it holds.

    Attributes:
        share: The part; None: all of it.
        vfs: Minors of its virtual functions that the pod holds as well, ascending. A pod that
            holds all of the device holds all of them, and none is named.

    """

    type: str
    minor: int
    id: str = ""
    share: DeviceShare | None = None
    vfs: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ContainerPlacement(TypeChecked):
    """The CPUs that one container may run on, its devices and its environment.

    Where each container is aligned by itself (C12), it also names what else the container has
    of its own. What an init container has is used again by later containers.

    Attributes:
        memory_bytes: (NUMA node, bytes), ascending, no zeros.
        hugepages: (NUMA node, page size in bytes, pages), ascending, no zeros.
        devices: Ascending by (type, minor).
        env: Its environment, as far as the placement decides it (`visible_devices`).
        cpu_milli: As in `PodPlacement`, where the container is bound to a pool of its own.

    """

    name: str
    cpuset: CpuSet
    memory_bytes: tuple[tuple[int, int], ...] = ()
    hugepages: tuple[tuple[int, int, int], ...] = ()
    devices: tuple[DeviceGrant, ...] = ()
    env: Env = ()
    cpu_milli: tuple[tuple[int, int], ...] | None = None


@dataclass(frozen=True, slots=True)
class PodPlacement(NamedInNamespace):
    """Where one pod runs, to the last CPU, byte and device.

    Attributes:
        gang: Name of the pod's gang; None for a lone pod.
        cpuset: LSE and LSR: the pod's own CPUs. LS and BE: the pool that the pod runs in; if it
            is bound, the part of the pool on its NUMA nodes.
        memory_bytes: (NUMA node, bytes), ascending, no zeros; sums to the request.
        hugepages: (NUMA node, page size in bytes, pages), ascending, no zeros.
        devices: Ascending by (type, minor).
        env: The part of the environment that is the same for all its containers.
        cpu_milli: LS and BE: (NUMA node, how much of the CPU request is counted there),
            ascending, with zeros, for the NUMA nodes to whose pool the pod is bound. Empty: it
            floats over all of its pool. None: not said (`bound.numa_nodes_bound_to`).

    """

    name: str
    namespace: str
    gang: str | None
    node: str
    cpuset: CpuSet
    containers: tuple[ContainerPlacement, ...] = ()
    memory_bytes: tuple[tuple[int, int], ...] = ()
    hugepages: tuple[tuple[int, int, int], ...] = ()
    devices: tuple[DeviceGrant, ...] = ()
    env: Env = ()
    cpu_milli: tuple[tuple[int, int], ...] | None = None

    def minors(self, device_type: str) -> tuple[int, ...]:
        """Return the minors of the pod's devices of the type, ascending."""
        return tuple(d.minor for d in self.devices if d.type == device_type)


@dataclass(frozen=True, slots=True)
class Placement(TypeChecked):
    """Places for some of the pods that wait; running pods are not repeated."""

    pods: tuple[PodPlacement, ...] = ()


class Move(NamedTuple):
    """A running pod that gets another place.

    Attributes:
        home: Where it is.
        place: Where it goes.
        mends: The names of the rules that it broke where it was.

    """

    home: PodPlacement
    place: PodPlacement
    mends: tuple[str, ...] = ()


class TierBoundSource(StrEnum):
    """How it is known that no placement beats a bound."""

    LIMIT = "limit"
    """Nothing is better than all: every pod placed, or nothing short of the best."""

    SUMS = "sums"
    """What pods take and what nodes have, summed up over many nodes."""

    RELAXED_MODEL = "relaxed-model"
    """A model that counts pods on classes of equal nodes."""

    PATTERNS = "patterns"
    """What single nodes can hold as a whole."""

    NODES = "nodes"
    """What nodes are worth each by itself."""

    MODEL = "model"
    """The model of the batch, pod by pod and node by node."""


class TierBottleneck(NamedTuple):
    """A resource of some nodes: with more of it there, a bound would be further away.

    Attributes:
        resource: ``cpu``, ``best-effort-cpu``, ``memory``, ``pods``, a type of device, a page size
            (``hugepages-`` and bytes) or the name of an extended resource.
        nodes: The names of the nodes; None: all nodes.

    """

    resource: str
    nodes: tuple[str, ...] | None = None


class TierValue(NamedTuple):
    """What a placement is worth in one tier, and how much better any could be.

    Attributes:
        bound: No placement that is at least as good in every tier before this
            one has a better value; None where no bound is known.
        proven: Whether value equals bound, in this tier and in every tier before it.
        bound_from: Where the bound comes from; None where there is none.
        binds: For a bound from sums, patterns or the relaxed model: the resources that give it,
            which would be further away without any of them. Empty where that is not known.

    """

    tier: Tier
    value: int
    bound: int | None
    proven: bool
    bound_from: TierBoundSource | None = None
    binds: tuple[TierBottleneck, ...] = ()

    @property
    def tried(self) -> bool:
        """Whether the bound was looked for; otherwise nothing can beat it at first sight."""
        return self.bound_from is not TierBoundSource.LIMIT or self.value == self.bound

    @property
    def gap(self) -> float | None:
        """|bound - value| / max(1, |bound|); None without a bound."""
        if self.bound is None:
            return None
        return abs(self.bound - self.value) / max(1, abs(self.bound))


@dataclass(frozen=True, slots=True)
class Unplaced(NamedInNamespace):
    """A pod without a place, and why.

    Attributes:
        reasons: The reasons in words; the first is the verdict.
        why: The same reasons as values, in the same order; empty if only the words are known.

    """

    name: str
    namespace: str
    gang: str | None
    reasons: tuple[str, ...]
    why: tuple[Reason, ...] = ()

    @property
    def guessed(self) -> bool:
        """Whether a reason hangs on a guess of where running pods have their memory."""
        said = (
            one for one in self.why if isinstance(one, Blocked | FewMembers | GangGroupTooLarge)
        )
        return any(one.guessed for one in said)


@dataclass(frozen=True, slots=True)
class PlaceRejectedByJudge(NamedInNamespace):
    """A place that was chosen for a pod and broke a rule: a defect of Placer, which it survived.

    Attributes:
        node: Its node. For a place of the greedy path: no pod that asks for the same is there.
        why: The rule, and what is wrong; where all of a node is, the last of its pods is named.

    """

    name: str
    namespace: str
    node: str
    why: str

    @property
    def text(self) -> str:
        """What happened, in one sentence for people."""
        return (
            f"the judge rejected the place of pod {self.title!r} on node {self.node!r} "
            f"({self.why}): this is a defect of placer, please report it"
        )


@dataclass(frozen=True, slots=True)
class Placed(TypeChecked):
    """Every pod has a place.

    Attributes:
        moves: The running pods that get another place, in an order in which they can move.
        rejected: Places that the judge rejected on the way; empty unless Placer has a defect.

    """

    placement: Placement
    tiers: tuple[TierValue, ...]
    moves: tuple[Move, ...] = ()
    rejected: tuple[PlaceRejectedByJudge, ...] = ()


@dataclass(frozen=True, slots=True)
class PartlyPlaced(TypeChecked):
    """Some pods have a place; the rest are listed with reasons.

    Attributes:
        moves: As in `Placed`.
        rejected: As in `Placed`.

    """

    placement: Placement
    tiers: tuple[TierValue, ...]
    unplaced: tuple[Unplaced, ...]
    moves: tuple[Move, ...] = ()
    rejected: tuple[PlaceRejectedByJudge, ...] = ()


@dataclass(frozen=True, slots=True)
class Infeasible(TypeChecked):
    """It is proven that no gang that waits can have a place.

    Attributes:
        rejected: As in `Placed`.

    """

    unplaced: tuple[Unplaced, ...]
    rejected: tuple[PlaceRejectedByJudge, ...] = ()

    @property
    def guessed(self) -> bool:
        """Whether that hangs on a guess of where running pods have their memory."""
        return any(one.guessed for one in self.unplaced)


@dataclass(frozen=True, slots=True)
class GaveUp(TypeChecked):
    """No placement was found, and none ruled out: the time ran out, or the fast path was all.

    Attributes:
        rejected: As in `Placed`.

    """

    after_s: float
    unplaced: tuple[Unplaced, ...]
    rejected: tuple[PlaceRejectedByJudge, ...] = ()


Answer = Placed | PartlyPlaced | Infeasible | GaveUp


def is_most_that_can_be_placed(answer: Answer) -> bool:
    """Return whether it is proven that no more can have a place than an answer gives one."""
    match answer:
        case Placed() | Infeasible():
            return True
        case PartlyPlaced():
            return all(v.proven for v in answer.tiers if v.tier.name.startswith(PLACED))
        case GaveUp():
            return False
