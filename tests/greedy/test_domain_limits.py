"""What the fast path knows of limits of domains, against counting all pods anew."""

from collections import Counter
from random import Random

import pytest

from placer.greedy.domain_limits import GreedyDomainPodCounts
from placer_models.domains import NO_DOMAIN, DomainByNode
from placer_models.problem.tasks import ProblemDomainLimit

SHAPES, NODES = 3, 4
Placed = Counter[tuple[int, int]]
"""(shape, node) -> how many pods."""


def drawn_task(rng: Random) -> ProblemDomainLimit:
    """Draw a limit over up to two domains, beyond the fewest or in all."""
    domains = [rng.choice((0, 0, 1, NO_DOMAIN)) for _ in range(NODES)]
    known = sorted({*domains} - {NO_DOMAIN})
    return ProblemDomainLimit(
        rule="some",
        asking=frozenset(rng.sample(range(SHAPES), rng.randint(1, SHAPES))),
        matches=frozenset(rng.sample(range(SHAPES), rng.randint(1, SHAPES))),
        required=rng.random() < 0.5,
        most=rng.randint(0, 2),
        domains=DomainByNode(d if d == NO_DOMAIN else known.index(d) for d in domains),
        here=tuple(rng.randint(0, 2) for _ in known),
        beyond_fewest=rng.random() < 0.5,
    )


def beyond(task: ProblemDomainLimit, placed: Placed) -> int:
    """Return how many pods are beyond the limit in domains with a pod that asks."""
    counts = list(task.here)
    for (shape, node), count in placed.items():
        if task.domains[node] != NO_DOMAIN and shape in task.matches:
            counts[task.domains[node]] += count
    asked = {
        task.domains[node] for (shape, node), n in placed.items() if n and shape in task.asking
    }
    fewest = min(counts, default=0) if task.beyond_fewest else 0
    return sum(max(counts[d] - fewest - task.most, 0) for d in asked - {NO_DOMAIN})


@pytest.mark.parametrize("seed", range(100))
def test_one_more_pod_is_counted_as_all_anew(seed: int) -> None:
    """
    Where it breaks a required limit, and how much more is then beyond the others.
    """
    rng = Random(seed)
    tasks = [drawn_task(rng) for _ in range(rng.randint(1, 3))]
    counts, placed = GreedyDomainPodCounts(tasks, SHAPES, NODES), Placed()
    for _ in range(6):
        for shape in range(SHAPES):
            more = [placed + Counter({(shape, node): 1}) for node in range(NODES)]
            lost = [
                sum(beyond(task, one) - beyond(task, placed) for task in tasks if not task.required)
                for one in more
            ]

            assert counts.lost(shape).tolist() == lost
            if counts.holds():
                kept = [not any(beyond(t, one) for t in tasks if t.required) for one in more]
                assert counts.allowed(shape).tolist() == kept
        assert counts.holds() == (not any(beyond(task, placed) for task in tasks if task.required))
        shape, node = rng.randrange(SHAPES), rng.randrange(NODES)
        counts.add(shape, node, 1)
        placed[shape, node] += 1
