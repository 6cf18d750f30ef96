"""A placement and its answer: who runs where, how good that is, why the rest does not (G3)."""

from dataclasses import dataclass
from typing import NamedTuple

from placer_models.cpuset import CpuSet
from placer_models.device_share import DeviceShare
from placer_models.goals import Tier
from placer_models.reasons import Reason
from placer_models.visible_devices import Env

NamespacedName = tuple[str, str]
"""Namespace and name of a pod, a gang or another object."""


def title_of(namespace: str, name: str) -> str:
    """Return the name of a pod or a gang for people: ``default`` is left out."""
    return name if namespace == "default" else f"{namespace}/{name}"


@dataclass(frozen=True, slots=True)
class DeviceGrant:
    """A device that a pod holds, or the part of it that it holds.

    Attributes:
        share: The part; None: all of it.
        vfs: Minors of its virtual functions that the pod holds besides, ascending; who
            holds all of the device holds them all and names none.

    """

    type: str
    minor: int
    id: str = ""
    share: DeviceShare | None = None
    vfs: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ContainerPlacement:
    """The CPUs that one container may run on, its devices and its environment.

    Where each container is aligned for itself (C12), also what else of the pod's is its
    own. What an init container has is a part that later containers use again.

    Attributes:
        memory_bytes: (NUMA node, bytes), ascending, no zeros.
        hugepages: (NUMA node, page size in bytes, pages), ascending, no zeros.
        devices: Ascending by (type, minor).
        env: Its environment, as far as the placement says it (`visible_devices`).
        cpu_milli: As of its pod, where the container has a pool of its own.

    """

    name: str
    cpuset: CpuSet
    memory_bytes: tuple[tuple[int, int], ...] = ()
    hugepages: tuple[tuple[int, int, int], ...] = ()
    devices: tuple[DeviceGrant, ...] = ()
    env: Env = ()
    cpu_milli: tuple[tuple[int, int], ...] | None = None


@dataclass(frozen=True, slots=True)
class PodPlacement:
    """Where one pod runs, to the last CPU, byte and device.

    Attributes:
        gang: Name of the pod's gang; None for a lone pod.
        cpuset: LSE and LSR: the pod's own CPUs. LS and BE: the pool they run in, of bound pods
            all of it on their NUMA nodes.
        memory_bytes: (NUMA node, bytes), ascending, no zeros; sums to the request.
        hugepages: (NUMA node, page size in bytes, pages), ascending, no zeros.
        devices: Ascending by (type, minor).
        env: What the environments of all its containers agree on.
        cpu_milli: LS and BE: (NUMA node, how much of the CPU request is counted there),
            ascending, with zeros: the NUMA nodes to whose pool the pod is bound. Empty: it
            floats over all of its pool. None: not said (`bound.bound_to`).

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

    @property
    def key(self) -> tuple[str, str]:
        """Namespace and name."""
        return self.namespace, self.name

    def minors(self, device_type: str) -> tuple[int, ...]:
        """Return the minors of the pod's devices of the type, ascending."""
        return tuple(d.minor for d in self.devices if d.type == device_type)


@dataclass(frozen=True, slots=True)
class Placement:
    """A place for some of the pods that wait; running pods are not repeated."""

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


class TierValue(NamedTuple):
    """What a placement is worth in one tier, and how much better any could be.

    Attributes:
        bound: No placement that is at least as good in every tier before this
            one has a better value; None where no bound is known.
        proven: value equals bound, and so in every tier before this one.

    """

    tier: Tier
    value: int
    bound: int | None
    proven: bool

    @property
    def gap(self) -> float | None:
        """|bound - value| / max(1, |bound|); None without a bound."""
        if self.bound is None:
            return None
        return abs(self.bound - self.value) / max(1, abs(self.bound))


@dataclass(frozen=True, slots=True)
class Unplaced:
    """A pod without a place, and why.

    Attributes:
        reasons: In words; the first is the verdict.
        why: The same as values, one each; empty where only the words are known.

    """

    name: str
    namespace: str
    gang: str | None
    reasons: tuple[str, ...]
    why: tuple[Reason, ...] = ()


@dataclass(frozen=True, slots=True)
class Placed:
    """Every pod has a place.

    Attributes:
        moves: The running pods that get another one, in an order in which they can.

    """

    placement: Placement
    tiers: tuple[TierValue, ...]
    moves: tuple[Move, ...] = ()


@dataclass(frozen=True, slots=True)
class PartlyPlaced:
    """Some pods have a place; the rest is listed with reasons.

    Attributes:
        moves: As of `Placed`.

    """

    placement: Placement
    tiers: tuple[TierValue, ...]
    unplaced: tuple[Unplaced, ...]
    moves: tuple[Move, ...] = ()


@dataclass(frozen=True, slots=True)
class Infeasible:
    """Proven: not one gang that waits can have a place."""

    unplaced: tuple[Unplaced, ...]


@dataclass(frozen=True, slots=True)
class GaveUp:
    """The time ran out before any placement was found, or ruled out."""

    after_s: float
    unplaced: tuple[Unplaced, ...]


Answer = Placed | PartlyPlaced | Infeasible | GaveUp
