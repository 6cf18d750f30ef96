"""Wishes about cores and NUMA nodes in the tier of affinity, by hand (C18)."""

import pytest

from judge.cases_in_node_affinity import BY_DB, FAR_FROM_DB, NEAR_DB, OFF_DB, TWO_DB, owner, wish
from judge.hand import placed, put, world
from placer.judge.breaches import breaches
from placer.judge.measure import measure
from placer_models.affinity import AffinityTerm
from placer_models.goals import AFFINITY


@pytest.mark.parametrize(
    ("term", "db_cpus", "unmet"),
    [
        (BY_DB, "1,3", 0),
        (BY_DB, "1,4", 1),
        (BY_DB, "4,6", 1),
        (NEAR_DB, "1,4", 0),
        (NEAR_DB, "4,6", 1),
        (OFF_DB, "4,6", 0),
        (OFF_DB, "1,3", 1),  # one pair, however many cores are shared
        (OFF_DB, "1,4", 1),
        (FAR_FROM_DB, "4,6", 0),
        (FAR_FROM_DB, "1,4", 1),
    ],
)
@pytest.mark.parametrize("runs", [False, True])
def test_a_wish_is_met_at_every_place_or_not_at_all(
    term: AffinityTerm, db_cpus: str, unmet: int, runs: bool
) -> None:
    """
    The pod has CPUs 0 and 2, of two cores of one NUMA node.
    """
    asking = owner("a", 2, "web", wish(term))
    instance = world(asking, TWO_DB)
    placement = placed(put("a", "0,2"), put("db", db_cpus))
    if runs:
        instance = world(asking, running=[(TWO_DB, put("db", db_cpus))])
        placement = placed(put("a", "0,2"))

    assert breaches(instance, placement) == ()
    assert dict(measure(instance, placement))[AFFINITY] == unmet


@pytest.mark.parametrize(
    ("term", "first", "second", "unmet"),
    [
        (OFF_DB, "1", "3", 2),
        (OFF_DB, "1", "4", 1),
        (OFF_DB, "4", "5", 0),
        (FAR_FROM_DB, "1", "4", 1),
        (FAR_FROM_DB, "1", "3", 2),
        (FAR_FROM_DB, "4", "5", 0),
    ],
)
@pytest.mark.parametrize("runs", [False, True])
def test_apart_counts_each_pod_that_is_met(
    term: AffinityTerm, first: str, second: str, unmet: int, runs: bool
) -> None:
    """
    The pod has CPUs 0 and 2, of two cores of one NUMA node; two databases have one each.
    """
    asking = owner("a", 2, "web", wish(term))
    dbs = {owner(f"db-{cpu}", 1, "db"): put(f"db-{cpu}", cpu) for cpu in (first, second)}
    instance = world(asking, *dbs)
    placement = placed(put("a", "0,2"), *dbs.values())
    if runs:
        instance = world(asking, running=list(dbs.items()))
        placement = placed(put("a", "0,2"))

    assert breaches(instance, placement) == ()
    assert dict(measure(instance, placement))[AFFINITY] == unmet


def test_each_of_a_kind_counts_the_others_that_it_meets() -> None:
    """
    All three share a NUMA node, and two of them the other one too: no pair counts twice.
    """
    pods = [owner(f"db-{i}", 2, "db", wish(FAR_FROM_DB)) for i in range(3)]
    instance = world(*pods)
    placement = placed(put("db-0", "0-1"), put("db-1", "2,4"), put("db-2", "3,5"))

    assert dict(measure(instance, placement))[AFFINITY] == 6
