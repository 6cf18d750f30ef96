"""Rules between pods where a search goes part by part: who is beyond a part counts all the same."""

import pytest

from exact_checks import MakeWorld
from features.affinity import affinity_instance, wide_instance
from features.network import network_instance
from features.topology_spread import spread_instance
from placer.judge.breaches import breaches
from placer.judge.measure import are_tier_values_better, measure
from placer.search.options import Engine
from search.by_parts import answer


@pytest.mark.check
@pytest.mark.usefixtures("parts_only")
@pytest.mark.parametrize(
    ("make", "worlds"),
    [(affinity_instance, 40), (network_instance, 40), (wide_instance, 12), (spread_instance, 12)],
)
def test_parts_keep_what_is_asked_of_others_and_never_lose(make: MakeWorld, worlds: int) -> None:
    """
    Two nodes at a time: who is beyond them keeps others from being the first of a kind, counts in
    the same zone, and is of a gang that reaches beyond the part.
    """
    for seed in range(worlds):
        instance = make(seed)
        found = answer(instance, Engine.AUTO)
        greedy = answer(instance, Engine.GREEDY)

        assert breaches(instance, found) == ()
        assert not are_tier_values_better(measure(instance, greedy), measure(instance, found))
