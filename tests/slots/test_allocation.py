"""Slots on workers: never more new workers than a peer starts, and provably the fewest (F27)."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from placer.slots.resources import (
    UNKNOWN,
    ResourceProfile,
    SlotResourceAmounts,
    merge_all_resource_profiles,
    multiplied_resource_profile,
    subtract_resource_profile,
)
from placer.slots.workers.allocate import allocate_slots, allocate_slots_in_order
from placer.slots.workers.default_slots import worker_spec
from placer.slots.workers.model import (
    DataflowWorkers,
    NeededSlotsOfOneSize,
    RequestedWorker,
    SlotAllocationResult,
    SlotsGrantedOnWorker,
    SlotsNeededByJob,
    Worker,
    WorkerMatchingStrategy,
    WorkerReserve,
)
from slots.clusters import amounts, jobs, workers
from slots.job_files import Row, row_id, rows

ROWS = rows("allocation.json")
GIB = 2**30


@pytest.mark.parametrize("row", ROWS, ids=row_id)
def test_slots_in_order_go_where_the_peer_puts_them(row: Row) -> None:
    """
    The same slots on the same workers, and as many new ones; ties may fall otherwise.
    """
    found = allocate_slots_in_order(
        workers(row), jobs(row), WorkerMatchingStrategy(row["matching"])
    )

    assert found.new_workers == row["new"]
    if "registeredGrants" in row:
        assert counted(found.on_registered) == peers(row["registeredGrants"])
        assert counted(found.on_pending) == peers(row["pendingGrants"])


@pytest.mark.parametrize("row", ROWS, ids=row_id)
def test_no_fewer_workers_would_do(row: Row) -> None:
    """
    As few new workers as the proven optimum, and never more than the peer starts.
    """
    found = allocate_slots(workers(row), jobs(row))

    assert found.proven
    assert found.new_workers <= row["new"]
    assert found.new_workers == row.get("optimum", found.new_workers)
    assert_all_served(found, workers(row), jobs(row))


def test_the_rows_save_an_eighth_of_the_workers() -> None:
    """
    Over the rows whose optimum is known the peer starts 245 workers, and 214 do.
    """
    known = [row for row in ROWS if "optimum" in row]
    peer = sum(row["new"] for row in known)
    ours = sum(allocate_slots(workers(row), jobs(row)).new_workers for row in known)

    assert (len(known), peer, ours) == (52, 245, 214)


def counted(
    grants: Iterable[SlotsGrantedOnWorker],
) -> Counter[tuple[int, str, SlotResourceAmounts]]:
    found: Counter[tuple[int, str, SlotResourceAmounts]] = Counter()
    for grant in grants:
        found[grant.worker, grant.job, grant.slot] += grant.count
    return found


def peers(grants: list[Any]) -> Counter[tuple[int, str, SlotResourceAmounts]]:
    found: Counter[tuple[int, str, SlotResourceAmounts]] = Counter()
    for worker, job, slots in grants:
        for slot, count in slots:
            found[worker, job, amounts(slot)] += count
    return found


def assert_all_served(
    found: SlotAllocationResult, there: DataflowWorkers, asked: list[SlotsNeededByJob]
) -> None:
    """Check that each job has its slots, and no worker more of them than it has room."""
    given = Counter[str]()
    for grant in (*found.on_registered, *found.on_pending):
        given[grant.job] += grant.count
    served = [job for job in asked if job.job not in found.unfulfillable]
    wanted = Counter({job.job: sum(need.count for need in job.needs) for job in served})
    assert +given == +wanted
    pending = [worker.total for worker in there.pending] + [there.spec.total] * found.new_workers
    for i, worker in enumerate(there.registered):
        room = SlotResourceAmounts() if worker.blocked else worker.available
        subtract_resource_profile(
            room, taken(g for g in found.on_registered if g.worker == i)
        )  # or refuses it
    for i, total in enumerate(pending):
        subtract_resource_profile(total, taken(g for g in found.on_pending if g.worker == i))


def taken(grants: Iterable[SlotsGrantedOnWorker]) -> ResourceProfile:
    return merge_all_resource_profiles(
        multiplied_resource_profile(grant.slot, grant.count) for grant in grants
    )


def heap(size_gib: int) -> SlotResourceAmounts:
    return SlotResourceAmounts(cpu_e8=1, heap_bytes=size_gib * GIB)


def job(name: str, *sizes: int) -> SlotsNeededByJob:
    return SlotsNeededByJob(name, tuple(NeededSlotsOfOneSize(heap(size), 1) for size in sizes))


TEN = worker_spec(SlotResourceAmounts(cpu_e8=100, heap_bytes=10 * GIB), slots=2)


def test_two_pairs_share_two_workers() -> None:
    """
    Slots of 3, 3, 7 and 7 GiB in this order take three workers of 10; two are enough.
    """
    asked = [job("j", 3, 3, 7, 7)]

    assert allocate_slots_in_order(DataflowWorkers(TEN), asked).new_workers == 3
    found = allocate_slots(DataflowWorkers(TEN), asked)
    assert (found.new_workers, found.proven) == (2, True)


def test_a_job_that_no_worker_can_hold_leaves_the_others_alone() -> None:
    """
    11 GiB fit no new worker of 10. The job is named, takes nothing, and hinders nobody.
    """
    found = allocate_slots(DataflowWorkers(TEN), [job("a", 6), job("b", 1, 11), job("c", 4)])

    assert found.unfulfillable == ("b",)
    assert found.new_workers == 1
    assert {grant.job for grant in found.on_pending} == {"a", "c"}


def test_a_large_slot_goes_where_only_it_fits() -> None:
    """
    A running worker of 12 GiB is kept for the 11 GiB that no new worker could take.
    """
    large = SlotResourceAmounts(cpu_e8=100, heap_bytes=12 * GIB)
    there = DataflowWorkers(TEN, (Worker(large, large, TEN.default_slot),))

    found = allocate_slots(there, [job("a", 5, 5), job("b", 11), job("c", 11)])

    assert (found.new_workers, found.unfulfillable) == (1, ("c",))
    assert [(grant.job, grant.worker) for grant in found.on_registered] == [("b", 0)]


def test_an_unknown_need_takes_the_workers_own_default_slot() -> None:
    """
    The same request is served by 5 GiB on a new worker and by 2 GiB on one that has such slots.
    """
    small = Worker(heap(10), heap(2), default_slot=heap(2))

    found = allocate_slots(
        DataflowWorkers(TEN, (small,)), [SlotsNeededByJob("j", (NeededSlotsOfOneSize(UNKNOWN, 3),))]
    )

    assert [(g.slot, g.count) for g in found.on_registered] == [(heap(2), 1)]
    assert [(g.slot, g.count) for g in found.on_pending] == [(TEN.default_slot, 2)]
    assert (found.new_workers, found.proven) == (1, True)


def test_the_reserve_comes_on_top() -> None:
    """
    One worker free as redundancy, and 300 e-8 CPUs in total: two more than the job needs.
    """
    asked = [job("j", 10)]

    assert (
        allocate_slots(
            DataflowWorkers(TEN, reserve=WorkerReserve(redundant_workers=1)), asked
        ).new_workers
        == 2
    )
    found = allocate_slots(DataflowWorkers(TEN, reserve=WorkerReserve(1, min_cpu_e8=300)), asked)
    assert (found.new_workers, found.proven) == (3, True)
    least = WorkerReserve(min_memory_bytes=41 * GIB)
    assert allocate_slots(DataflowWorkers(TEN, reserve=least), asked).new_workers == 5


def test_the_bound_counts_the_reserve_where_default_slots_differ() -> None:
    """
    Two default slots fill the running worker of small ones. To put them onto a new worker
    would take more, so the one worker that the reserve wants is the fewest.
    """
    small = Worker(
        heap(10), SlotResourceAmounts(cpu_e8=2, heap_bytes=4 * GIB), default_slot=heap(2)
    )
    there = DataflowWorkers(TEN, (small,), reserve=WorkerReserve(redundant_workers=1))

    found = allocate_slots(there, [SlotsNeededByJob("j", (NeededSlotsOfOneSize(UNKNOWN, 2),))])

    assert (found.new_workers, found.bound, found.proven) == (1, 1, True)


def test_a_choice_of_jobs_counts_their_weights() -> None:
    """
    On one new worker of 10 GiB either one job of 7 has a place, or two of 4 and 5.
    """
    asked = [job("large", 7), job("a", 4), job("b", 5)]

    first = allocate_slots(DataflowWorkers(TEN), asked, most_new=1)
    most = allocate_slots(DataflowWorkers(TEN), asked, most_new=1, weights=[1, 1, 1])

    assert first.unfulfillable == ("a", "b")
    assert most.unfulfillable == ("large",)
    assert (first.new_workers, most.new_workers) == (1, 1)
    assert first.proven
    assert most.proven


def test_a_reserve_that_no_worker_makes_up_is_refused() -> None:
    """
    Workers without CPUs never come to a CPU in total.
    """
    spec = worker_spec(SlotResourceAmounts(heap_bytes=GIB), slots=1)

    with pytest.raises(ValueError, match="cpu_e8: the reserve lacks 1, and a new worker has none"):
        allocate_slots(DataflowWorkers(spec, reserve=WorkerReserve(min_cpu_e8=1)), [])


def test_little_work_gives_a_start_and_an_honest_bound() -> None:
    """
    With no work to spend the answer is a first fit, and it does not claim to be proven.
    """
    found = allocate_slots(DataflowWorkers(TEN), [job("j", 3, 3, 7, 7, 6, 6, 6)], work_limit=0)

    assert found.bound is not None
    assert found.bound <= 5 <= found.new_workers
    assert found.proven is (found.bound == found.new_workers)


@settings(max_examples=150)
@given(
    st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), max_size=6),
    st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=2),
    st.sampled_from([0, 20]),
)
def test_the_fewest_is_what_trying_everything_finds(
    slots: list[tuple[int, int]], rooms: list[tuple[int, int]], work_limit: int
) -> None:
    """
    On tiny clusters: exact with work to spend; with little, a bound that holds, and never
    more than in order.
    """
    spec = worker_spec(SlotResourceAmounts(cpu_e8=9, heap_bytes=9), slots=1)
    pending = tuple(
        RequestedWorker(SlotResourceAmounts(*room), SlotResourceAmounts(*room)) for room in rooms
    )
    asked = [
        SlotsNeededByJob(
            "j", tuple(NeededSlotsOfOneSize(SlotResourceAmounts(*slot), 1) for slot in slots)
        )
    ]

    found = allocate_slots(DataflowWorkers(spec, pending=pending), asked, work_limit=work_limit)

    fewest = fewest_by_trying(slots, rooms, (9, 9))
    assert found.bound is not None
    assert found.bound <= fewest <= found.new_workers
    assert found.proven or not work_limit
    usual = [
        allocate_slots_in_order(DataflowWorkers(spec, pending=pending), asked, m)
        for m in WorkerMatchingStrategy
    ]
    assert found.new_workers <= min(other.new_workers for other in usual)
    assert_all_served(found, DataflowWorkers(spec, pending=pending), asked)


def fewest_by_trying(
    slots: list[tuple[int, int]], rooms: list[tuple[int, int]], fresh: tuple[int, int]
) -> int:
    """Try every place for every slot; among new workers only the first empty one."""

    def least(waiting: list[tuple[int, int]], bins: list[tuple[int, int]]) -> int:
        if not waiting:
            return len(bins) - len(rooms)
        (cpu, memory), *rest = waiting
        found = []
        for i, (c, m) in enumerate([*bins, fresh]):
            if cpu <= c and memory <= m:
                left = [*bins[:i], (c - cpu, m - memory), *bins[i + 1 :]]
                found.append(least(rest, left))
        return min(found)

    return least(slots, rooms)


def test_many_slots_are_no_matter() -> None:
    """
    600 slots of three sizes on hundreds of workers: proven without a deep recursion.
    """
    sizes = SlotsNeededByJob(
        "j", tuple(NeededSlotsOfOneSize(heap(size), 200) for size in (3, 5, 7))
    )

    found = allocate_slots(DataflowWorkers(TEN), [sizes])

    assert (found.new_workers, found.proven) == (300, True)


@pytest.mark.parametrize("matching", WorkerMatchingStrategy)
def test_running_workers_are_matched_as_told(matching: WorkerMatchingStrategy) -> None:
    """
    Workers are used by 0, 50 and 25 %; three default slots find their way.
    """
    total = SlotResourceAmounts(cpu_e8=8, heap_bytes=8)
    spec = worker_spec(total, slots=4)
    running = tuple(
        Worker(total, SlotResourceAmounts(free, free), spec.default_slot) for free in (8, 4, 6)
    )

    found = allocate_slots_in_order(
        DataflowWorkers(spec, running),
        [SlotsNeededByJob("j", (NeededSlotsOfOneSize(UNKNOWN, 3),))],
        matching,
    )

    assert [counted(found.on_registered)[i, "j", spec.default_slot] for i in range(3)] == {
        WorkerMatchingStrategy.FIRST_FIT: [3, 0, 0],
        WorkerMatchingStrategy.LEAST_UTILIZED: [2, 0, 1],
        WorkerMatchingStrategy.MOST_UTILIZED: [0, 2, 1],
    }[matching]
