"""MIG instances: against brute force, and the traps of the table by hand."""

from dataclasses import replace

import pytest

from judge.cases_mig import asks_for, has
from judge.hand import node, world
from placer.judge.measure import measure
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance
from placer_models.goals import MIG_POINTS, USABLE
from placer_models.mig import TABLES
from placer_models.placement import GaveUp, Infeasible, PartlyPlaced, Placed, Placement
from placer_models.pod import Pod

ONE_GPU = replace(node(broken_gpus=[1, 2, 3]), mig=((0, "A100-40GB"),))
ENGINES = pytest.mark.parametrize("engine", [Engine.EXACT, Engine.GREEDY])


def placed(instance: Instance, engine: Engine) -> tuple[int, list[tuple[str, int]]]:
    """Return how many pods are placed, and all instances they have: type and minor."""
    answer = solve(instance, SolveOptions(engine=engine, workers=1))
    match answer:
        case Placed() | PartlyPlaced():
            pods = answer.placement.pods
            return len(pods), sorted((g.type, g.minor) for p in pods for g in p.devices)
        case Infeasible() | GaveUp():
            return 0, []


def several(number: int, **profile: int) -> list[Pod]:
    return [asks_for(f"p{i}", **profile) for i in range(number)]


@ENGINES
@pytest.mark.parametrize(
    ("profile", "most"),
    [("_1g_5gb", 7), ("_2g_10gb", 3), ("_3g_20gb", 2), ("_4g_20gb", 1), ("_7g_40gb", 1)],
)
def test_a_gpu_holds_so_many_of_a_profile(profile: str, most: int, engine: Engine) -> None:
    """
    Seven of 1g, three of 2g, two of 3g, one of 4g and of 7g; the next one has no place.
    """
    count, _ = placed(world(*several(most + 1, **{profile: 1}), nodes=[ONE_GPU]), engine)

    assert count == most


@ENGINES
def test_singles_leave_room_for_the_largest(engine: Engine) -> None:
    """
    Three of 1g go to the slices 4 to 6, so that 4g is still possible.
    """
    _, instances = placed(world(*several(3, _1g_5gb=1), nodes=[ONE_GPU]), engine)

    assert [minor for _, minor in instances] == [4, 5, 6]


@ENGINES
def test_large_instances_are_placed_before_small_ones(engine: Engine) -> None:
    """
    Three of 1g and one of 4g fill a GPU, whatever their order in the file.
    """
    pods = [*several(3, _1g_5gb=1), asks_for("large", _4g_20gb=1)]

    assert placed(world(*pods, nodes=[ONE_GPU]), engine)[0] == 4


@ENGINES
def test_one_3g_leaves_three_or_four_of_1g(engine: Engine) -> None:
    """
    At start 4 it takes slice 7, which no 1g can have, so four are left; at start 0 three.
    """
    pods = [asks_for("large", _3g_20gb=1), *several(4, _1g_5gb=1)]

    count, instances = placed(world(*pods, nodes=[ONE_GPU]), engine)

    assert count == 5
    assert ("mig-3g.20gb", 4) in instances


@ENGINES
def test_a_single_at_start_0_leaves_no_4g(engine: Engine) -> None:
    """
    It blocks the only start of 4g and one of 3g; the other 3g is left.
    """
    running = [(asks_for("r", _1g_5gb=1), has("r", ("1g.5gb", 0)))]
    large = world(asks_for("a", _4g_20gb=1), nodes=[ONE_GPU], running=running)
    small = world(*several(2, _3g_20gb=1), nodes=[ONE_GPU], running=running)

    assert placed(large, engine) == (0, [])
    assert placed(small, engine) == (1, [("mig-3g.20gb", 4)])


def test_why_there_is_no_room_is_named() -> None:
    """
    The reason is called as the rule is.
    """
    running = [(asks_for("r", _1g_5gb=1), has("r", ("1g.5gb", 0)))]
    answer = solve(world(asks_for("a", _4g_20gb=1), nodes=[ONE_GPU], running=running))

    assert isinstance(answer, Infeasible)
    assert answer.unplaced[0].reasons == (
        "not now: running pods leave no room (1 of 1 nodes: mig asks 1 mig-4g.20gb)",
    )


def test_what_a_gpu_could_be_cut_into_is_usable() -> None:
    """
    An empty one into 7 of 1g, 3 of 2g, 2 of 3g, one of 4g or of 7g: 30 compute slices.
    """
    cut = world(asks_for("a", _1g_5gb=1), nodes=[ONE_GPU])
    broken = world(
        asks_for("a", _1g_5gb=1), nodes=[replace(node(broken_gpus=[0, 1, 2, 3]), mig=ONE_GPU.mig)]
    )

    def points(instance: Instance) -> int:
        return dict(measure(instance, Placement()))[USABLE]

    assert points(cut) - points(broken) == 30 * MIG_POINTS


@pytest.mark.parametrize("table", TABLES)
def test_no_legal_set_of_instances_has_more_than_seven_compute_slices(table: str) -> None:
    """
    So compute slices need no rule of their own.
    """
    found = [(set(p.covers(s)), p.compute) for p in TABLES[table] for s in p.starts]

    def most(left: list[tuple[set[int], int]], taken: set[int]) -> int:
        return max(
            (
                compute + most(left[i + 1 :], taken | covers)
                for i, (covers, compute) in enumerate(left)
                if taken.isdisjoint(covers)
            ),
            default=0,
        )

    assert most(found, set()) == 7
