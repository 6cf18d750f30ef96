"""Scorers: whatever one says of nodes and GPUs is what the greedy path does."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from even_topologies import even_topology
from placer.greedy.columns import Indices
from placer.greedy.scorer import NodeScores, ScorerNodeColumnsLeft, ScorerPodAsk
from placer.scheduler import Scheduler
from placer.scheduling.decision import Batch
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance, Machine, Node
from placer_models.device import GPU, Device
from placer_models.device_share import DeviceShare
from placer_models.placement import PodPlacement
from placer_models.pod import Container, DeviceRequest, Gang, Pod, PodSpec, Resources
from placer_models.policy import QosClass

GIB = 2**30


@dataclass(frozen=True)
class Drawn:
    """A scoring by numbers that look random, and that follow from what a node has left."""

    seed: int
    by_epoch: bool = False

    def on(self, nodes: Sequence[Node]) -> "DrawnScorer":
        """Return a scorer."""
        return DrawnScorer(self)


@dataclass(frozen=True)
class DrawnScorer:
    """Draws by what a node has left, and by how full all nodes are together if it is told to."""

    drawn: Drawn

    def epoch(self, free: ScorerNodeColumnsLeft) -> int:
        """Return how full all nodes are."""
        return int(free.gpu_milli.sum()) // 1500 if self.drawn.by_epoch else 0

    def of(self, ask: ScorerPodAsk, left: tuple[int, ...], epoch: int) -> tuple[int, int]:
        """Return a score, and a GPU on which the pod fits."""
        rng = Random(str((self.drawn.seed, *ask, *map(int, left), epoch)))
        fitting = [gpu for gpu, milli in enumerate(left[1:]) if milli >= ask.gpu_milli > 0]
        return rng.randrange(-3, 3), rng.choice(fitting or [-1])

    def score(self, ask: ScorerPodAsk, free: ScorerNodeColumnsLeft, nodes: Indices) -> NodeScores:
        """Draw for each node."""
        epoch = self.epoch(free)
        found = [
            self.of(ask, (int(free.cpu_milli[at]), *filter(None, free.gpu_milli[at])), epoch)
            for at in nodes.tolist()
        ]
        return NodeScores(np.array([s for s, _ in found]), np.array([gpu for _, gpu in found]))


def machine(gpus: int) -> Machine:
    topology = even_topology(8, 64 * GIB)
    return Machine(f"m{gpus}", "", topology, tuple(Device(GPU, minor) for minor in range(gpus)))


def pod(name: str, cpu_milli: int, gpus: int = 0, percent: int = 100) -> Pod:
    share = None if percent == 100 else DeviceShare(percent, memory_percent=percent)
    devices = (DeviceRequest(GPU, gpus, share),) if gpus else ()
    requests = Resources(cpu_milli, GIB, devices=devices)
    return Pod(name, "default", PodSpec((Container("main", requests),), QosClass.LS))


def batch(*pods: Pod) -> Batch:
    return Batch(tuple(Gang(one.name, "default", (one,), 1, lone=True) for one in pods))


class Book:
    """Who has what, kept by hand: milli CPUs and 1/1000 of each GPU of each node."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        """Begin with empty nodes."""
        self.cpu = {node.name: 8000 for node in nodes}
        self.gpu = {node.name: [1000] * len(node.devices) for node in nodes}

    def take(self, place: PodPlacement, one: Pod, sign: int = 1) -> None:
        """Write down, or strike out, what a pod has."""
        self.cpu[place.node] -= sign * one.spec.requests.cpu_milli
        for grant in place.devices:
            percent = grant.share.percent if grant.share else 100
            self.gpu[place.node][grant.minor] -= sign * 10 * (percent or 0)


def ask_of(one: Pod) -> ScorerPodAsk:
    requests = one.spec.requests
    (device,) = requests.devices or (None,)
    milli = 0 if device is None else 10 * (device.share.percent or 0) if device.share else 1000
    return ScorerPodAsk(
        requests.cpu_milli, requests.memory_bytes, device.count if device else 0, milli
    )


ASKS = ((500, 0, 100), (1000, 1, 30), (500, 1, 50), (1000, 1, 100), (2000, 2, 100), (500, 1, 70))


@settings(max_examples=15)
@given(st.randoms(use_true_random=False), st.booleans())
def test_pods_go_where_the_scorer_says(rng: Random, by_epoch: bool) -> None:
    """
    A book kept by hand, asked for the best score of all nodes that have room, names the node
    and the GPU of every pod; pods come and go, and a pod that has no place is left out.
    """
    nodes = [Node(f"n{i}", machine(rng.choice((0, 1, 2, 4)))) for i in range(4)]
    nodes.append(Node("n4", machine(2)))
    scoring = Drawn(rng.randrange(100), by_epoch)
    scorer, book, scheduler = scoring.on(nodes), Book(nodes), Scheduler(nodes)
    options = SolveOptions(Engine.GREEDY, scoring=scoring)
    there: list[tuple[PodPlacement, Pod]] = []
    for turn in range(14):
        if there and rng.random() < 0.3:
            place, gone = there.pop(rng.randrange(len(there)))
            scheduler.release((gone.key,))
            book.take(place, gone, -1)
        one = pod(f"p{turn}", *rng.choice(ASKS))
        ask = ask_of(one)
        epoch = sum(map(sum, book.gpu.values())) // 1500 if by_epoch else 0
        best = None
        for node in nodes:
            minors = [minor for minor, milli in enumerate(book.gpu[node.name]) if milli]
            row = book.cpu[node.name], *(book.gpu[node.name][minor] for minor in minors)
            fitting = sum(milli >= ask.gpu_milli for milli in row[1:])
            if row[0] < ask.cpu_milli or (ask.gpus and fitting < ask.gpus):
                continue
            score, gpu = scorer.of(ask, row, epoch)
            if best is None or score > best[0]:
                best = score, node.name, minors[gpu] if gpu >= 0 else None
        decision = scheduler.place(batch(one), 60.0, options=options)
        if best is None:
            assert not decision.placement.pods
            continue
        (place,) = decision.placement.pods
        assert place.node == best[1]
        if ask.is_share:
            assert [grant.minor for grant in place.devices] == [best[2]]
        book.take(place, one)
        there.append((place, one))


def test_equal_scores_go_to_the_first_node() -> None:
    """
    Where all nodes score alike, pods fill the first one by name before they go to the next.
    """
    nodes = [Node(name, machine(1)) for name in ("b", "a", "c")]
    scheduler = Scheduler(nodes)
    options = SolveOptions(Engine.GREEDY, scoring=Same())
    found = [
        scheduler.place(batch(pod(f"p{i}", 1000, 1)), 60.0, options=options).placement.pods[0].node
        for i in range(3)
    ]
    assert found == ["a", "b", "c"]


def test_memory_is_told_in_bytes_whatever_a_problem_counts_in() -> None:
    """
    All amounts of this instance are whole GiB, so that its Problem counts memory in GiB.
    """
    scoring = Seeing([])
    instance = Instance((Node("a", machine(1)), Node("b", machine(1))), batch(pod("p", 1000)).gangs)

    solve(instance, SolveOptions(Engine.GREEDY, scoring=scoring))

    assert scoring.seen == [(GIB, [64 * GIB, 64 * GIB])]


@dataclass(frozen=True)
class Seeing:
    """All nodes score alike; what was asked of memory, and what there was, is written down."""

    seen: list[tuple[int, list[int]]] = field(hash=False)

    def on(self, nodes: Sequence[Node]) -> "Seeing":
        """Return itself."""
        return self

    def epoch(self, free: ScorerNodeColumnsLeft) -> None:
        """Nothing ever changes."""

    def score(self, ask: ScorerPodAsk, free: ScorerNodeColumnsLeft, nodes: Indices) -> NodeScores:
        """Return zeros."""
        self.seen.append((ask.memory_bytes, free.memory_bytes[nodes].tolist()))
        return NodeScores(np.zeros(len(nodes), dtype=np.int64))


@dataclass(frozen=True)
class Same:
    """All nodes score alike."""

    def on(self, nodes: Sequence[Node]) -> "Same":
        """Return itself."""
        return self

    def epoch(self, free: ScorerNodeColumnsLeft) -> None:
        """Nothing ever changes."""

    def score(self, ask: ScorerPodAsk, free: ScorerNodeColumnsLeft, nodes: Indices) -> NodeScores:
        """Return zeros."""
        return NodeScores(np.zeros(len(nodes), dtype=np.int64))
