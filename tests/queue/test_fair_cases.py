"""The fairness cases: every row of data/fair_cases.yaml, exactly."""

from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import yaml

from placer.queue.advice import job_thread_count_for_work
from placer.queue.dominant import FlowOfEqualTasks, drf_task_counts
from placer.queue.fair import FairQueue
from placer.queue.fair_shares import FlowShareDemand, steady_shares
from placer.queue.model import US_PER_S, DispatchUnit, FlowChargeTime
from placer.queue.peers import kueue_borrowed_share_permille, kueue_decayed_usage
from placer.queue.simulation.engine import simulate_fair_queue
from placer.queue.simulation.scenario import (
    QueueScenario,
    QueueThreadCountOverTime,
    SimulatedJob,
    work_units_dealt_to_threads,
)

Row = dict[str, Any]

CASES = yaml.safe_load((Path(__file__).parent / "data" / "fair_cases.yaml").read_text("utf-8"))


def rows(kind: str) -> list[Any]:
    return [pytest.param(row, id=row["id"]) for row in CASES[kind]]


def us(amount_s: str | int) -> int:
    return int(Fraction(amount_s) * US_PER_S)


def milli(amount: str | int) -> int:
    return int(Fraction(amount) * 1000)


def test_no_row_is_lost() -> None:
    """
    The file has the 38 rows that were collected, each under its question.
    """
    assert sum(len(found) for found in CASES.values()) == 38


@pytest.mark.parametrize("row", rows("picks"))
def test_the_least_served_is_next(row: Row) -> None:
    """
    The flow that had least is next; of flows that had the same, the first of the row.
    """
    queue = FairQueue(charge=FlowChargeTime.RUNNING)
    for group in row["groups"]:
        queue.add_group(group["group"], weight_milli=milli(group["weight"]))
        for job, served_s in group["served_s"].items():
            queue.add_job(job, group=group["group"], served=us(served_s))
            queue.submit(job, DispatchUnit(0, us(60)), DispatchUnit(1, us(60)))
    for job in row["ran_s"]:
        queue.adopt(job, DispatchUnit("runs", us(60)), now_us=0)
    now_us = max(map(us, row["ran_s"].values()), default=0)
    tied = {
        name: queue.tree.flow(name).standing(FlowChargeTime.RUNNING, now_us)
        for name in row["expected"]
    }

    ticket = queue.next(now_us)

    assert ticket is not None
    assert ticket.job == row["expected"][0]
    assert len(set(tied.values())) == 1


@pytest.mark.parametrize("charge", FlowChargeTime)
@pytest.mark.parametrize("row", rows("services"))
def test_service_is_the_seconds_that_threads_ran(row: Row, charge: FlowChargeTime) -> None:
    """
    Q4: service grows by one a second for each running thread, whatever decisions go by.
    """
    queue = FairQueue(charge=charge)
    queue.add_job("a")
    queue.submit("a", *(DispatchUnit(i, us(600)) for i in range(row["threads"])))
    for _ in range(row["threads"]):
        queue.next(now_us=0)

    service = queue.report("a", us(row["ran_s"])).service

    assert service == us(row["expected"])


@pytest.mark.parametrize("row", rows("group_values"))
def test_a_group_counts_by_its_weight(row: Row) -> None:
    """
    A group's value is what its jobs had, over its weight: 808 / 4 = 202.
    """
    queue = FairQueue(charge=FlowChargeTime.RUNNING)
    queue.add_group("group", weight_milli=milli(row["weight"]))
    for job, served_s in row["served_s"].items():
        queue.add_job(job, group="group", served=us(served_s))
        queue.submit(job, DispatchUnit(0, us(60)))

    top = queue.explain(now_us=0)[0]

    assert top.chosen == "group"
    assert top.value == us(row["expected"])


@pytest.mark.parametrize("row", rows("steady_shares"))
def test_steady_shares_are_weighted_max_min(row: Row) -> None:
    """
    In the long run a share that a flow cannot use goes to its siblings, then onward.
    """
    tree = [
        FlowShareDemand(
            group["group"],
            milli(group["weight"]),
            tuple(
                FlowShareDemand(job["name"], milli(job.get("weight", 1)), most=job.get("most"))
                for job in group["jobs"]
            ),
        )
        for group in row["tree"]
    ]

    assert steady_shares(row["capacity"], tree) == row["expected"]


@pytest.mark.parametrize("row", rows("max_min"))
def test_flat_shares_keep_minima_and_maxima(row: Row) -> None:
    """
    The shares of YARN's own tests, as exact numbers.
    """
    flows = [
        FlowShareDemand(str(i), milli(flow["weight"]), least=flow["least"], most=flow["most"])
        for i, flow in enumerate(row["flows"])
    ]

    assert list(steady_shares(row["capacity"], flows).values()) == row["expected"]


@pytest.mark.parametrize("row", rows("schedules"))
def test_fine_submission_levels_the_load(row: Row) -> None:
    """
    Q2: the same units of work, dealt to few threads and to many: 660 s against 1,020 s.
    """
    units = [us(row["length_s"])] * row["units"]
    for number, length_s in row["slow_s"].items():
        units[number - 1] = us(length_s)
    before = []
    if "busy_s" in row:
        before = [SimulatedJob("Job 0", (us(row["busy_s"]),), running_on=(4,))]
    expected = row["expected"]

    def ends(threads: int) -> Any:
        job = SimulatedJob("Job 1", work_units_dealt_to_threads(units, threads))
        return simulate_fair_queue(
            QueueScenario("", QueueThreadCountOverTime(row["capacity"]), (*before, job))
        )

    fine, coarse = ends(row.get("fine", row["units"])), ends(row["coarse"])

    assert (fine.makespan_us, coarse.makespan_us) == (
        us(expected["fine_s"]),
        us(expected["coarse_s"]),
    )
    assert fine.lower_bound_us == us(expected["bound_s"])
    if "on_each" in expected:
        on_each = Counter(number for run in fine.runs for number in run.on)
        assert [on_each[number] for number in range(1, 11)] == expected["on_each"]
    if "on_the_busy_one" in expected:
        of_job_1 = [run for run in fine.runs if run.on == (4,) and run.job == "Job 1"]
        assert len(of_job_1) == expected["on_the_busy_one"]


@pytest.mark.parametrize("row", rows("thread_counts"))
def test_thread_counts_follow_the_work(row: Row) -> None:
    """
    Q11: the count is the work over two minutes, rounded up; what cannot be split stays at 1.
    """
    count = job_thread_count_for_work(
        us(row["work_s"]), target_us=us(row["target_s"]), splittable=row["splittable"]
    )

    assert count == row["expected"]


@pytest.mark.parametrize("row", rows("dominant"))
def test_shares_of_several_resources_are_dominant_shares(row: Row) -> None:
    """
    The examples of hierarchical dominant resource fairness end with the paper's tasks.
    """

    def flow(node: Row) -> FlowOfEqualTasks:
        children = tuple(map(flow, node.get("children", ())))
        task = tuple(node.get("task", ()))
        return FlowOfEqualTasks(
            node["name"], milli(node["weight"]), task, node.get("tasks", 0), children
        )

    assert drf_task_counts(row["capacity"], list(map(flow, row["flows"]))) == row["expected"]


@pytest.mark.parametrize("row", rows("borrowed"))
def test_kueues_share_is_what_is_borrowed(row: Row) -> None:
    """
    Kueue's figure for people who compare: permille borrowed of what is lent, over weight.
    """
    share = kueue_borrowed_share_permille(
        row["usage"], row["nominal"], row["lendable"], Fraction(row["weight"])
    )

    assert share == row["expected"]


@pytest.mark.parametrize("row", rows("decayed"))
def test_kueues_usage_fades_by_half_lives(row: Row) -> None:
    """
    Kueue's other figure: constant usage is approached by half in each half-life.
    """
    value = kueue_decayed_usage(0.0, row["usage"], row["half_lives"] * 10.0, 10.0)

    assert value == pytest.approx(row["expected"], abs=row["tolerance"])
