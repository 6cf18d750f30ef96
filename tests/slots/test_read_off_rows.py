"""What named tests of Apache Flink expect: weights, slots, subtasks, specs, and workers that go."""

from pathlib import Path

import pytest

from placer.slots.fractions import use_case_memory_fraction
from placer.slots.graph import ManagedMemoryUseCase
from placer.slots.parallelism import parallelism_for_slots
from placer.slots.resources import merge_resource_profiles
from placer.slots.subtasks import Subtask, slots_of_subtasks
from placer.slots.workers.reconcile import WorkerChanges, reconcile_workers
from placer_models.files.errors import InputError
from slots.clusters import profile, workers
from slots.job_files import Row, compiled, row_id, rows

ROWS = rows("read_off.json")


def of_kind(kind: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("row", [r for r in ROWS if r["kind"] == kind], ids=row_id)


@of_kind("slot_fraction")
def test_use_cases_share_a_slot_by_weight(row: Row) -> None:
    """
    A use case's part of the slot depends on its weight and on who else is there. In all rows the
    use cases have weights by their own names; one by an older name, `dataproc`, is not read.
    """
    weights = {use_case: row["weights"][use_case.value] for use_case in ManagedMemoryUseCase}

    share = use_case_memory_fraction(
        ManagedMemoryUseCase(row["useCase"]),
        [ManagedMemoryUseCase(name) for name in row["inGroup"]],
        weights,
        state_backend_managed=row["stateBackendManaged"],
    )

    assert row["ofUseCase"] * float(share) == row["ofSlot"]


@of_kind("slots")
def test_parallelism_follows_the_free_slots(row: Row, tmp_path: Path) -> None:
    """
    Fewer slots than groups: no parallelism at all.
    """
    job = compiled(
        tmp_path,
        {
            "slotSharingGroups": sorted({group for _, _, group in row["vertices"]}),
            "operators": [
                {"name": name, "parallelism": parallelism, "group": group}
                for name, parallelism, group in row["vertices"]
            ],
        },
    )

    found = parallelism_for_slots(job, row["freeSlots"])

    assert found is None
    assert row["parallelism"] is None


@of_kind("subtasks")
def test_subtasks_share_slots(row: Row) -> None:
    """
    Co-located by index, else beside a producer, else where there is room.
    """
    producers: dict[Subtask, list[Subtask]] = {}
    for producer, consumer in row["edges"]:
        producers.setdefault(subtask(consumer), []).append(subtask(producer))

    slots = [
        slot
        for group in row["groups"]
        for slot in slots_of_subtasks(group, producers, row["colocated"])
    ]

    assert sorted(slots) == sorted(tuple(map(subtask, slot)) for slot in row["slots"])


def subtask(text: str) -> Subtask:
    task, number = text.split(".")
    return Subtask(task, int(number))


@of_kind("hybrid")
def test_a_named_group_beside_a_hybrid_exchange_is_refused(row: Row, tmp_path: Path) -> None:
    """
    The default group goes with hybrid exchanges, a named one does not.
    """
    job = {
        "semantics": "flip-141",
        "mode": "batch",
        "defaultExchange": row["exchange"],
        "slotSharingGroups": [row["groupOfMap1"]],
        "operators": [{"name": "source"}, {"name": "map1", "group": row["groupOfMap1"]}],
        "edges": [{"from": "source", "to": "map1", "partition": "rebalance"}],
    }

    assert row["refused"]
    with pytest.raises(InputError, match=r"operators\[1\]\.group: 'map1' is in group"):
        compiled(tmp_path, job)
    plain = [{"name": "source"}, {"name": "map1"}]
    assert len(compiled(tmp_path, {**job, "operators": plain}).regions) == 2


@of_kind("spec")
def test_specs_of_operators_compute_as_profiles_do(row: Row) -> None:
    """
    Merges are the same for operators and slots; a negative need is none.
    """
    if row.get("error"):
        with pytest.raises(ValueError, match="'-1'; expected an amount"):
            profile(row["a"])
    else:
        assert merge_resource_profiles(profile(row["a"]), profile(row["b"])) == profile(
            row["result"]
        )


@pytest.mark.parametrize(
    ("free", "shares"),
    [
        (2, (1, 1, 1)),
        (3, (2, 2, 1)),
        (5, (3, 2, 2)),
        (6, (3, 2, 3)),
        (7, (4, 2, 3)),
        (99, (4, 2, 3)),
    ],
)
def test_slots_beyond_one_each_are_shared(
    free: int, shares: tuple[int, ...], tmp_path: Path
) -> None:
    """
    Groups of 4 and 3 share what is over; what the narrow one leaves goes to the wide.
    """
    job = compiled(
        tmp_path,
        {
            "slotSharingGroups": ["g1", "g2"],
            "operators": [
                {"name": "v1", "parallelism": 4, "group": "g1"},
                {"name": "v2", "parallelism": 2, "group": "g1"},
                {"name": "v3", "parallelism": 3, "group": "g2"},
            ],
        },
    )

    assert parallelism_for_slots(job, free) == shares


@pytest.mark.parametrize("row", rows("reconcile.json"), ids=row_id)
def test_workers_are_kept_as_the_reserve_wants(row: Row) -> None:
    """
    Idle workers go while redundancy and least totals hold without them; else some come.
    """
    assert reconcile_workers(workers(row)) == WorkerChanges(
        tuple(row["releaseRegistered"]), tuple(row["releasePending"]), row["new"]
    )
