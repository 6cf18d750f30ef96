"""The order of CPU sets: at no step is an exclusive CPU in two places."""

from random import Random

import pytest

from placer.node.cpu_order import (
    ContainerCpuMove,
    NoCpusetStepOrderError,
    cpu_handover_steps,
    qos_classes_may_not_share_cpu,
)
from placer_models.cpuset import CpuSet, parse_cpu_list
from placer_models.policy import QosClass

LSE, LSR, LS, BE = QosClass.LSE, QosClass.LSR, QosClass.LS, QosClass.BE


def holder(name: str, qos: QosClass, now: str, goal: str, **more: bool) -> ContainerCpuMove:
    """A container by its lists of CPUs."""
    return ContainerCpuMove(name, name, qos, parse_cpu_list(now), parse_cpu_list(goal), **more)


def order(holders: list[ContainerCpuMove], shared: str = "") -> list[tuple[str, str]]:
    """Who gets what, in order."""
    steps = cpu_handover_steps(holders, parse_cpu_list(shared))
    return [(holders[i].name, ",".join(map(str, sorted(cpus)))) for i, cpus, _ in steps]


def test_who_has_its_cpus_gets_no_step() -> None:
    """
    Nothing is written where nothing is to change.
    """
    assert order([holder("a", LSE, "0-1", "0-1"), holder("p", LS, "2-3", "2-3")], "2-3") == []


def test_the_pool_shrinks_before_an_owner_grows() -> None:
    """
    A new owner gets its CPUs once the pool has left them.
    """
    holders = [holder("a", LSR, "", "0-1"), holder("p", LS, "0-3", "2-3")]

    assert order(holders, "2-3") == [("p", "2,3"), ("a", "0,1")]


def test_the_pool_grows_after_an_owner_has_left() -> None:
    """
    What an owner leaves is shared once it has shrunk.
    """
    holders = [holder("p", LS, "3", "1-3"), holder("a", LSE, "0-2", "0")]

    assert order(holders, "1-3") == [("a", "0"), ("p", "1,2,3")]


def test_losers_shrink_before_winners_grow() -> None:
    """
    Two owners that each give the other a CPU keep the one that stays theirs.
    """
    holders = [holder("a", LSE, "0-1", "1-2"), holder("b", LSE, "2-3", "0,3")]

    assert order(holders) == [("a", "1"), ("b", "3"), ("a", "1,2"), ("b", "0,3")]


def test_a_chain_moves_from_its_free_end() -> None:
    """
    Who waits for another comes after it.
    """
    holders = [holder("a", LSE, "0", "1"), holder("b", LSE, "1", "2"), holder("c", LSE, "2", "3")]

    assert order(holders) == [("c", "3"), ("b", "2"), ("a", "1")]


def test_in_a_circle_one_is_parked_on_the_shared_pool() -> None:
    """
    Owners that change places need a third place for one of them.
    """
    holders = [
        holder("a", LSE, "0", "1"),
        holder("b", LSE, "1", "0"),
        holder("p", LS, "2-3", "2-3"),
    ]

    assert order(holders, "2-3") == [("a", "2,3"), ("b", "0"), ("a", "1")]


def test_without_a_shared_cpu_a_circle_has_no_order() -> None:
    """
    No shared CPU, no way: this is said before anything is written.
    """
    holders = [holder("a", LSE, "0", "1"), holder("b", LSE, "1", "0")]

    with pytest.raises(NoCpusetStepOrderError, match="a, b wait for each other's CPUs"):
        order(holders)


def test_a_pool_and_an_owner_that_change_places_need_a_shared_cpu() -> None:
    """
    What an owner has now is no CPU to be parked on: the pool would come to it.
    """
    holders = [holder("a", LSE, "0", "1"), holder("p", LS, "1", "0")]

    with pytest.raises(NoCpusetStepOrderError, match="wait for each other"):
        order(holders, "0")


def test_who_stays_is_waited_for_in_vain() -> None:
    """
    A container that somebody else writes keeps its CPUs, so nobody gets them.
    """
    holders = [holder("a", LSE, "0", "1"), holder("b", LS, "1", "0", fixed=True)]

    with pytest.raises(NoCpusetStepOrderError, match="a waits for CPUs 1, on which b is and stays"):
        order(holders, "0")


def test_best_effort_may_stay_where_an_lsr_pod_comes() -> None:
    """
    BE pods share the CPUs of LSR pods, not those of LSE pods (C4).
    """
    assert order([holder("a", LSR, "", "0"), holder("b", BE, "0-1", "0-1")], "1") == [("a", "0")]
    assert order([holder("a", LSE, "", "0"), holder("b", BE, "0-1", "1")], "1") == [
        ("b", "1"),
        ("a", "0"),
    ]


def test_containers_of_one_pod_do_not_wait_for_each_other() -> None:
    """
    An init container runs on all CPUs of its pod, which its app containers get.
    """
    init = ContainerCpuMove("init", "pod", LSE, parse_cpu_list("0-1"), parse_cpu_list("2-3"))
    app = ContainerCpuMove("app", "pod", LSE, parse_cpu_list("0"), parse_cpu_list("2"))

    assert order([app, init]) == [("app", "2"), ("init", "2,3")]


def a_state(rng: Random, pods: list[tuple[str, QosClass]], cpus: int) -> list[CpuSet]:
    """CPUs for each pod that keep exclusivity; owners have a few, pools the rest."""
    ids = rng.sample(range(cpus), cpus)
    shared = frozenset(ids[: rng.randint(1, 3)])
    left = ids[len(shared) :]
    sets: list[CpuSet] = []
    for _, qos in pods:
        if qos.owns_cpus:
            size = rng.randint(1, 3) if rng.random() < 0.9 else 0
            sets.append(frozenset(left[:size]))
            left = left[size:]
        else:
            sets.append(shared)
    return sets


def check_every_step(seed: int) -> bool:
    """Follow the steps of a random transition; return whether there is an order."""
    rng = Random(seed)
    pods = [(f"p{i}", rng.choice([LSE, LSR, LSE, LSR, LS, BE])) for i in range(rng.randint(2, 6))]
    cpus = 3 * len(pods) + 3
    now, goal = a_state(rng, pods, cpus), a_state(rng, pods, cpus)
    holders = [
        ContainerCpuMove(name, name, qos, a, b or a if qos.owns_cpus and not b else b)
        for (name, qos), a, b in zip(pods, now, goal, strict=True)
        if b
    ]
    shared = next((h.goal for h in holders if not h.qos.owns_cpus), frozenset())
    try:
        steps = cpu_handover_steps(holders, shared)
    except NoCpusetStepOrderError:
        return False
    has = [h.now for h in holders]
    for step in steps:
        me = holders[step.holder]
        assert step.cpus != has[step.holder], "a step changes something"
        assert step.cpus, "a container always has a CPU"
        has[step.holder] = step.cpus
        for i, one in enumerate(holders):
            for j, two in enumerate(holders[:i]):
                at_home = [
                    has[k] <= h.now or has[k] <= h.goal
                    for k, h in ((i, one), (j, two))
                    if h.qos.owns_cpus
                ]
                if qos_classes_may_not_share_cpu(one.qos, two.qos) and all(at_home):
                    assert not has[i] & has[j], (seed, me.name, one, two)
    assert has == [h.goal for h in holders]
    assert len(steps) <= 3 * len(holders)
    return True


@pytest.mark.parametrize("first", range(0, 400, 100))
def test_no_exclusive_cpu_is_ever_in_two_places(first: int) -> None:
    """
    Whatever changes into whatever: owners are alone, nobody is on nothing, all get there.
    """
    found = [check_every_step(seed) for seed in range(first, first + 100)]

    assert sum(found) > 60
