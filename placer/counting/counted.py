"""The CPU request of each bound pod, counted on each of its NUMA nodes (C12)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from placer.counting.account import Account
from placer.counting.bound import Asked, cpus_by_numa_node, in_parts, shared_out
from placer_models.bound import bound_to
from placer_models.cluster import Node, RunningPod
from placer_models.policy import QosClass

CpuMilli = tuple[tuple[int, int], ...]
"""As in ``PodPlacement``."""


@dataclass(frozen=True, slots=True)
class Want:
    """A pod that is bound to the pool of NUMA nodes.

    Attributes:
        homes: These NUMA nodes.
        milli: Its CPU request.
        said: What it counts where now; None: nothing is said yet.
        fixed: That may not change: its containers count on it.

    """

    homes: frozenset[int]
    milli: int
    said: CpuMilli | None
    fixed: bool = False


def want_of(node: Node, pod: RunningPod) -> Want | None:
    """Return what a placed pod wants; None: it is not bound."""
    place, spec = pod.placement, pod.pod.spec
    homes = bound_to(place, spec, node)
    return Want(homes, spec.requests.cpu_milli, place.cpu_milli, in_parts(place)) if homes else None


def room_of(node: Node, left: Account, qos: QosClass) -> dict[int, int]:
    """Return what the requests of the bound pods of a pool may sum to, by NUMA node."""
    cpus = left.free_cpus if qos is QosClass.LS else left.best_effort_pool - node.reserved_cpus
    counts = cpus_by_numa_node(cpus, node.machine.topology)
    return {numa: 1000 * count for numa, count in counts.items()}


def counted(room: Mapping[int, int], wants: Sequence[Want]) -> list[CpuMilli]:
    """Share out what pods of one pool want; what is said already stays if it can."""
    for keep in (True, False):
        kept = [want.said if keep or want.fixed else None for want in wants]
        asked: list[Asked] = []
        for want, said in zip(wants, kept, strict=True):
            asked += [((want.homes), want.milli)] if said is None else _single(said)
        given = shared_out(room, asked)
        if given is not None:
            parts = iter(given)
            found = []
            for want, said in zip(wants, kept, strict=True):
                if said is None:
                    part = next(parts)
                    found.append(tuple((numa, part[numa]) for numa in sorted(want.homes)))
                else:
                    found.append(said)
                    for _ in said:
                        next(parts)
            return found
    # Running pods may want more than there is; nobody new counts anything then.
    return [want.said or _at_first(want) for want in wants]


def _single(said: CpuMilli) -> Iterable[Asked]:
    return [((numa,), milli) for numa, milli in said]


def _at_first(want: Want) -> CpuMilli:
    first, *others = sorted(want.homes)
    return ((first, want.milli), *((numa, 0) for numa in others))
