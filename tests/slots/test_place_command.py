"""``placer slots place``: which slot goes where, and how many workers start."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner, Result

from placer.slots.resources import E8, SlotResourceAmounts
from placer.slots.workers.default_slots import worker_spec
from placer.slots.workers.file import read_workers
from placer.slots.workers.lacks import (
    RegionGangWithoutSlots,
    SlotsUndecidedInTimeReason,
    SlotTooLargeReason,
    WorkerLimitExceededReason,
    why_gang_lacks_slots,
)
from placer.slots.workers.model import DataflowWorkers, SlotAllocationResult
from placer_cli.slots import slots_app
from placer_models.files.errors import InputError
from slots.job_files import compiled, job_file

EXAMPLES = Path(__file__).parents[2] / "instances" / "slots"
SMALL = EXAMPLES / "workers" / "small.yaml"

Document = dict[str, Any]

FOUR = {"resources": {"cpu": 4, "heap": "4Gi"}, "slots": 4}
"""A worker of four slots of 1 CPU and 1 GiB."""


def run(*arguments: str | Path) -> Result:
    """Run the command in a terminal of 100 columns."""
    environment = {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}
    return CliRunner().invoke(slots_app, ["place", *map(str, arguments)], env=environment)


def placed(
    folder: Path, job: Mapping[str, object], workers: Mapping[str, object], code: int = 0
) -> Document:
    """Place a job through files; the exit code is as told."""
    file = folder / "workers.json"
    head = {"apiVersion": "placer/v1", "kind": "Workers"}
    file.write_text(json.dumps({**head, **workers}), encoding="utf-8")
    result = run(job_file(folder, job), file, "--format", "json")
    assert result.exit_code == code, result.output
    found: Document = json.loads(result.stdout)
    return found


def rows(turn: Document) -> list[tuple[str, str, int, int]]:
    """Return (worker, group, first slot, slots) of a turn."""
    return [(x["worker"], x["group"], x["first"], x["count"]) for x in turn["slots"]]


def operator(name: str, parallelism: int, group: str | None = None, **needs: object) -> Document:
    """Return an operator; what it needs, if anything is known."""
    more = {"resources": needs} if needs else {}
    return {"name": name, "parallelism": parallelism, **({"group": group} if group else {}), **more}


def test_running_then_pending_workers_are_used_before_new_ones(tmp_path: Path) -> None:
    """
    Ten default slots: 4 and 2 on those that run, 4 on the pending one, none new.
    """
    workers = {
        "worker": FOUR,
        "registered": [{"name": "a"}, {"name": "b", "used": {"cpu": 2, "heap": "2Gi"}}],
        "pending": [{"name": "c"}],
    }

    found = placed(tmp_path, {"operators": [operator("x", 10)]}, workers)

    assert (found["newWorkers"], found["bound"], found["proven"]) == (0, 0, True)
    assert rows(found["turns"][0]) == [
        ("a", "default", 0, 4),
        ("b", "default", 4, 2),
        ("c", "default", 6, 4),
    ]


@pytest.mark.parametrize(("slots", "new"), [(4, 1), (5, 2), (8, 2), (9, 3)])
def test_new_workers_are_a_round_figure(slots: int, new: int, tmp_path: Path) -> None:
    """
    Workers of four slots from nothing: the slots by four, rounded up, and proven.
    """
    found = placed(tmp_path, {"operators": [operator("x", slots)]}, {"worker": FOUR})

    assert (found["newWorkers"], found["bound"], found["proven"]) == (new, new, True)
    assert sum(row["count"] for row in found["turns"][0]["slots"]) == slots


def test_a_slot_fraction_is_as_good_as_a_count(tmp_path: Path) -> None:
    """
    Half of a worker for a slot: five slots take three workers.
    """
    half = {"resources": FOUR["resources"], "slotFraction": 0.5}

    found = placed(tmp_path, {"operators": [operator("x", 5)]}, {"worker": half})

    assert found["newWorkers"] == 3
    assert found["turns"][0]["slots"][0]["size"]["cpu"] == 2


def test_redundant_workers_come_on_top(tmp_path: Path) -> None:
    """
    Four slots fill one worker; two redundant ones make three.
    """
    workers = {"worker": FOUR, "reserve": {"redundantWorkers": 2}}

    assert placed(tmp_path, {"operators": [operator("x", 4)]}, workers)["newWorkers"] == 3


def test_minima_start_workers_that_nobody_uses(tmp_path: Path) -> None:
    """
    At least 10 CPUs by workers of 4 are three of them, though one slot is asked for.
    """
    workers = {"worker": FOUR, "reserve": {"minCpu": 10}}

    assert placed(tmp_path, {"operators": [operator("x", 1)]}, workers)["newWorkers"] == 3


@pytest.mark.parametrize(("most", "code"), [(12, 0), (11, 1)])
def test_a_maximum_is_kept(most: int, code: int, tmp_path: Path) -> None:
    """
    Nine slots need three workers of 4 CPUs: 12 CPUs are enough, with 11 nothing is placed.
    """
    workers = {"worker": FOUR, "limits": {"maxCpu": most}}

    found = placed(tmp_path, {"operators": [operator("x", 9)]}, workers, code)

    assert found["newWorkers"] == (0 if code else 3)
    assert found["turns"][0]["without"] == ([[0]] if code else [])


def test_the_reserve_gives_way_to_a_maximum(tmp_path: Path) -> None:
    """
    One worker for the job and one of two redundant ones are all that 8 CPUs allow.
    """
    workers = {"worker": FOUR, "reserve": {"redundantWorkers": 2}, "limits": {"maxCpu": 8}}

    found = placed(tmp_path, {"operators": [operator("x", 4)]}, workers)

    assert (found["newWorkers"], found["reserveLacks"], found["allPlaced"]) == (2, 1, True)


def test_a_region_has_all_of_its_slots_or_none(tmp_path: Path) -> None:
    """
    One operator of a region needs a GPU that no worker has: the other one gets nothing
    either, and the region beside them is placed.
    """
    job = {
        "allSourcesInSameRegion": False,
        "slotSharingGroups": ["gpus"],
        "operators": [
            operator("read", 2, cpu=1, heap="1Gi"),
            operator("infer", 2, "gpus", cpu=1, heap="1Gi", extended={"gpu": 1}),
            operator("alone", 3, cpu=1, heap="1Gi"),
        ],
        "edges": [{"from": "read", "to": "infer", "partition": "hash"}],
        "network": {"bufferSize": "1Ki"},
    }
    amounts = {"cpu": 4, "heap": "4Gi", "network": "512Mi"}
    small = {"resources": amounts, "slots": 4}
    large = {"resources": {**amounts, "extended": {"gpu": 2}}, "slots": 4}

    without = placed(tmp_path, job, {"worker": small}, code=1)
    with_gpus = placed(tmp_path, job, {"worker": large})

    assert without["turns"][0]["without"] == [[0]]
    assert rows(without["turns"][0]) == [("new 0", "default[1]", 0, 3)]
    assert with_gpus["turns"][0]["without"] == []
    assert with_gpus["newWorkers"] == 2  # 2 + 2 + 3 slots of 1 CPU on workers of 4.


def test_as_many_regions_as_can_be_have_slots(tmp_path: Path) -> None:
    """
    Eight CPUs at most: the region of 6 slots comes first in the file, and those of 3 and 5
    are two.
    """
    job = {
        "allSourcesInSameRegion": False,
        "operators": [operator("a", 6), operator("b", 3), operator("c", 5)],
    }
    workers = {"worker": FOUR, "limits": {"maxCpu": 8}}

    found = placed(tmp_path, job, workers, code=1)

    assert found["turns"][0]["without"] == [[0]]
    assert (found["newWorkers"], found["proven"]) == (2, True)


def test_regions_that_share_slots_come_in_order(tmp_path: Path) -> None:
    """
    All three regions use the slots of one group, so the largest that fits takes the others
    with it.
    """
    job = {"operators": [operator("a", 6), operator("b", 3), operator("c", 9)]}
    workers = {"worker": FOUR, "limits": {"maxCpu": 8}}

    found = placed(tmp_path, job, workers, code=1)

    assert found["turns"][0]["placed"] == [[0], [1]]
    assert sum(row["count"] for row in found["turns"][0]["slots"]) == 6


def test_regions_of_a_batch_job_take_turns(tmp_path: Path) -> None:
    """
    Eight slots, then four: two workers do for both, not three.
    """
    job = {
        "mode": "batch",
        "operators": [operator("a", 8), operator("b", 4)],
        "edges": [{"from": "a", "to": "b", "exchange": "blocking"}],
    }

    found = placed(tmp_path, job, {"worker": FOUR})

    assert (found["newWorkers"], found["proven"]) == (2, True)
    assert [sum(x["count"] for x in turn["slots"]) for turn in found["turns"]] == [8, 4]


def test_a_blocked_worker_gets_nothing(tmp_path: Path) -> None:
    """
    Its room is not counted.
    """
    workers = {"worker": FOUR, "registered": [{"name": "a", "blocked": True}]}

    found = placed(tmp_path, {"operators": [operator("x", 2)]}, workers)

    assert rows(found["turns"][0]) == [("new 0", "default", 0, 2)]


def test_people_see_who_goes_where() -> None:
    """
    The new workers with their proof first, then a line for each worker and group.
    """
    result = run(EXAMPLES / "word-count.yaml", SMALL)

    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].rstrip() == "word-count: 1 new worker, proven fewest"
    assert any(line.split()[:4] == ["w-1", "default", "0-3", "4"] for line in lines)


def test_people_see_what_has_no_place() -> None:
    """
    GPUs that no worker has: exit code 1 and the region.
    """
    result = run(EXAMPLES / "use-cases.yaml", SMALL)

    assert result.exit_code == 1
    assert "region 0 has no slots: it needs 6 slots together" in result.stdout


def lacks(found: Document) -> list[Document]:
    """Return why regions have no slots."""
    why: list[Document] = [lack for turn in found["turns"] for lack in turn["lacks"]]
    return why


@pytest.mark.parametrize(
    ("job", "workers", "reason", "words"),
    [
        pytest.param(
            {"operators": [operator("a", 2, cpu=1, heap="9Gi", extended={"gpu": 1})]},
            {"worker": FOUR},
            {
                "reason": "slot",
                "group": "default",
                "amounts": [
                    {"name": "heap", "slotTakes": 9 * 2**30, "newWorkerHas": 4 * 2**30},
                    {"name": "gpu", "slotTakes": 1, "newWorkerHas": 0},
                ],
            },
            "region 0 has no slots: it needs 2 slots together, and a slot of group default takes "
            "9Gi heap and 1 gpu, where a new worker has 4Gi and 0. Make worker.resources larger.",
            id="a slot larger than a worker",
        ),
        pytest.param(
            {"operators": [operator("a", 9)]},
            {"worker": FOUR, "limits": {"maxCpu": 11, "maxMemory": "1Ti"}},
            {"reason": "limit", "limit": "maxCpu", "allows": 2},
            "region 0 has no slots: it needs 9 slots together, and limits.maxCpu allows 2 new "
            "workers, too few. Raise it.",
            id="a limit on CPUs",
        ),
        pytest.param(
            {"operators": [operator("a", 9)]},
            {"worker": FOUR, "limits": {"maxCpu": 99, "maxMemory": "5Gi"}},
            {"reason": "limit", "limit": "maxMemory", "allows": 1},
            "region 0 has no slots: it needs 9 slots together, and limits.maxMemory allows 1 new "
            "worker, too few. Raise it.",
            id="a limit on memory",
        ),
        pytest.param(
            {
                "allSourcesInSameRegion": False,
                "operators": [
                    operator("a", 1, cpu=6, heap="1Gi"),
                    operator("b", 1, cpu=6, heap="1Gi"),
                ],
            },
            {
                "worker": FOUR,
                "registered": [{"name": "w", "resources": {"cpu": 8, "heap": "8Gi"}}],
            },
            {"reason": "taken", "group": "default[1]", "limit": None},
            "region 1 has no slots: it needs 1 slot together, and a slot of group default[1] fits "
            "workers that are there, but no new one; beside the other slots they have no room. "
            "Make worker.resources larger.",
            id="only one worker is large enough",
        ),
    ],
)
def test_a_region_without_slots_is_told_what_is_short(
    job: Document, workers: Document, reason: Document, words: str, tmp_path: Path
) -> None:
    """
    The amount of a slot that no new worker has, or the limit; in words and for programs.
    """
    found = placed(tmp_path, job, workers, code=1)
    drawn = run(tmp_path / "job.json", tmp_path / "workers.json").stdout

    assert [{k: v for k, v in lack.items() if k != "regions"} for lack in lacks(found)] == [reason]
    assert words in " ".join(drawn.split())


def test_a_region_may_be_left_out_for_want_of_time(tmp_path: Path) -> None:
    """
    Where nothing is proven the limit is not blamed; where a slot fits nowhere it is the slot.
    """
    nothing = SlotAllocationResult((), (), 0, 0, ("0",), settled=False)
    unknown = compiled(tmp_path, {"operators": [operator("a", 9)]})
    gpus = compiled(
        tmp_path, {"operators": [operator("a", 9, cpu=1, heap="1Gi", extended={"gpu": 1})]}
    )
    workers = DataflowWorkers(worker_spec(SlotResourceAmounts(4 * E8, 2**32), slots=4))
    limit = WorkerLimitExceededReason("maxCpu", 2)

    assert why_gang_lacks_slots(unknown, 0, workers, limit, nothing) == RegionGangWithoutSlots(
        0, SlotsUndecidedInTimeReason()
    )
    assert why_gang_lacks_slots(gpus, 0, workers, limit, nothing) == RegionGangWithoutSlots(
        0, SlotTooLargeReason(0, (("gpu", E8, 0),))
    )


def test_a_worker_in_reserve_has_a_row_of_its_own(tmp_path: Path) -> None:
    """
    Four slots fill the first new worker; the two redundant ones stand below it, whole. Any
    number of them takes no longer.
    """
    workers = {"worker": FOUR, "reserve": {"redundantWorkers": 2}}

    found = placed(tmp_path, {"operators": [operator("x", 4)]}, workers)
    drawn = run(tmp_path / "job.json", tmp_path / "workers.json").stdout

    assert found["inReserve"] == 2
    cells = [line.split() for line in drawn.splitlines() if line.startswith("new")]
    assert cells == [
        ["new", "0", "default", "0-3", "4", "1", "1Gi"],
        ["new", "1-2", "(reserve)", "4", "4Gi"],
    ]
    many = {"worker": FOUR, "reserve": {"redundantWorkers": 10**9}}
    assert placed(tmp_path, {"operators": [operator("x", 4)]}, many)["inReserve"] == 10**9


def test_a_time_limit_still_gives_an_answer(tmp_path: Path) -> None:
    """
    However short it is, first fit has an answer, with a bound that holds.
    """
    job = {"operators": [operator("x", 90)]}
    workers = {"worker": FOUR, "reserve": {"redundantWorkers": 1}}
    placed(tmp_path, job, workers)
    files = (tmp_path / "job.json", tmp_path / "workers.json")

    result = run(*files, "--time-limit", "0.02", "--format", "json")

    found = json.loads(result.stdout)
    assert result.exit_code == 0
    assert found["bound"] <= 24 <= found["newWorkers"]
    assert run(*files, "--time-limit", "0").exit_code == 2


def test_standard_input_is_one_file() -> None:
    """
    It cannot be the job and the workers, and the message does not call it empty.
    """
    result = run("-", "-")

    assert result.exit_code == 2
    assert "both standard input; name a file for one" in " ".join(result.stderr.split())


def test_group_names_may_contain_spaces(tmp_path: Path) -> None:
    """
    A group is called what its owner calls it, as operators are.
    """
    job = {"slotSharingGroups": ["heavy ones"], "operators": [operator("x", 2, "heavy ones")]}

    found = placed(tmp_path, job, {"worker": FOUR})

    assert rows(found["turns"][0]) == [("new 0", "heavy ones", 0, 2)]


def test_yaml_is_the_same_document() -> None:
    """
    Both forms for programs say the same.
    """
    files = (EXAMPLES / "batch-join.yaml", SMALL)
    as_json = json.loads(run(*files, "--format", "json").stdout)

    assert yaml.safe_load(run(*files, "--format", "yaml").stdout) == as_json
    assert as_json["kind"] == "PlacedJobGraph"


def test_bad_input_prints_nothing() -> None:
    """
    Two job graphs, where one should be workers, are refused: bad input, exit code 2.
    """
    result = run(EXAMPLES / "word-count.yaml", EXAMPLES / "word-count.yaml")

    assert isinstance(result.exception, InputError)
    assert result.stdout == ""


def test_the_example_reads() -> None:
    """
    Names in their order, and half of the second worker in use.
    """
    pool = read_workers(SMALL)

    assert (pool.registered, pool.pending) == (("w-1", "w-2"), ("w-3",))
    second = pool.workers.registered[1]
    assert second.available.cpu_e8 * 2 == second.total.cpu_e8


def test_each_slot_has_one_place_where_groups_share_a_size(tmp_path: Path) -> None:
    """
    Under flip-141 two groups own as much as a default slot of one worker, not of the other;
    each of their slots is on one worker, once.
    """
    size = {"cpu": 1, "heap": "1Gi"}
    job = {
        "semantics": "flip-141",
        "slotSharingGroups": [{"name": name, "resources": size} for name in ("a", "b")],
        "operators": [operator("x", 3, "a"), operator("y", 4, "b")],
    }
    workers = {"worker": FOUR, "registered": [{"name": "w", "slots": 2}]}

    found = placed(tmp_path, job, workers)

    slots = [
        (x["group"], i)
        for x in found["turns"][0]["slots"]
        for i in range(x["first"], x["first"] + x["count"])
    ]
    wanted = [("a", i) for i in range(3)] + [("b", i) for i in range(4)]
    assert sorted(slots) == wanted
    assert found["newWorkers"] == 1


def test_more_memory_than_can_be_counted_is_bad_input(tmp_path: Path) -> None:
    """
    Forty workers of half an exbibyte are more than 2**63 - 1 bytes.
    """
    workers = tmp_path / "workers.yaml"
    workers.write_text(
        "apiVersion: placer/v1\nkind: Workers\n"
        "worker: {resources: {cpu: 4, heap: 512Pi}, slots: 1}\n",
        encoding="utf-8",
    )

    result = run(job_file(tmp_path, {"operators": [operator("x", 40)]}), workers)

    assert isinstance(result.exception, InputError)
    assert "comes to more than 2**63 - 1 bytes" in str(result.exception)
