"""Published scorers: what they say, told a second time in plain words, node by node."""

from collections.abc import Sequence
from math import exp
from random import Random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from even_topologies import even_topology
from placer.greedy.scorer import ANY_GPU, ScorerNodeColumnsLeft, ScorerPodAsk
from placer.greedy.scorers.best_fit import BestFitScoring
from placer.greedy.scorers.dot_product import DotProductScoring
from placer.greedy.scorers.fragmentation import FragmentationScoring
from placer_models.cluster import Machine, Node
from placer_models.device import GPU, Device
from placer_models.device_share import DeviceShare
from placer_models.node_affinity import NodeAffinity, NodeTerm
from placer_models.pod import Container, DeviceRequest, PodSpec, Resources
from placer_models.policy import QosClass
from placer_models.selectors import LabelExpression, SelectorOperator

MODELS = ("T4", "V100")
GPUS = 4


def node(number: int, model: str, cpus: int = 8) -> Node:
    topology = even_topology(cpus, 2**36)
    machine = Machine(f"c{cpus}", "", topology, tuple(Device(GPU, i) for i in range(GPUS)))
    return Node(f"n{number}", machine, labels=(("model", model),))


def spec(cpu_milli: int, gpus: int, percent: int, models: tuple[str, ...] = ()) -> PodSpec:
    share = None if percent == 100 else DeviceShare(percent, memory_percent=percent)
    devices = (DeviceRequest(GPU, gpus, share),) if gpus else ()
    only = (LabelExpression("model", SelectorOperator.IN, models),) if models else ()
    return PodSpec(
        (Container("main", Resources(cpu_milli, 2**30, devices=devices)),),
        QosClass.LS,
        node_affinity=NodeAffinity(required=(NodeTerm(only),)) if models else None,
    )


KINDS = (
    spec(1000, 0, 100),
    spec(2000, 1, 100),
    spec(3000, 1, 30),
    spec(500, 1, 80, ("T4",)),
    spec(4000, 2, 100, ("V100",)),
    spec(1000, 4, 100, MODELS),
)

Left = tuple[int, tuple[int, ...], str]
"""Milli CPUs, what is left of each GPU in 1/1000, and their model."""


def usable(left: Left, pod: PodSpec) -> int:
    """Return how much of the free GPUs pods like one could use, if it could run there at all."""
    cpu, gpus, model = left
    (asked,) = pod.requests.devices or (None,)
    if asked is None or cpu < pod.requests.cpu_milli:
        return 0
    milli = 10 * (asked.share.percent or 0) if asked.share else 1000
    enough = [gpu for gpu in gpus if gpu >= milli]
    affinity = pod.node_affinity
    if affinity and not affinity.allows("n", (("model", model),)):
        return 0
    return sum(enough) if len(enough) >= asked.count else 0


def points(before: Left, after: Left, pods: Sequence[PodSpec]) -> float:
    """Return the points of FGD before they are rounded, by definition."""
    gone = sum(before[1]) - sum(after[1])
    lost = sum(usable(before, pod) - usable(after, pod) for pod in pods) / len(pods)
    return 100 / (1 + exp((lost - gone) / 1000))


def draw(rng: Random) -> tuple[list[Node], ScorerNodeColumnsLeft, list[Left]]:
    nodes = [node(i, rng.choice(MODELS)) for i in range(5)]
    cpu = np.array([rng.randrange(1000, 8001, 500) for _ in nodes])
    gpu = np.array([[rng.choice((0, 200, 300, 700, 1000)) for _ in range(GPUS)] for _ in nodes])
    lefts = [
        (int(c), tuple(map(int, g)), dict(n.labels)["model"])
        for n, c, g in zip(nodes, cpu, gpu, strict=True)
    ]
    return nodes, ScorerNodeColumnsLeft(cpu, np.full(len(nodes), 2**36), gpu), lefts


@given(st.randoms(use_true_random=False))
def test_fgd_scores_by_the_fragmentation_that_is_added(rng: Random) -> None:
    """
    Points follow from the definition, and the GPU named is the first with the most of them;
    what lies within a millionth of the next point may round either way.
    """
    pods = [rng.choice(KINDS) for _ in range(20)]
    nodes, free, lefts = draw(rng)
    scoring = FragmentationScoring.of(pods)
    typical = [pod.where for pod, count in scoring.typical for _ in range(count)]
    scorer = scoring.on(nodes)
    for ask in (
        ScorerPodAsk(1000, 0, 0, 0),
        ScorerPodAsk(500, 0, 1, 300),
        ScorerPodAsk(1000, 0, 2, 1000),
    ):
        able = [
            at
            for at, (_, gpus, _) in enumerate(lefts)
            if not ask.gpus or sum(gpu >= ask.gpu_milli for gpu in gpus) >= ask.gpus
        ]
        found = scorer.score(ask, free, np.array(able, dtype=np.intp))
        for i, at in enumerate(able):
            options = afters(lefts[at], ask)
            each = {gpu: points(lefts[at], after, typical) for gpu, after in options.items()}
            score = int(found.scores[i])
            assert any(score in (int(p - 1e-6), int(p + 1e-6)) for p in each.values())
            assert score >= max(int(p - 1e-6) for p in each.values())
            if found.gpus is not None:
                gpu = int(found.gpus[i])
                assert score in (int(each[gpu] - 1e-6), int(each[gpu] + 1e-6))
                assert all(int(p - 1e-6) < score for g, p in each.items() if g < gpu)


def afters(left: Left, ask: ScorerPodAsk) -> dict[int, Left]:
    """Return the GPU of a share, or `ANY_GPU` -> what is left once the pod is there."""
    cpu, gpus, model = left
    rest = cpu - ask.cpu_milli
    if ask.is_share:
        return {
            at: (rest, (*gpus[:at], gpu - ask.gpu_milli, *gpus[at + 1 :]), model)
            for at, gpu in enumerate(gpus)
            if gpu >= ask.gpu_milli
        }
    taken = [at for at, gpu in enumerate(gpus) if ask.gpus and gpu == 1000][: ask.gpus]
    return {ANY_GPU: (rest, tuple(0 if i in taken else g for i, g in enumerate(gpus)), model)}


def test_the_commonest_pods_are_typical() -> None:
    """
    Of 100 pods, 60 + 30 + 5 reach 95: the other kinds are not looked at.
    """
    counts = (3, 60, 30, 2, 5, 0)
    pods = [kind for kind, count in zip(KINDS, counts, strict=True) for _ in range(count)]
    found = FragmentationScoring.of(pods)
    assert [(pod.where, count) for pod, count in found.typical] == [
        (KINDS[1], 60),
        (KINDS[2], 30),
        (KINDS[4], 5),
    ]
    assert found.all_pods == 100


def test_without_typical_pods_all_places_score_alike() -> None:
    """
    Nothing is fragmented for nobody.
    """
    scorer = FragmentationScoring.of(()).on([node(0, "T4")])
    free = ScorerNodeColumnsLeft(np.array([8000]), np.array([2**36]), np.full((1, GPUS), 1000))
    found = scorer.score(ScorerPodAsk(1000, 0, 1, 500), free, np.array([0]))
    assert (found.scores.tolist(), [] if found.gpus is None else found.gpus.tolist()) == ([50], [0])


def test_best_fit_and_dot_product_look_at_parts_of_the_largest_node() -> None:
    """
    On nodes of 8 and 16 CPUs with 4 GPUs each, by hand: what is left after 4 CPUs and 1 GPU is
    4/16 and 3/4 on the first, 12/16 and 3/4 on the other; the products are 8/16 of 4/16 and
    16/16 of 4/16, each with 4/4 of 1/4 of the GPUs.
    """
    nodes = [node(0, "T4"), node(1, "T4", cpus=16)]
    free = ScorerNodeColumnsLeft(
        np.array([8000, 16000]), np.array([2**36] * 2), np.full((2, GPUS), 1000)
    )
    ask, both = ScorerPodAsk(4000, 0, 1, 1000), np.array([0, 1])
    assert BestFitScoring().on(nodes).score(ask, free, both).scores.tolist() == [50, 25]
    # 100 - (12.5 + 25) / 2 and 100 - (25 + 25) / 2
    assert DotProductScoring().on(nodes).score(ask, free, both).scores.tolist() == [81, 75]
