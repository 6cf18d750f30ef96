"""Expected fill: what strategy `expected` thinks that a node is still worth, in whole numbers.

The reference, in plain Python: the kernels of the greedy path give the same numbers, and the
judge uses this. Everything is counted in millionths of a GPU. Worth is fill plus prices:

* *Fill*: streams of pods are drawn from the demand. Each is offered to the node alone, pod by
  pod; a pod that does not fit is skipped. The fill is what the streams place on its GPUs, on
  average, rounded half up. Half of the streams are sorted biggest first.
* *Prices*: each shape has one, for each pod of the shape that the node could still take.

The strategy's tier is the worth that nodes lose. The fast path chooses by the loss of a node in
steps of ``QUANTUM``, so that nodes that lose about as much count as equal.
"""

from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import accumulate
from operator import or_
from typing import NamedTuple

from placer_models.cluster import Node, NodesWithCachedFacts
from placer_models.demand import ExpectedDemand, ExpectedShape
from placer_models.selectors import Labels
from placer_models.splitmix import random_below
from placer_models.taints import Taint

MICRO = 1_000
"""Millionths of a GPU in a thousandth."""

QUANTUM = 25 * MICRO
"""Losses of worth that differ by less count as equal where nodes are chosen."""

PRICE_WEIGHT = 300
"""The most that a price is of its pod's size, in thousandths."""

LEAST_PRICE = 1 * MICRO
"""Prices below this are left out: many of them would only blur the fill."""

REFRESH_PERCENT = 80
"""A Scheduler renews prices once less than so much of the idle GPUs is left as they were
renewed for."""

MOST_WORTHS = 100_000
"""The most fills that are kept for the nodes that the same shapes may come to."""


MOST_KINDS = 1_000
"""How many kinds of nodes are kept at a time, each for one demand."""


class ResourcesLeftForExpectedPods(NamedTuple):
    """What is left on a node, as far as the strategy looks at it.

    Attributes:
        cpu_milli: What new LS pods may ask for.
        gpu_milli: Thousandths left of each healthy GPU of which anything is, ascending.
        memory_bytes: Memory that new pods may ask for; 0 where no shape asks for any, so that
            nodes which differ in nothing else are alike.

    """

    cpu_milli: int
    gpu_milli: tuple[int, ...]
    memory_bytes: int = 0


class NodesAlikeForExpectedPods(NamedTuple):
    """Nodes that are alike to the strategy.

    Attributes:
        open: Which of the demand's shapes may come to them.
        left: What each of them has left.
        nodes: How many they are.

    """

    open: tuple[bool, ...]
    left: ResourcesLeftForExpectedPods
    nodes: int


@lru_cache(maxsize=64)
def expected_pod_streams(demand: ExpectedDemand) -> tuple[tuple[int, ...], ...]:
    """Return the streams of pods, each pod by the index of its shape.

    Pod ``i`` of stream ``j`` is draw ``j * length + i`` of SplitMix64 in the stream of the seed,
    as a number below the sum of the counts: it falls into the part of its shape. The first half of
    the streams, rounded down, is sorted by size, biggest first; equal sizes stay as drawn.
    """
    ends = list(accumulate(demand.counts))
    if not ends:
        return ()
    streams = []
    for j in range(demand.streams):
        drawn = [
            bisect_right(ends, random_below(demand.seed, j * demand.length + i, ends[-1]))
            for i in range(demand.length)
        ]
        if j < demand.streams // 2:
            drawn.sort(key=lambda k: -demand.shapes[k].size_milli)
        streams.append(tuple(drawn))
    return tuple(streams)


def count_pods_of_shape_that_fit(shape: ExpectedShape, left: ResourcesLeftForExpectedPods) -> int:
    """Return how many pods of the shape a node could still take, if nothing else came.

    GPUs count together: of two halves on two GPUs and two halves on one GPU nothing is wasted.
    """
    if not shape.gpus:
        copies = left.cpu_milli // shape.cpu_milli
    else:
        copies = sum(milli // shape.gpu_milli for milli in left.gpu_milli) // shape.gpus
        if shape.cpu_milli:
            copies = min(copies, left.cpu_milli // shape.cpu_milli)
    return min(copies, left.memory_bytes // shape.memory_bytes) if shape.memory_bytes else copies


def worth_loss_in_quanta(lost: int) -> int:
    """Return a loss of worth in steps of QUANTUM, to the nearest; half a step counts as a gain."""
    return -((QUANTUM - 2 * lost) // (2 * QUANTUM))


class _Positions(NamedTuple):
    """Where in a stream there are pods that fit; bit ``i`` of a number stands for position ``i``.

    Attributes:
        by_cpu: Positions of pods that need at most the first so many amounts of CPU.
        by_memory: The same for amounts of memory.
        without: Positions of pods without GPUs.
        by_milli: The same of pods with one GPU, for amounts of that GPU.
        several: (GPUs, milli of each, positions of the pods that ask for that), for several GPUs.

    """

    by_cpu: tuple[int, ...]
    by_memory: tuple[int, ...]
    without: int
    by_milli: tuple[int, ...]
    several: tuple[tuple[int, int, int], ...]


class ExpectedGpuFillCache:
    """The fills of the nodes that the same shapes may come to; prices do not matter to them.

    Attributes:
        demand: The demand.
        open: Which of its shapes may come there.

    """

    def __init__(self, demand: ExpectedDemand, open_: tuple[bool, ...]) -> None:
        """Note where in the streams there are pods that may come."""
        self.demand = demand
        self.open = open_
        shapes = demand.shapes
        self._streams = expected_pod_streams(demand)
        self._asks = tuple(
            (s.cpu_milli, s.memory_bytes, s.gpus, s.gpu_milli, s.size_milli) for s in shapes
        )
        self._cpus = sorted({shape.cpu_milli for shape in shapes})
        self._memories = sorted({shape.memory_bytes for shape in shapes})
        self._milli = sorted({shape.gpu_milli for shape in shapes if shape.gpus == 1})
        self._positions = [self._positions_of(stream) for stream in self._streams]
        self._fills: dict[ResourcesLeftForExpectedPods, int] = {}

    def _positions_of(self, stream: tuple[int, ...]) -> _Positions:
        by_cpu, by_milli = [0] * (len(self._cpus) + 1), [0] * (len(self._milli) + 1)
        by_memory = [0] * (len(self._memories) + 1)
        several: dict[tuple[int, int], int] = {}
        without = 0
        for position, k in enumerate(stream):
            if not self.open[k]:
                continue
            shape, bit = self.demand.shapes[k], 1 << position
            by_cpu[bisect_right(self._cpus, shape.cpu_milli)] |= bit
            by_memory[bisect_right(self._memories, shape.memory_bytes)] |= bit
            if not shape.gpus:
                without |= bit
            elif shape.gpus == 1:
                by_milli[bisect_right(self._milli, shape.gpu_milli)] |= bit
            else:
                ask = shape.gpus, shape.gpu_milli
                several[ask] = several.get(ask, 0) | bit
        asks = tuple((*ask, bits) for ask, bits in several.items())
        upto = (tuple(accumulate(bits, or_)) for bits in (by_cpu, by_memory, by_milli))
        able_cpu, able_memory, able_milli = upto
        return _Positions(able_cpu, able_memory, without, able_milli, asks)

    def fill(self, left: ResourcesLeftForExpectedPods) -> int:
        """Return what the streams place on the node's GPUs, on average."""
        found = self._fills.get(left)
        if found is None:
            if len(self._fills) >= MOST_WORTHS:
                self._fills.clear()
            count = len(self._streams) if left.gpu_milli else 0
            found = self.note(left, sum(self._placed(j, left) for j in range(count)))
        return found

    def knows(self, left: ResourcesLeftForExpectedPods) -> bool:
        """Return whether the fill of such a node is known already."""
        return left in self._fills

    def note(self, left: ResourcesLeftForExpectedPods, placed: int) -> int:
        """Note what all streams together place, in thousandths of a GPU; return the fill."""
        count = max(1, len(self._streams))
        found = self._fills[left] = (2 * MICRO * placed + count) // (2 * count)
        return found

    def _placed(self, j: int, left: ResourcesLeftForExpectedPods) -> int:
        """Return what stream ``j`` places on the node, in thousandths of a GPU.

        A pod has the GPUs with the least left that have enough for it. Pods without GPUs take
        CPU and memory from those that come after them.
        """
        stream, asks = self._streams[j], self._asks
        by_cpu, by_memory, without, by_milli, several = self._positions[j]
        cpus, memories, milli = self._cpus, self._memories, self._milli
        cpu, memory, gpus = left.cpu_milli, left.memory_bytes, list(left.gpu_milli)
        looks_at_memory = len(memories) > 1 or memories[0] > 0
        ahead = -1  # All positions.
        placed = 0
        while True:
            if not gpus[-1]:
                return placed
            fits = without | by_milli[bisect_right(milli, gpus[-1])]
            for count, each, positions in several:
                # The GPUs are ascending, so the last ones decide.
                if count <= len(gpus) and gpus[-count] >= each:
                    fits |= positions
            able = by_cpu[bisect_right(cpus, cpu)] & fits & ahead
            if looks_at_memory:
                able &= by_memory[bisect_right(memories, memory)]
            if not able:
                return placed
            first = able & -able
            ahead = -(first << 1)
            wants, wants_memory, number, part, size = asks[stream[first.bit_length() - 1]]
            cpu -= wants
            memory -= wants_memory
            placed += size
            at = bisect_left(gpus, part)
            if number == 1:
                insort(gpus, gpus.pop(at) - part)
            else:
                taken = gpus[at : at + number]
                del gpus[at : at + number]
                for had in taken:
                    insort(gpus, had - part)


class ExpectedNodeWorthCache:
    """What nodes that the same shapes may come to are worth: their fill and what prices add."""

    def __init__(self, demand: ExpectedDemand, fills: ExpectedGpuFillCache) -> None:
        """Begin with no node known.

        Args:
            demand: The demand, with prices.
            fills: The fills of the same demand.

        """
        self.fills = fills
        prices = demand.prices or (0,) * len(demand.shapes)
        shapes = zip(prices, demand.shapes, fills.open, strict=True)
        self._priced = tuple((price, shape) for price, shape, may in shapes if price and may)
        self._worths: dict[ResourcesLeftForExpectedPods, int] = {}

    def worth(self, left: ResourcesLeftForExpectedPods) -> int:
        """Return the worth of a node with so much left, in millionths of a GPU."""
        found = self._worths.get(left)
        if found is None:
            if len(self._worths) >= MOST_WORTHS:
                self._worths.clear()
            paid = sum(
                price * count_pods_of_shape_that_fit(shape, left) for price, shape in self._priced
            )
            found = self._worths[left] = self.fills.fill(left) + paid
        return found


def group_equal_left_nodes(
    rows: Iterable[tuple[tuple[bool, ...], ResourcesLeftForExpectedPods]],
) -> list[NodesAlikeForExpectedPods]:
    """Return the nodes with those that are alike counted together."""
    return [NodesAlikeForExpectedPods(*row, count) for row, count in Counter(rows).items()]


def expected_shape_prices(
    demand: ExpectedDemand, nodes: Iterable[NodesAlikeForExpectedPods]
) -> tuple[int, ...]:
    """Return the price of each shape: what it is worth that one more pod of it has a place.

    The price is PRICE_WEIGHT / 1000 x size x pressure x (1 - reach), rounded half up, where pods
    that still come until the idle GPUs are used / pods that still fit, at most 1, is the pressure,
    and the part of the idle GPUs that pods of the shape could use is the reach. So shapes that
    fit nearly everywhere cost nothing, and shapes that fit nowhere cost most.

    Args:
        demand: The demand; its own prices do not matter.
        nodes: All nodes.

    """
    rows = list(nodes)
    idle = sum(row.nodes * sum(row.left.gpu_milli) for row in rows)
    mean = sum(n * s.size_milli for n, s in zip(demand.counts, demand.shapes, strict=True))
    places = [
        sum(
            row.nodes * count_pods_of_shape_that_fit(shape, row.left) for row in rows if row.open[k]
        )
        for k, shape in enumerate(demand.shapes)
    ]
    return tuple(
        expected_shape_price(shape, count * idle, mean, place, idle)
        for shape, count, place in zip(demand.shapes, demand.counts, places, strict=True)
    )


def expected_shape_price(
    shape: ExpectedShape, coming: int, mean: int, places: int, idle: int
) -> int:
    """Return the price of one shape.

    Args:
        shape: The shape.
        coming: Its count times ``idle``.
        mean: The sum over all shapes of count times size: ``coming`` / ``mean`` pods still come.
        places: How many pods of the shape have a place, node by node.
        idle: Thousandths of a GPU that are left on all nodes.

    """
    room = mean * max(2 * places, 1)
    pressed, of = (1, 1) if 2 * coming >= room else (2 * coming, room)
    unreached = max(0, idle - places * shape.size_milli)
    part, whole = PRICE_WEIGHT * shape.size_milli * pressed * unreached, of * max(idle, 1)
    price = (2 * part + whole) // (2 * whole)
    return price if price >= LEAST_PRICE else 0


class NodeLabelsReadByExpectedDemand(NamedTuple):
    """What the shapes of a demand look at of nodes: labels by key, and names."""

    labels: frozenset[str]
    names: frozenset[str]


@lru_cache(maxsize=64)
def node_labels_looked_at(demand: ExpectedDemand) -> NodeLabelsReadByExpectedDemand:
    """Return what the shapes of a demand look at of nodes."""
    affinities = [s.node_affinity for s in demand.shapes if s.node_affinity is not None]
    keys = {key for shape in demand.shapes for key, _ in shape.node_selector}
    return NodeLabelsReadByExpectedDemand(
        frozenset(keys.union(*(affinity.label_keys for affinity in affinities))),
        frozenset[str]().union(*(affinity.names for affinity in affinities)),
    )


def admitted_shape_mask(demand: ExpectedDemand, node: Node) -> tuple[bool, ...]:
    """Return which of the demand's shapes may come to the node, by what the node is."""
    return next(_open_on_each(demand, (node,)))


def admitted_shape_mask_of_each_node(
    demand: ExpectedDemand, nodes: NodesWithCachedFacts
) -> tuple[tuple[bool, ...], ...]:
    """Return the same for each of the nodes; it is worked out once, whatever the prices are."""
    bare = demand.priced(None)
    return nodes.remembered(
        (admitted_shape_mask_of_each_node, bare), lambda: tuple(_open_on_each(bare, nodes))
    )


def _open_on_each(demand: ExpectedDemand, nodes: Iterable[Node]) -> Iterator[tuple[bool, ...]]:
    """Yield for each node which shapes may come; nodes that look alike to them are one question."""
    keys, names = node_labels_looked_at(demand)
    nowhere = (False,) * len(demand.shapes)
    known: dict[tuple[str, Labels, tuple[Taint, ...]], tuple[bool, ...]] = {}
    for node in nodes:
        if node.cordoned or node.closed:
            yield nowhere
            continue
        name = node.name if node.name in names else ""
        labels = tuple([label for label in node.labels if label[0] in keys]) if keys else ()
        taints = tuple([taint for taint in node.taints if taint.keeps_off]) if node.taints else ()
        look = name, labels, taints
        found = known.get(look)
        if found is None:
            found = known[look] = _open_on(demand, *look)
        yield found


@lru_cache(maxsize=MOST_KINDS)
def _open_on(
    demand: ExpectedDemand, name: str, labels: Labels, taints: tuple[Taint, ...]
) -> tuple[bool, ...]:
    has = dict(labels)
    return tuple(
        all(has.get(key) == value for key, value in shape.node_selector)
        and (shape.node_affinity is None or shape.node_affinity.allows(name, labels))
        and all(any(t.tolerates(taint) for t in shape.tolerations) for taint in taints)
        for shape in demand.shapes
    )
