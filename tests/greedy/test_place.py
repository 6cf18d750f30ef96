"""Batches: gangs, groups, priorities, time."""

from dataclasses import replace

import pytest

from greedy.small import Numa, faults, gang, instance, links_of, machine, realised, spec
from judge import hand
from judge.cases_mig import CUT, asks_for
from placer.greedy.gang_order import (
    gang_pods_most_demanding_first,
    largest_gang_first_key,
    most_value_gang_first_key,
)
from placer.greedy.place import place_greedily
from placer.judge.measure import measure
from placer.state.batch import build_problem
from placer_models.cluster import Instance
from placer_models.device import GPU
from placer_models.pod import GangGroup, PodSpec
from placer_models.policy import QosClass
from worlds import tiny_instance

GPUS_8 = machine(Numa(gpus=8))
GPUS_4 = machine(Numa(gpus=4))


def gpus(number: int) -> PodSpec:
    return spec(gpus=number, qos=QosClass.LS)


def placed(world: Instance) -> list[str]:
    """Return the names of the pods that are placed; every rule is kept."""
    choices = place_greedily(build_problem(world))
    assert faults(world, choices) == ()
    return [pod.name for pod in realised(world, choices).pods]


@pytest.mark.parametrize("batch", range(4))
def test_no_answer_breaks_a_rule(batch: int) -> None:
    """
    Every tiny world's answer becomes ids, and the judge finds nothing.
    """
    for seed in range(250 * batch, 250 * (batch + 1)):
        world = tiny_instance(seed)

        assert faults(world, place_greedily(build_problem(world))) == ()


@pytest.mark.slow
@pytest.mark.parametrize("first", range(10_000, 30_000, 1_000))
def test_no_answer_breaks_a_rule_however_long_one_looks(first: int) -> None:
    """
    The same for many more worlds.
    """
    for seed in range(first, first + 1_000):
        world = tiny_instance(seed)

        assert faults(world, place_greedily(build_problem(world))) == ()


def test_a_gang_has_its_minimum_or_nothing() -> None:
    """
    Three of four members fit: enough for a minimum of three, nothing for four (G1).
    """
    members = [gpus(2)] * 4
    node = machine(Numa(gpus=7))

    assert len(placed(instance([node], gang("a", *members, minimum=3)))) == 3
    assert placed(instance([node], gang("a", *members))) == []


def test_a_gang_that_fails_leaves_no_trace() -> None:
    """
    The gang of nine GPUs takes eight and then gives them all back.
    """
    world = instance([GPUS_8], gang("a", *[gpus(1)] * 9), gang("b", gpus(8)))

    assert placed(world) == ["b-0"]


def test_a_group_is_placed_whole_or_not_at_all() -> None:
    """
    Prefill fits, decode does not: neither is placed, and another gang has the room (G1).
    """
    pair = (gang("prefill", gpus(4)), gang("decode", gpus(8)))
    keys = tuple(each.key for each in pair)
    world = instance([GPUS_8], *pair, gang("other", gpus(1)))
    apart = placed(world)
    grouped = placed(replace(world, groups=(GangGroup("g", "default", keys),)))

    assert "decode-0" in apart or "prefill-0" in apart
    assert grouped == ["other-0"]


def test_the_gangs_of_a_group_are_tried_in_both_orders() -> None:
    """
    The larger gang likes the node with fast links, but so the other finds no CPUs.
    """
    fast = machine(Numa(cores=(2,) * 5, gpus=2), links=links_of([[0, 9], [9, 0]]))
    slow = machine(Numa(cores=(2,), gpus=2), links=links_of([[0, 5], [5, 0]]))
    pair = (gang("pair", gpus(2)), gang("picky", spec(8, gpus=1)))
    group = GangGroup("g", "default", tuple(each.key for each in pair))

    assert len(placed(replace(instance([fast, slow], *pair), groups=(group,)))) == 2


def test_two_groups_that_wait_for_each_other_do_not_deadlock() -> None:
    """
    Half of each of two groups would fill the cluster; one whole group is placed.
    """
    gangs = [gang(name, gpus(4)) for name in ("a1", "a2", "b1", "b2")]
    groups = tuple(
        GangGroup(name, "default", tuple(g.key for g in gangs if g.name[0] == name))
        for name in ("a", "b")
    )
    world = replace(instance([GPUS_8], *gangs), groups=groups)

    assert placed(world) == ["a1-0", "a2-0"]


def test_the_higher_priority_wins_whatever_the_lower_offers() -> None:
    """
    One important pod is worth more than eight others (G5).
    """
    few = gang("vip", gpus(8), priority=1)
    many = [gang(f"g{i}", gpus(1), weight=100) for i in range(8)]

    assert placed(instance([GPUS_8], *many, few)) == ["vip-0"]


def test_minima_come_before_members_above_them() -> None:
    """
    Two elastic gangs share eight GPUs: one cannot grow at the price of the other.
    """
    one = gang("one", *[gpus(1)] * 8, minimum=4)
    two = gang("two", *[gpus(1)] * 8, minimum=4)

    assert len(placed(instance([GPUS_8], one, two))) == 8
    assert len({name[:3] for name in placed(instance([GPUS_8], one, two))}) == 2


def test_elastic_gangs_grow_where_room_is_left() -> None:
    """
    The minimum is two; five more GPUs are free, so five more members run.
    """
    assert len(placed(instance([machine(Numa(gpus=7))], gang("a", *[gpus(1)] * 9, minimum=2)))) == 7


def test_small_members_make_the_minimum_where_large_ones_cannot() -> None:
    """
    The largest member first would take all; the three small ones are enough.
    """
    members = [gpus(8), gpus(1), gpus(1), gpus(1)]

    assert len(placed(instance([GPUS_8], gang("a", *members, minimum=3)))) == 3


def test_many_small_pods_win_over_a_large_one_of_equal_weight() -> None:
    """
    Large first places one pod; the second order tried places four.
    """
    small = [gang(f"s{i}", gpus(2)) for i in range(4)]

    assert len(placed(instance([GPUS_8], gang("large", gpus(8)), *small))) == 4


def test_the_most_valuable_for_their_size_are_tried_too() -> None:
    """
    Six GPUs first, or five: one pod runs. Four and four: two do.
    """
    gangs = [gang(name, gpus(number)) for name, number in zip("abcd", (6, 5, 4, 4), strict=True)]

    assert placed(instance([GPUS_8], *gangs)) == ["c-0", "d-0"]


def test_what_found_no_place_is_tried_first() -> None:
    """
    The pair likes the fast links of the only node that has CPUs for the other pod. It
    also comes first by size, and by value for its size; only asking anew places both.
    """
    fast = machine(Numa(cores=(2,) * 5, gpus=2), links=links_of([[0, 9], [9, 0]]))
    slow = machine(Numa(cores=(2,), gpus=2), links=links_of([[0, 5], [5, 0]]))
    picky = spec(8, gpus=1)

    assert len(placed(instance([fast, slow], gang("pair", gpus(2)), gang("picky", picky)))) == 2


def test_a_worse_order_tried_later_changes_nothing() -> None:
    """
    The large gang is worth more than the small one, which has more value for its size.
    """
    large = gang("large", gpus(8), weight=10)

    assert placed(instance([GPUS_8], large, gang("small", gpus(1), weight=2))) == ["large-0"]


def test_room_above_the_minima_goes_to_the_heavier_gang() -> None:
    """
    Both gangs have their minimum; the two GPUs that are left are worth more to one.
    """
    light = gang("light", *[gpus(1)] * 5, minimum=3)
    heavy = gang("heavy", *[gpus(1)] * 5, minimum=3, weight=10)
    names = placed(instance([GPUS_8], light, heavy))

    assert [name.startswith("heavy") for name in names].count(True) == 5


def test_a_heavy_gang_wins_over_a_light_one() -> None:
    """
    The same four GPUs, ten times the weight.
    """
    light = gang("light", gpus(4))
    heavy = gang("heavy", gpus(4), weight=10)

    assert placed(instance([GPUS_4], light, heavy)) == ["heavy-0"]


def test_a_gathered_gang_is_on_one_node() -> None:
    """
    Five GPUs in all are free, but only the second node has three of them.
    """
    world = instance([machine(Numa(gpus=2)), machine(Numa(gpus=3))])
    world = replace(world, gangs=(gang("a", *[gpus(1)] * 3, gathered=True),))
    nodes = {pod.node for pod in realised(world, place_greedily(build_problem(world))).pods}

    assert len(placed(world)) == 3
    assert nodes == {"n1"}


def test_a_gathered_gang_goes_where_most_of_it_fits() -> None:
    """
    Two members would do, but the larger node has room for four.
    """
    world = instance([machine(Numa(gpus=2)), GPUS_4])
    world = replace(world, gangs=(gang("a", *[gpus(1)] * 6, minimum=2, gathered=True),))

    assert len(placed(world)) == 4


def test_small_members_gather_where_large_ones_leave_no_room() -> None:
    """
    The member of eight GPUs alone is less than the minimum of three.
    """
    members = [gpus(8), gpus(1), gpus(1), gpus(1)]

    assert len(placed(instance([GPUS_8], gang("a", *members, minimum=3, gathered=True)))) == 3


def test_a_gathered_gang_is_as_hard_to_place_as_one_pod_of_its_size() -> None:
    """
    Four members of two GPUs on one node come before a pod of four GPUs.
    """
    gangs = (gang("one", gpus(4)), gang("four", *[gpus(2)] * 4, gathered=True))
    problem = build_problem(instance([GPUS_8], *gangs))

    assert min(problem.gangs, key=largest_gang_first_key(problem)) == problem.gangs[1]


def test_a_gathered_gang_shares_the_best_gpus_of_the_node() -> None:
    """
    GPUs 1, 2 and 3 are linked with each other, and so is each member's own pair or one (D8).
    """
    rows = [[0, 1, 1, 1], [1, 0, 9, 9], [1, 9, 0, 9], [1, 9, 9, 0]]
    node = machine(Numa(gpus=4), links=links_of(rows))
    world = instance([node], gang("a", gpus(1), gpus(1), gpus(1), gathered=True))
    choices = place_greedily(build_problem(world))
    minors = {m for pod in realised(world, choices).pods for m in pod.minors(GPU)}

    assert minors == {1, 2, 3}
    values = {tier.name: value for tier, value in measure(world, realised(world, choices))}
    assert values["links.gang-sum"] == 0


def test_the_order_of_gangs_can_be_chosen() -> None:
    """
    By value for its size, the small gang comes before the large one.
    """
    problem = build_problem(instance([GPUS_8], gang("large", gpus(8)), gang("small", gpus(1))))

    assert min(problem.gangs, key=most_value_gang_first_key(problem)) == problem.gangs[1]
    assert set(place_greedily(problem, order=most_value_gang_first_key)) == {1}


def test_the_answer_is_the_same_every_time() -> None:
    """
    Nothing is drawn, so nothing changes from run to run.
    """
    problem = build_problem(tiny_instance(5))

    assert place_greedily(problem) == place_greedily(problem)


def test_a_large_instance_of_a_gpu_is_placed_before_a_small_one() -> None:
    """
    Both are one device each; the larger one has more memory slices.
    """
    small, large = asks_for("small", _1g_5gb=1), asks_for("large", _7g_40gb=1)
    problem = build_problem(hand.world(small, large, nodes=[CUT]))

    assert gang_pods_most_demanding_first(problem, [0, 1]) == [1, 0]
