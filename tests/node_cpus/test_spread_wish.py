"""A wish to spread on nodes that take whole cores alone (C10)."""

import pytest

from judge.hand import node, pod, put, world
from placer.judge.measure import measure
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.goals import BIND
from placer_models.placement import Placed, Placement
from placer_models.policy import BindPolicy, NodeBindPolicy

SPREAD = BindPolicy.SPREAD_BY_PCPUS
WHOLE = node("whole", cpu_bind=NodeBindPolicy.FULL_PCPUS_ONLY)


@pytest.mark.parametrize(
    ("cpus", "against"),
    [("8", 0), ("0-1", 1), ("0-3", 2), ("0-5", 2), ("0-5,8", 1), ("0-8", 0)],
)
def test_whole_cores_count_against_the_wish(cpus: str, against: int) -> None:
    """
    Four cores of two threads (0-1 to 6-7) and one of one (8): what more than five CPUs cannot
    keep anywhere is not counted. Other wishes are kept by whole cores.
    """
    place = put("a", cpus, on="whole")

    def value(bind: BindPolicy) -> int:
        asked = world(pod("a", len(place.cpuset), bind=bind), nodes=[WHOLE])
        return dict(measure(asked, Placement((place,))))[BIND]

    assert value(SPREAD) == against
    assert value(BindPolicy.FULL_PCPUS) == value(BindPolicy.DEFAULT) == 0


@pytest.mark.parametrize("engine", [Engine.GREEDY, Engine.EXACT])
def test_a_wish_to_spread_goes_where_it_can_be_kept(engine: Engine) -> None:
    """
    Two cores of the node of whole cores would leave more usable than four broken ones of the
    other node do; the wish counts for more.
    """
    found = solve(
        world(pod("a", 4, bind=SPREAD), nodes=[WHOLE, node("free")]),
        SolveOptions(engine=engine, workers=1, seed=1),
    )

    assert isinstance(found, Placed)
    assert found.placement.pods[0].node == "free"
    assert {tier.tier: tier.value for tier in found.tiers}[BIND] == 0
    assert engine is Engine.GREEDY or all(tier.proven for tier in found.tiers)


def test_a_wish_to_spread_gives_way_where_nothing_else_fits() -> None:
    """
    The other node is too small: two whole cores, two CPUs against the wish, and no fewer.
    """
    found = solve(
        world(pod("a", 4, bind=SPREAD), nodes=[WHOLE, node("free", reserved="0-5")]),
        SolveOptions(engine=Engine.EXACT, workers=1, seed=1),
    )

    assert isinstance(found, Placed)
    (tier,) = [tier for tier in found.tiers if tier.tier == BIND]
    assert (found.placement.pods[0].node, tier.value, tier.bound) == ("whole", 2, 2)
