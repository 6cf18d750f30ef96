"""In what order running pods move."""

from collections.abc import Sequence
from dataclasses import replace
from random import Random

import pytest

from judge.hand import node, placed, pod, put, world
from placer.judge.breaches import breaches
from placer.search.move_order import with_moves_in_feasible_order
from placer_models.affinity import AffinityTerm
from placer_models.cluster import Instance, RunningPod
from placer_models.moves import moves_in_answer
from placer_models.placement import Placement
from placer_models.policy import QosClass


def three(names: Sequence[str]) -> Instance:
    """Return pods of those names that fill the CPUs of nodes l, m and n; a fourth is empty."""
    return replace(
        world(pod("large", 9), nodes=[node(name) for name in "lmno"]),
        running=tuple(
            RunningPod(pod(name, 9), put(name, "0-8", on=on))
            for name, on in zip(names, "lmn", strict=True)
        ),
        move_budget=3,
    )


def turns(instance: Instance, placement: Placement) -> list[str]:
    return [
        move.place.name
        for move in moves_in_answer(instance, with_moves_in_feasible_order(instance, placement))
    ]


@pytest.mark.parametrize("names", ["abc", "acb", "bac", "bca", "cab", "cba"])
def test_who_goes_to_a_free_place_goes_first(names: str) -> None:
    """
    The last one leaves to the empty node, then the second takes its place, then the first.
    """
    first, second, last = names
    instance = three(sorted(names))
    where = {r.pod.name: r.placement.node for r in instance.running}
    moved = placed(
        put("large", "0-8", on=where[first]),
        *(
            put(name, "0-8", on=to)
            for name, to in sorted(((first, where[second]), (second, where[last]), (last, "o")))
        ),
    )

    assert turns(instance, moved) == [last, second, first]
    assert with_moves_in_feasible_order(instance, moved).pods[0] == moved.pods[0]
    assert breaches(instance, with_moves_in_feasible_order(instance, moved)) == ()


def test_a_circle_comes_last() -> None:
    """
    Two that change places wait for each other; the third does not.
    """
    instance = three("abc")
    moved = placed(put("a", "0-8", on="m"), put("b", "0-8", on="l"), put("c", "0-8", on="o"))

    assert turns(instance, moved) == ["c", "a", "b"]


def test_on_its_own_node_a_pod_is_not_in_its_own_way() -> None:
    """
    It takes half of what it had, and so makes room for the other one.
    """
    runners = [
        RunningPod(pod("a", 2), put("a", "0-1", on="m")),
        RunningPod(pod("b", 4), put("b", "0-3")),
    ]
    instance = replace(
        world(pod("c", 1), nodes=[node(), node("m")]), running=tuple(runners), move_budget=2
    )

    assert turns(instance, placed(put("a", "0-1"), put("b", "2-5"))) == ["b", "a"]


def test_shared_pods_need_their_pool() -> None:
    """
    An LS pod comes to a node once the owner of its CPUs has left.
    """
    runners = [
        RunningPod(pod("a", 8, qos=QosClass.LS), put("a", "0-8", on="m")),
        RunningPod(pod("b", 4), put("b", "0-3")),
    ]
    instance = replace(
        world(pod("c", 1), nodes=[node(), node("m"), node("o")]),
        running=tuple(runners),
        move_budget=2,
    )

    assert turns(instance, placed(put("a", "0-8"), put("b", "0-3", on="o"))) == ["b", "a"]


def test_who_needs_company_may_come_before_it() -> None:
    """
    Its place is free; that the other one comes as well is seen to by the answer.
    """
    needy = pod("a", 1, affinity=[AffinityTerm((("app", "db"),))])
    runners = [
        RunningPod(needy, put("a", "0")),
        RunningPod(pod("b", 1, labels={"app": "db"}), put("b", "2")),
    ]
    instance = replace(
        world(pod("c", 9), nodes=[node(), node("m")]), running=tuple(runners), move_budget=2
    )

    assert turns(instance, placed(put("a", "0", on="m"), put("b", "2", on="m"))) == ["a", "b"]


def test_each_pod_of_many_finds_its_place_free_and_only_circles_are_left() -> None:
    """
    Pods of a core each change places at random; who could go first is found by sets of cores.
    """
    cores = [(on, cpus) for on in "nmo" for cpus in ("0-1", "2-3", "4-5", "6-7")]
    circles = 0
    for seed in range(40):
        rng = Random(seed)
        homes, targets = (dict(zip("abcdefghij", rng.sample(cores, 10), strict=True)) for _ in "ht")
        instance = replace(
            world(pod("c", 1), nodes=[node(name) for name in "nmo"]),
            running=tuple(
                RunningPod(pod(name, 2), put(name, cpus, on=on))
                for name, (on, cpus) in homes.items()
            ),
            move_budget=10,
        )
        moved = placed(*(put(name, cpus, on=on) for name, (on, cpus) in targets.items()))

        found = turns(instance, moved)

        free = {*cores} - {*homes.values()}
        left = [*found]
        while left and targets[left[0]] in free | {homes[left[0]]}:
            free = (free | {homes[left[0]]}) - {targets[left[0]]}
            del left[0]
        assert sorted(found) == sorted(homes)
        assert not any(targets[name] in free | {homes[name]} for name in left)
        circles += bool(left)
    assert 0 < circles < 40


def test_a_device_memory_and_pages_are_free_before_they_are_taken() -> None:
    """
    Two pods of the shared pool change nodes with a third: whoever holds the GPU, or all of the
    memory, leaves first.
    """
    for amount in ({"gpus": 1}, {"memory": 4}):
        held = {"gpus": [0]} if "gpus" in amount else {"memory": {0: 4}}
        runners = [
            RunningPod(pod(name, 1, qos=QosClass.LS, **amount), put(name, "0-8", on=on, **held))
            for name, on in (("a", "m"), ("b", "n"))
        ]
        instance = replace(
            world(pod("c", 1), nodes=[node(name) for name in "nmo"]),
            running=tuple(runners),
            move_budget=2,
        )
        moved = placed(put("a", "0-8", **held), put("b", "0-8", on="o", **held))

        assert turns(instance, moved) == ["b", "a"]
