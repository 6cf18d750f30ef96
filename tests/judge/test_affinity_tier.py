"""The tier of affinity, by hand: wishes about nodes, and about cores and NUMA nodes (C18)."""

from dataclasses import replace

import pytest

from judge.cases_affinity import DB, NODES, NOT_WITH_DB, WITH_DB, app, on
from judge.cases_in_node_affinity import BY_DB, FAR_FROM_DB, NEAR_DB, OFF_DB, TWO_DB, owner, wish
from judge.hand import placed, put, world
from placer.judge.breaches import breaches
from placer.judge.measure import measure
from placer_models.affinity import AffinityTerm
from placer_models.goals import AFFINITY
from placer_models.policy import RequiredOrPreferred

NEAR = replace(WITH_DB, strength=RequiredOrPreferred.PREFERRED)
FAR = replace(NOT_WITH_DB, strength=RequiredOrPreferred.PREFERRED)


@pytest.mark.parametrize(
    ("terms", "kind", "db_on", "unmet"),
    [
        ((NEAR,), "web", "n", 0),
        ((NEAR,), "web", "m", 1),
        ((NEAR,), "db", "m", 1),  # of its own kind, but a wish is not met by itself
        ((FAR,), "web", "n", 1),
        ((FAR,), "web", "m", 0),
        ((FAR,), "db", "m", 0),
        ((NEAR, FAR), "web", "n", 1),
        ((NEAR, NOT_WITH_DB), "web", "m", 1),
        ((FAR, WITH_DB), "web", "n", 1),
    ],
)
@pytest.mark.parametrize("runs", [False, True])
def test_wishes_that_are_not_met(
    terms: tuple[AffinityTerm, ...], kind: str, db_on: str, unmet: int, runs: bool
) -> None:
    """
    One for each wish; it does not matter whether the other pod runs already or is new.
    """
    asking = app("a", kind, *terms)
    instance = world(asking, DB, nodes=NODES)
    placement = placed(on("a", "n"), on("db", db_on))
    if runs:
        instance = world(asking, nodes=NODES, running=[(DB, on("db", db_on))])
        placement = placed(on("a", "n"))

    assert breaches(instance, placement) == ()
    assert dict(measure(instance, placement))[AFFINITY] == unmet


@pytest.mark.parametrize(
    ("shy", "new", "running", "unmet"),
    [
        pytest.param(1, 0, 0, 0, id="nobody else"),
        pytest.param(1, 0, 3, 3, id="one wish beside three that run"),
        pytest.param(2, 0, 0, 2, id="each of two meets the other"),
        pytest.param(4, 0, 0, 12, id="each of four meets three"),
        pytest.param(3, 2, 0, 12, id="each of three meets four; two wish for nothing"),
        pytest.param(2, 1, 1, 6, id="each of two meets three"),
        pytest.param(0, 3, 2, 0, id="who wishes for nothing meets nobody"),
    ],
)
def test_anti_affinity_counts_ordered_pairs(shy: int, new: int, running: int, unmet: int) -> None:
    """
    The wish of a new pod, and another pod that it means on its node: all are databases here.
    """
    pods = [
        *(app(f"shy-{i}", "db", FAR) for i in range(shy)),
        *(app(f"new-{i}", "db") for i in range(new)),
        app("elsewhere", "db", FAR),
    ]
    runs = [(app(f"runs-{i}", "db", FAR), on(f"runs-{i}", "n")) for i in range(running)]
    instance = world(*pods, nodes=NODES, running=runs)
    placement = placed(*(on(pod.name, "n") for pod in pods[:-1]), on("elsewhere", "m"))

    assert breaches(instance, placement) == ()
    assert dict(measure(instance, placement))[AFFINITY] == unmet


def test_what_is_lost_counts_times_the_weight() -> None:
    """
    Who would be apart loses it for each pod that it meets, who is alone loses it once.
    """
    far, near = replace(FAR, weight=10), replace(NEAR, weight=7)
    dbs = [app(f"db-{i}", "db") for i in range(4)]
    instance = world(app("a", "web", far), app("b", "web", near), *dbs, nodes=NODES)
    here = [on(name, "n") for name in ("a", "db-0", "db-1")]
    placement = placed(*here, on("b", "m"), on("db-2", "n"), on("db-3", "n"))

    assert dict(measure(instance, placement))[AFFINITY] == 4 * 10 + 7


def test_each_term_counts_the_pods_that_it_means() -> None:
    """
    Two databases are of tier x too, and another web is of that tier alone.
    """
    tier_x = replace(FAR, labels=(("tier", "x"),))
    asking = app("a", "web", FAR, tier_x)
    dbs = [app(f"db-{i}", "db") for i in range(2)]
    instance = world(asking, *dbs, app("b", "web"), nodes=NODES)
    placement = placed(*(on(name, "n") for name in ("a", "db-0", "db-1", "b")))

    assert dict(measure(instance, placement))[AFFINITY] == 2 + 3


def test_affinity_is_kept_by_one_pod_however_many_there_are() -> None:
    """
    By pairs it would pull everything together.
    """
    dbs = [app(f"db-{i}", "db") for i in range(3)]
    instance = world(app("a", "web", NEAR), *dbs, nodes=NODES)
    with_one = placed(on("a", "n"), on("db-0", "n"), on("db-1", "m"), on("db-2", "m"))

    assert dict(measure(instance, with_one))[AFFINITY] == 0


def test_wishes_of_running_pods_are_not_asked() -> None:
    """
    An instance in which only running pods wish for something has no such tier.
    """
    instance = world(DB, nodes=NODES, running=[(app("a", "web", NEAR), on("a", "n"))])

    assert AFFINITY not in dict(measure(instance, placed(on("db", "m"))))


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
