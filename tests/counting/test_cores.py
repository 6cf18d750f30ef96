"""Counts of whole cores and single threads become CPU ids."""

from hypothesis import given
from hypothesis import strategies as st

from mixed_worlds import mixed_instance
from placer.counting.account import account_of, accounts_of
from placer.counting.cores import (
    FreeCore,
    PodCoresToAssign,
    core_count_for_leftover_threads,
    pick_cpus,
)
from placer.scheduler import Scheduler
from placer_models.cluster import Instance, Node, RunningPod
from placer_models.policy import QosClass
from placer_models.problem.node_state import CoreClass
from placer_models.problem.problem import CoreTake
from scheduler.cluster import BOX, DEADLINE_S, QUICK, batch, pod
from worlds import tiny_instance


def cores(count: int, free: int) -> list[FreeCore]:
    return [FreeCore(i, tuple(range(i * free, (i + 1) * free))) for i in range(count)]


def picked(
    count: int, free: int, *wants: PodCoresToAssign, threads: int | None = None
) -> list[list[int]]:
    found = pick_cpus(CoreClass(0, count, threads or free, free), cores(count, free), wants)
    assert found is not None
    return found


def together(threads: int, touched: int = 1) -> PodCoresToAssign:
    return PodCoresToAssign(CoreTake(0, threads, touched), spread=False)


def apart(threads: int, touched: int) -> PodCoresToAssign:
    return PodCoresToAssign(CoreTake(0, threads, touched), spread=True)


@st.composite
def promises(draw: st.DrawFn) -> tuple[CoreClass, list[PodCoresToAssign]]:
    """Draw a class and wants that fit by counts."""
    free = draw(st.integers(1, 4))
    found = CoreClass(0, draw(st.integers(1, 7)), draw(st.integers(free, 4)), free)
    wants: list[PodCoresToAssign] = []
    for _ in range(draw(st.integers(1, 5))):
        threads = draw(st.integers(0, 6))
        touched = draw(st.integers(min(1, threads), min(threads, found.cores)))
        whole = draw(st.integers(0, 3))
        more = [*wants, PodCoresToAssign(CoreTake(whole, threads, touched), draw(st.booleans()))]
        if fits(found, more):
            wants = more
    return found, wants


def fits(found: CoreClass, wants: list[PodCoresToAssign]) -> bool:
    return sum(w.take.whole for w in wants) + broken(found, wants) <= found.cores


def broken(found: CoreClass, wants: list[PodCoresToAssign]) -> int:
    threads = sum(want.take.threads for want in wants)
    touched = max((want.take.touched for want in wants), default=0)
    return core_count_for_leftover_threads(found.free, threads, touched)


@given(promises())
def test_counts_that_fit_always_become_ids(case: tuple[CoreClass, list[PodCoresToAssign]]) -> None:
    """
    Whatever fits by counts gets CPUs: as many as asked for, no CPU twice, on as many
    cores as promised, and no more cores are touched altogether than the counts said.
    """
    found, wants = case
    owned = pick_cpus(found, cores(found.cores, found.free), wants)

    assert owned is not None
    sizes = [want.take.whole * found.free + want.take.threads for want in wants]
    assert [len(cpus) for cpus in owned] == sizes
    everything = [cpu for cpus in owned for cpu in cpus]
    assert len(set(everything)) == len(everything)
    for cpus, want in zip(owned, wants, strict=True):
        whole = want.take.whole
        on = [cpu // found.free for cpu in cpus]
        full = sum(on.count(core) == found.free for core in set(on))
        assert full >= (whole if found.free > 1 else 0)
        if want.spread:
            assert len(set(on)) >= whole + want.take.touched
    touched = {cpu // found.free for cpu in everything}
    assert len(touched) <= sum(w.take.whole for w in wants) + broken(found, wants)


def test_one_core_too_few_is_refused() -> None:
    """
    Two whole cores and a thread need three cores.
    """
    wants = [PodCoresToAssign(CoreTake(2, 1, 1), spread=False)]

    assert pick_cpus(CoreClass(0, 2, 2, 2), cores(2, 2), wants) is None
    assert pick_cpus(CoreClass(0, 3, 2, 2), cores(3, 2), wants) is not None


def test_pods_that_spread_share_cores_with_each_other() -> None:
    """
    Two pods of three threads, each on three cores, fit on three cores of two threads.
    """
    first, second = picked(3, 2, apart(3, 3), apart(3, 3))

    assert {cpu // 2 for cpu in first} == {cpu // 2 for cpu in second} == {0, 1, 2}


def test_threads_that_fill_a_core_become_a_whole_core() -> None:
    """
    Of two single threads each, the pods would get a core each; no thread is shared.
    """
    first, second = picked(2, 2, together(2), together(2))

    assert sorted(first) == [0, 1]
    assert sorted(second) == [2, 3]


def test_a_whole_core_is_not_made_where_others_need_to_touch_it() -> None:
    """
    One pod must touch both cores, so the other shares both with it.
    """
    first, second = picked(2, 2, together(2), apart(2, 2))

    assert {cpu // 2 for cpu in second} == {0, 1}
    assert len(first) == 2


def test_threads_of_broken_cores_never_count_as_a_whole_core() -> None:
    """
    Of cores with two of four threads free, two threads stay single threads.
    """
    (cpus,) = picked(2, 2, together(2), threads=4)

    assert sorted(cpus) == [0, 1]


def test_large_pods_start_at_the_caches_own_borders() -> None:
    """
    The pod of four cores gets the first four, though the pod of one core came first.
    """
    small, large = picked(
        8, 2, PodCoresToAssign(CoreTake(1), False), PodCoresToAssign(CoreTake(4), False)
    )

    assert sorted(large) == list(range(8))
    assert sorted(small) == [8, 9]


def test_nodes_that_share_what_is_left_of_cores_are_counted_as_each_by_itself() -> None:
    """
    In worlds of both kinds.
    """
    for seed in range(40):
        for world in (tiny_instance(seed), mixed_instance(seed)):
            accounts = accounts_of(world)
            for node, account in zip(world.nodes, accounts, strict=True):
                here = [one for one in world.running if one.placement.node == node.name]

                assert account == account_of(node, here)


def test_nodes_with_pods_of_the_shared_pool_alone_share_what_is_left_of_cores() -> None:
    """
    Of three nodes of a machine two run LS pods, and one an LSR pod, which owns CPUs.
    """
    nodes = tuple(Node(f"n{i}", BOX) for i in range(3))
    running: list[RunningPod] = []
    for node, qos in zip(nodes, (QosClass.LS, QosClass.LS, QosClass.LSR), strict=True):
        alone = Scheduler([node])
        alone.place(batch(pod(node.name, 2, qos, gib=1)), DEADLINE_S, options=QUICK)
        running += alone.running_on(node.name)

    first, second, third = accounts_of(Instance(nodes, (), running=tuple(running)))

    assert first.cores is second.cores
    assert len(first.cores.free_cpus) == len(third.cores.free_cpus) + 2
