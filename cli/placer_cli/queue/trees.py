"""Results of the queue's commands as documents for programs; times are microseconds."""

from placer.queue.file.history_file import ThreadLengthHistory
from placer.queue.model import US_PER_S, SiblingFlowChoice
from placer.queue.simulation.result import QueueSimulationResult, SimulatedJobThread

API_VERSION = "placer/v1"


def queue_simulation_to_dict(result: QueueSimulationResult) -> dict[str, object]:
    """Return a simulation's document."""
    bound = result.upper_bound_us
    lead = result.lead
    return {
        "apiVersion": API_VERSION,
        "kind": "QueueSimulated",
        "title": result.scenario.title,
        "charge": result.scenario.charge.value,
        "makespan_us": result.makespan_us,
        "lowerBound_us": result.lower_bound_us,
        "upperBound_us": None if bound is None else int(bound),
        "capacity_us": result.capacity_us,
        "service_us": result.service,
        "lead": None
        if lead is None or lead.flow is None
        else {
            "flow": lead.flow,
            "over": lead.over,
            "at_us": lead.at_us,
            "ratio": str(lead.ratio),
        },
        "jobs": [
            {
                "name": job.name,
                "group": job.group,
                "threads": job.threads,
                "arrives_us": job.arrives_us,
                "start_us": job.first_start_us,
                "end_us": job.end_us,
                "service_us": job.service,
            }
            for job in result.jobs
        ],
        "runs": [_run(run) for run in result.runs],
        "neverRan": [{"job": job, "threads": threads} for job, threads in result.never_ran],
    }


def thread_count_advice_to_dict(history: ThreadLengthHistory) -> dict[str, object]:
    """Return the document of an advice."""
    return {
        "apiVersion": API_VERSION,
        "kind": "QueueAdvice",
        "title": history.title,
        "target_us": history.target_us,
        "majority_permille": history.majority_permille,
        "jobs": [
            {
                "name": job.job,
                "threads": job.now,
                "work_us": job.work_us,
                "byWork": job.by_work,
                "forMajority": job.for_majority,
                "advice": job.threads,
                "inTime": str(job.within_now),
                "thenInTime": str(job.within_then),
            }
            for job in history.advice()
        ],
    }


def _run(run: SimulatedJobThread) -> dict[str, object]:
    return {
        "job": run.job,
        "thread": run.thread,
        "on": list(run.on),
        "start_us": run.start_us,
        "end_us": run.end_us,
        "turn_us": run.turn_us,
        "passes": run.passes,
        "why": [_step(step) for step in run.steps],
    }


def _step(step: SiblingFlowChoice) -> dict[str, object]:
    """Return one level of a decision; values in thread-seconds over weight, as fractions."""
    return {
        "group": step.group,
        "chosen": step.chosen,
        "value": str(step.value / US_PER_S),
        "runnerUp": step.runner_up,
        "runnerUpValue": None
        if step.runner_up_value is None
        else str(step.runner_up_value / US_PER_S),
    }
