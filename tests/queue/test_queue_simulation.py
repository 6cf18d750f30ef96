"""Simulations: the figures of the document, and what holds for every simulation."""

import random
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import pytest

from placer.queue.file.simulation_file import read_queue_scenario
from placer.queue.model import US_PER_S, FlowChargeTime
from placer.queue.simulation.curves import (
    curve_means_in_time_bins,
    job_threads_over_time,
    service_over_time,
)
from placer.queue.simulation.engine import simulate_fair_queue
from placer.queue.simulation.result import QueueSimulationResult, SimulatedJobThread
from placer.queue.simulation.scenario import (
    FlowGroupSpec,
    QueueScenario,
    QueueThreadCountOverTime,
    SimulatedJob,
    work_split_into_threads,
    work_units_dealt_to_threads,
)
from queue_worlds import say

QUEUES = Path(__file__).parents[2] / "instances" / "queues"


def runs_on(result: QueueSimulationResult, number: int) -> int:
    """Return how many threads of work ran on a thread of capacity."""
    return sum(number in run.on for run in result.runs)


def figure(name: str) -> QueueSimulationResult:
    return simulate_fair_queue(read_queue_scenario(QUEUES / f"{name}.yaml"))


def in_use(result: QueueSimulationResult, at_s: int) -> tuple[int, ...]:
    """Return the threads in use of each job just after a moment."""
    now_us = at_s * US_PER_S
    return tuple(
        sum(len(r.on) for r in result.runs if r.job == j.name and r.start_us <= now_us < r.end_us)
        for j in result.jobs
    )


def ends_s(result: QueueSimulationResult) -> dict[str, float]:
    return {job.name: (job.end_us or -1) / US_PER_S for job in result.jobs}


def random_scenario(seed: int) -> QueueScenario:
    """Draw jobs that arrive, groups, capacity that changes, a slow thread; some gangs."""
    rng = random.Random(seed)
    threads = rng.randint(1, 6)
    changes, at_us = [], 0
    for _ in range(rng.choice([0, 0, 2, 4])):
        at_us += rng.randint(1, 300)
        changes.append((at_us, rng.randint(0, 6)))
    if changes:
        changes.append((at_us + 1, 4))
    slow = ((1, 2500),) if rng.random() < 0.3 else ()
    groups = (FlowGroupSpec("g", 3000), FlowGroupSpec("h", 500, "g"))
    jobs = tuple(
        SimulatedJob(
            f"j{i}",
            tuple(rng.randint(1, 90) for _ in range(rng.randint(1, 25))),
            group=rng.choice(["g", "h", None]),
            weight_milli=rng.choice([1000, 700]),
            arrives_us=rng.choice([0, rng.randint(0, 400)]),
            known=rng.random() < 0.7,
        )
        for i in range(rng.randint(1, 5))
    )
    return QueueScenario(
        "", QueueThreadCountOverTime(threads, tuple(changes), slow), jobs, groups, guess_us=30
    )


def capacity_at(capacity: QueueThreadCountOverTime, now_us: int) -> int:
    return [capacity.threads, *(n for at, n in capacity.changes if at <= now_us)][-1]


def moments(result: QueueSimulationResult) -> list[int]:
    scenario = result.scenario
    times = {job.arrives_us for job in scenario.jobs} | {at for at, _ in scenario.capacity.changes}
    return sorted(times | {time for run in result.runs for time in (run.start_us, run.end_us)})


def running_at(result: QueueSimulationResult, now_us: int) -> list[SimulatedJobThread]:
    return [run for run in result.runs if run.start_us <= now_us < run.end_us]


def test_coarse_submission_waits_for_its_slowest_thread() -> None:
    """
    Figure 3-1: State U keeps the job until 900 s, and Job 2 cannot start before 600 s.
    """
    result = figure("fig-3-01")

    assert ends_s(result) == {"Job 1": 900, "Job 2": 660}
    assert result.jobs[1].first_start_us == 600 * US_PER_S


def test_coarse_submission_pays_for_a_busy_thread_in_full() -> None:
    """
    Figure 3-2: a thread of capacity that is busy until 420 s delays all of Job 1 to 1,020 s.
    """
    assert ends_s(figure("fig-3-02")) == {"Job 0": 420, "Job 1": 1020}


def test_coarse_submission_leaves_capacity_unused() -> None:
    """
    Figure 3-3: eight threads on ten take 750 s.
    """
    result = figure("fig-3-03")

    assert ends_s(result) == {"Job 1": 750}
    assert [runs_on(result, number) for number in (9, 10)] == [0, 0]


def test_fine_submission_levels_the_load() -> None:
    """
    Figure 3-4: C6 does 6 threads of work while others do 11, and Job 2 starts at once.
    """
    result = figure("fig-3-04")

    assert ends_s(result) == {"Job 1": 660, "Job 2": 120}
    assert [runs_on(result, number) for number in range(1, 11)] == [11] * 5 + [6] + [10] * 4
    assert result.jobs[1].first_start_us == 60 * US_PER_S


def test_fine_submission_pays_for_a_busy_thread_with_the_lost_capacity_only() -> None:
    """
    Figure 3-5: 660 s instead of 1,020 s.
    """
    result = figure("fig-3-05")

    assert ends_s(result) == {"Job 0": 420, "Job 1": 660}
    assert sum(run.job == "Job 1" for run in result.runs if run.on == (4,)) == 4


def test_fine_submission_uses_excess_capacity() -> None:
    """
    Figure 3-6: 600 s instead of 750 s.
    """
    assert ends_s(figure("fig-3-06")) == {"Job 1": 600}


def test_the_flow_that_had_less_is_next() -> None:
    """
    Figure 3-7: 100 against 101.5.
    """
    first = figure("fig-3-07").runs[0]

    assert first.job == "DEFAULT1"
    assert (first.steps[-1].value, first.steps[-1].runner_up_value) == (100_000_000, 101_500_000)


def test_what_runs_counts_for_the_next_decision() -> None:
    """
    Figure 3-8: two seconds later DEFAULT1 stands at 102, and DEFAULT2 is next.
    """
    second = figure("fig-3-08").runs[1]

    assert (second.job, second.start_us) == ("DEFAULT2", 2 * US_PER_S)
    assert (second.steps[-1].value, second.steps[-1].runner_up_value) == (101_500_000, 102_000_000)


def test_the_group_is_chosen_before_its_job() -> None:
    """
    Q5, figure 3-9: 202 = 808 / 4 against 201.5, then 100 against 101.5.
    """
    first = figure("fig-3-09").runs[0]

    assert first.job == "DEFAULT1"
    assert [(step.chosen, step.value, step.runner_up_value) for step in first.steps] == [
        ("default", 201_500_000, 202_000_000),
        ("DEFAULT1", 100_000_000, 101_500_000),
    ]


def test_shares_follow_the_weights_of_whoever_is_left() -> None:
    """
    Q7, figure 3-10: 48/6/6, then 48/12, then 60.
    """
    result = figure("fig-3-10")

    assert {in_use(result, at_s) for at_s in range(0, 1200, 30)} == {(48, 6, 6)}
    assert {in_use(result, at_s) for at_s in range(1200, 2400, 30)} == {(48, 12, 0)}
    assert {in_use(result, at_s) for at_s in range(2400, 3000, 30)} == {(0, 60, 0)}


def test_a_late_starter_gets_its_half_at_once() -> None:
    """
    Q8: after an hour alone, NIGHTLY gives 30 of 60 threads to LATE in the very moment it comes.
    """
    result = figure("late-starter")

    assert in_use(result, 3599) == (60, 0)
    assert {in_use(result, at_s) for at_s in range(3600, 6000, 30)} == {(30, 30)}


def test_charging_at_dispatch_holds_what_the_literal_rule_breaks() -> None:
    """
    The same jobs: at most 1 thread length ahead, and more than 30 under the literal rule.
    """
    scenario = read_queue_scenario(QUEUES / "dispatch-against-running.yaml")
    ours = simulate_fair_queue(scenario)
    literal = simulate_fair_queue(replace(scenario, charge=FlowChargeTime.RUNNING))

    assert ours.lead is not None
    assert literal.lead is not None
    assert ours.lead.ratio <= 1
    assert literal.lead.ratio > 30


def test_a_slow_thread_of_capacity_delays_nobody_else() -> None:
    """
    Q2: C3 takes twice as long and does half as much; who runs elsewhere does not notice.
    """
    job = SimulatedJob("j", (10,) * 30)
    even = simulate_fair_queue(QueueScenario("", QueueThreadCountOverTime(3), (job,)))
    slow = simulate_fair_queue(
        QueueScenario("", QueueThreadCountOverTime(3, slow=((3, 2000),)), (job,))
    )

    assert [runs_on(even, number) for number in (1, 2, 3)] == [10, 10, 10]
    assert [runs_on(slow, number) for number in (1, 2, 3)] == [12, 12, 6]
    assert slow.makespan_us == 120


def test_a_thread_of_capacity_leaves_when_its_work_has_ended() -> None:
    """
    Nothing is cut short: at 5 two of three threads go, but their work ends at 10.
    """
    result = simulate_fair_queue(
        QueueScenario(
            "", QueueThreadCountOverTime(3, ((5, 1), (40, 3))), (SimulatedJob("j", (10,) * 9),)
        )
    )

    assert [len(running_at(result, t)) for t in (0, 9, 10, 39, 40)] == [3, 3, 1, 1, 3]
    assert {run.end_us - run.start_us for run in result.runs} == {10}
    assert result.capacity_us == 3 * 10 + 30 + 3 * (result.makespan_us - 40)


def test_a_gang_starts_all_at_once() -> None:
    """
    Each gang holds four different threads of capacity from its start to its end.
    """
    result = figure("gangs")
    gangs = [run for run in result.runs if run.job == "TRAIN"]

    assert all(len(set(run.on)) == 4 for run in gangs)
    assert max(run.passes for run in gangs) <= result.scenario.bypass_limit
    assert result.never_ran == ()


def test_in_lockstep_all_capacity_is_used_and_shares_follow_weights() -> None:
    """
    Gangs of one with weight 4 beside gangs of two with weight 1: 64 and 16 of 80, at any time.
    """
    result = figure("lockstep")

    assert [job.service // US_PER_S // 60 for job in result.jobs] == [64, 16]
    assert result.makespan_us == 40 * 60 * US_PER_S
    assert max(run.passes for run in result.runs) == 1


def test_short_work_fills_the_time_until_a_gang_is_due() -> None:
    """
    The gang starts at 90 s, when the last thread is free; nothing of 50 s is in its way.
    """
    result = figure("reservation")
    gang = next(run for run in result.runs if run.job == "TRAIN")
    before = [run for run in result.runs if 0 < run.start_us < gang.start_us]

    assert (gang.turn_us, gang.start_us, gang.passes) == (30 * US_PER_S, 90 * US_PER_S, 6)
    assert {run.end_us - run.start_us for run in before} == {20 * US_PER_S}
    assert max(run.end_us for run in before) <= gang.start_us


def test_use_yields_to_shares_as_far_as_the_limit_says() -> None:
    """
    A thread that is of no use to gangs of weight 4 is free half of the time, or never.
    """
    scenario = read_queue_scenario(QUEUES / "shares-or-use.yaml")
    shares, use = (
        simulate_fair_queue(scenario),
        simulate_fair_queue(replace(scenario, bypass_limit=10**6)),
    )

    assert Fraction(shares.service, shares.capacity_us) == Fraction(20, 23)
    assert use.service == use.capacity_us
    assert shares.jobs[0].end_us == use.jobs[0].end_us


def test_a_gang_that_waits_for_capacity_to_come_back_runs_then() -> None:
    """
    Set aside while only two threads are there, it is tried again when there are four.
    """
    jobs = (SimulatedJob("wide", (10,), width=4), SimulatedJob("narrow", (10,) * 40))
    capacity = QueueThreadCountOverTime(2, ((100, 4),))
    result = simulate_fair_queue(QueueScenario("", capacity, jobs, bypass_limit=1, hold_us=20))

    wide = next(run for run in result.runs if run.job == "wide")
    assert wide.start_us == 100
    assert result.never_ran == ()


def test_a_gang_that_never_fits_is_reported() -> None:
    """
    Capacity for it never comes back: the others run, and the result says who did not.
    """
    jobs = (SimulatedJob("wide", (10,), width=4, arrives_us=50), SimulatedJob("narrow", (10,) * 40))
    capacity = QueueThreadCountOverTime(4, ((5, 2),))
    result = simulate_fair_queue(QueueScenario("", capacity, jobs, bypass_limit=1, hold_us=20))

    assert result.never_ran == (("wide", 1),)
    assert result.jobs[0].end_us is None
    assert sum(run.job == "narrow" for run in result.runs) == 40


def test_no_thread_of_capacity_is_free_while_work_waits() -> None:
    """
    Q1: work conserving, on 150 random simulations with arrivals and changing capacity.
    """
    for seed in range(150):
        result = simulate_fair_queue(random_scenario(seed))
        for now_us in moments(result):
            waits = sum(
                len(job.lengths_us) for job in result.scenario.jobs if job.arrives_us <= now_us
            ) - sum(run.start_us <= now_us for run in result.runs)
            free = capacity_at(result.scenario.capacity, now_us) - len(running_at(result, now_us))

            assert waits == 0 or free <= 0, f"seed {seed} at {now_us}"


def test_a_thread_of_capacity_runs_one_thread_of_work_at_a_time() -> None:
    """
    Q1: every thread of work runs once, whole, after it arrived, and nothing overlaps.
    """
    for seed in range(150):
        result = simulate_fair_queue(random_scenario(seed))
        slow = dict(result.scenario.capacity.slow)
        by_number: dict[int, list[SimulatedJobThread]] = {}
        for run in result.runs:
            by_number.setdefault(run.on[0], []).append(run)
        for number, runs in by_number.items():
            assert all(a.end_us <= b.start_us for a, b in pairwise(runs))
            for run in runs:
                job = next(job for job in result.scenario.jobs if job.name == run.job)
                length = job.lengths_us[run.thread - 1]
                took = -(-length * slow.get(number, 1000) // 1000)
                assert (run.end_us - run.start_us, run.start_us >= job.arrives_us) == (took, True)
        ran = {(run.job, run.thread) for run in result.runs}
        assert len(ran) == len(result.runs) == sum(len(j.lengths_us) for j in result.scenario.jobs)


def test_nothing_ends_before_the_lower_bound() -> None:
    """
    The bound that is shown beside the end is one, on 300 random simulations.
    """
    for seed in range(300):
        result = simulate_fair_queue(random_scenario(seed))

        assert result.lower_bound_us <= result.makespan_us, f"seed {seed}"


def test_one_job_ends_within_grahams_bound() -> None:
    """
    Q3: W/C + (1 - 1/C) Lmax, on 500 random jobs; the worst ratio is printed.
    """
    worst = Fraction(0)
    for seed in range(500):
        rng = random.Random(seed)
        lengths = tuple(rng.randint(1, rng.choice([9, 90])) for _ in range(rng.randint(1, 40)))
        result = simulate_fair_queue(
            QueueScenario(
                "", QueueThreadCountOverTime(rng.randint(1, 9)), (SimulatedJob("j", lengths),)
            )
        )

        assert result.upper_bound_us is not None
        worst = max(worst, result.makespan_us / result.upper_bound_us)
    say(f"makespan over Graham's bound, 500 jobs: at worst {float(worst):.4f}")

    assert worst <= 1


def test_a_simulation_repeats() -> None:
    """
    The same file gives the same runs and reasons, drawn lengths included.
    """
    assert figure("unknown-lengths").runs == figure("unknown-lengths").runs


def test_another_seed_draws_other_lengths() -> None:
    """
    The seed of the command replaces the file's.
    """
    file = QUEUES / "unknown-lengths.yaml"

    assert read_queue_scenario(file, seed=1).jobs != read_queue_scenario(file, seed=2).jobs
    assert read_queue_scenario(file, seed=3).jobs == read_queue_scenario(file).jobs


def test_the_curves_are_the_runs() -> None:
    """
    Threads in use, their means and their integral all come to the same service.
    """
    result = simulate_fair_queue(random_scenario(3))
    curves = job_threads_over_time(result)
    service = {job.name: job.service for job in result.jobs}

    assert {job: curve[-1][1] for job, curve in service_over_time(curves).items()} == service
    for job, curve in curves.items():
        bins = curve_means_in_time_bins(curve, result.makespan_us, 37)
        assert sum(bins) * result.makespan_us / 37 == pytest.approx(service[job])


@pytest.mark.parametrize(
    ("units", "threads", "expected"),
    [(10, 3, (4, 3, 3)), (10, 10, (1,) * 10), (10, 1, (10,)), (3, 2, (2, 1))],
)
def test_units_are_dealt_in_order_and_evenly(
    units: int, threads: int, expected: tuple[int, ...]
) -> None:
    """
    Consecutive units go to a thread; counts differ by one at the most.
    """
    assert work_units_dealt_to_threads([1] * units, threads) == expected
    assert work_split_into_threads(units, threads) == expected
