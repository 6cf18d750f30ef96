"""Slots on workers as a placement problem: workers are nodes, slots pods, jobs gangs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count, islice

from placer.packing.bins import PackingProblem, Vector
from placer.packing.knapsack import item_count_that_fits
from placer.slots.resources import ResourceProfile
from placer.slots.workers.model import SlotsNeededByJob
from placer_models.cluster import Instance, Machine, Node
from placer_models.pod import Container, Gang, Pod, PodSpec, Resources
from placer_models.policy import QosClass
from placer_models.topology import Cpu, NumaNode, Topology

_NAMESPACE = "slots"

_HOST = Machine(
    name="worker",
    title="a worker: amounts, and no place inside that matters",
    topology=Topology("any", (Cpu(0, core=0, package=0, numa_node=0),), (NumaNode(0, 0),)),
)


@dataclass(frozen=True, slots=True)
class SlotsOnWorkersAsPodsOnNodes:
    """The problem, and what its names stand for.

    Attributes:
        bin_of: Name of a node -> the bin; new workers follow those that are there.
        thing_of: Name of a pod -> (its job's place in the list, its type of slot).

    """

    instance: Instance
    bin_of: dict[str, int]
    thing_of: dict[str, tuple[int, int]]


def slots_on_workers_as_pods_on_nodes(
    packing: PackingProblem,
    types: Sequence[ResourceProfile],
    jobs: Sequence[SlotsNeededByJob],
    offers: int,
    weights: Sequence[int] | None,
) -> SlotsOnWorkersAsPodsOnNodes:
    """Write down who could go where.

    A worker's amounts are extended resources, for a slot has no CPUs or memory of its
    own by place. A slot that takes a default slot takes another amount on another
    worker: so each way to size slots has resources of its own, and who sizes otherwise
    has more of them than all slots together could take.

    Args:
        packing: The workers, what slots of each type take there, and how many there are of each.
        types: The types of slots.
        jobs: Who asks for them; their types are among these.
        offers: How many new workers could be had.
        weights: What each job counts; None: an earlier one counts for more than all
            later ones.

    """
    ways = list(dict.fromkeys(bin.sizes for bin in (*packing.bins, packing.fresh)))
    plenty = [tuple(_times(sizes, packing.counts)) for sizes in ways]
    bins = (*packing.bins, *[packing.fresh] * offers)
    nodes = tuple(
        Node(
            name=f"{number}",
            machine=_HOST,
            reserved_cpus=frozenset({0}),
            extended=_amounts(
                bin.room if sizes == bin.sizes else most
                for sizes, most in zip(ways, plenty, strict=True)
            ),
            offered=number >= len(packing.bins),
        )
        for number, bin in enumerate(bins)
    )
    specs = [
        PodSpec(
            (Container("slot", Resources(extended=_amounts(way[item] for way in ways))),),
            qos=QosClass.LS,
        )
        for item in range(len(types))
    ]
    gangs = []
    thing_of: dict[str, tuple[int, int]] = {}
    names = map(str, count())
    for place, job in enumerate(jobs):
        pods = []
        for need in job.needs:
            item = types.index(need.profile)
            for name in islice(names, need.count):
                pods.append(Pod(name, _NAMESPACE, specs[item]))
                thing_of[name] = place, item
        if pods:
            gangs.append(
                Gang(
                    name=f"{place}",
                    namespace=_NAMESPACE,
                    pods=tuple(pods),
                    minimum=len(pods),
                    priority=len(jobs) - place if weights is None else 0,
                    weight=1 if weights is None else weights[place],
                )
            )
    return SlotsOnWorkersAsPodsOnNodes(
        Instance(nodes=nodes, gangs=tuple(gangs), name="slots"),
        {node.name: number for number, node in enumerate(nodes)},
        thing_of,
    )


def sufficient_new_worker_count(packing: PackingProblem) -> int:
    """Return a number of new workers that is enough for all that a new worker can hold."""
    fresh = packing.fresh
    return sum(
        -(-wanted // held)
        for item, wanted in enumerate(packing.counts)
        if wanted and (held := item_count_that_fits(fresh, fresh.room, item, wanted))
    )


def _times(sizes: Sequence[Vector], wanted: Sequence[int]) -> list[int]:
    return [
        sum(n * amount for n, amount in zip(wanted, column, strict=True))
        for column in zip(*sizes, strict=True)
    ]


def _amounts(ways: Iterable[Vector]) -> tuple[tuple[str, int], ...]:
    """Return the amounts of all ways to size slots as extended resources."""
    return tuple(
        sorted(
            (f"{way}.{dimension}", amount)
            for way, vector in enumerate(ways)
            for dimension, amount in enumerate(vector)
            if amount
        )
    )
