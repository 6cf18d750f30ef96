"""What the fast path expects preferred affinity to lose, against counting pod by pod."""

from collections import Counter
from random import Random

from features.affinity import affinity_instance, wide_instance
from placer.greedy.affinity import WISH, GreedyShapeCountsByNode
from placer.state.batch import build_problem
from placer_models.domains import NO_DOMAIN
from placer_models.problem.problem import Problem

WORLDS = 60
Placed = Counter[tuple[int, int]]
"""(shape, node) -> how many pods."""


def lost(problem: Problem, placed: Placed) -> int:
    """Return what all pods together lose, by looking at each."""
    found = 0
    for task in problem.affinity.tasks:
        for (shape, node), count in placed.items():
            if task.required or shape != task.shape:
                continue
            here = task.domain(node)
            near = sum(
                there
                for (other, at), there in placed.items()
                if other in task.matches and task.domain(at) == here != NO_DOMAIN
            )
            if here != NO_DOMAIN:
                near += task.here.get(node, 0) - (shape in task.matches)
            found += count * task.weight * (near if task.apart else near == 0)
    return found


def test_each_pod_more_loses_what_counting_says() -> None:
    """
    Pods come to random nodes one by one, whatever is required.
    """
    weighed = 0
    for seed in range(WORLDS):
        for make in (affinity_instance, wide_instance):
            problem = build_problem(make(seed))
            if not problem.affinity.tasks:
                continue
            counts, placed = GreedyShapeCountsByNode(problem), Placed()
            rng = Random(seed)
            for shape in problem.pods:
                before = lost(problem, placed)
                after = [
                    lost(problem, placed + Counter({(shape, node): 1}))
                    for node in range(len(problem.nodes))
                ]
                expected = [WISH * (value - before) for value in after]
                assert counts.wishes_lost(shape).tolist() == expected, (make.__name__, seed)
                weighed += any(value > before + 1 for value in after)
                node = rng.randrange(len(problem.nodes))
                counts.add(shape, node, 1)
                placed[shape, node] += 1
    assert weighed > 20
