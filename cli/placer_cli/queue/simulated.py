"""A simulation as a page: pictures, the jobs, and why."""

from collections.abc import Iterator
from fractions import Fraction

from rich.console import Group, RenderableType
from rich.text import Text

from placer.queue.explain import flow_choices_in_words, us_as_seconds_text_without_unit
from placer.queue.model import ONE_MILLI, FlowChargeTime
from placer.queue.simulation.result import (
    QueueSimulationResult,
    SimulatedJobResult,
    SimulatedJobThread,
)
from placer_cli.draw.canvas import WidthAndMarks
from placer_cli.draw.palette import BAD, QUIET, STRONG, owner_marks, owner_style
from placer_cli.draw.tables import TableCell, table_without_empty_columns
from placer_cli.draw.threads import StyledMark
from placer_cli.queue.curves import draw_threads_over_time
from placer_cli.queue.gantt import draw_gantt
from placer_cli.queue.times import percent_text, us_as_seconds_text, weight_text
from placer_models.message_text import count_with_noun


def draw_simulation(
    result: QueueSimulationResult, canvas: WidthAndMarks, most_rows: int, most_decisions: int
) -> Group:
    """Draw a simulation: at most so many threads of capacity, so many decisions."""
    marks = owner_marks(len(result.jobs))
    cells = {
        job.name: StyledMark(mark, owner_style(i))
        for i, (job, mark) in enumerate(zip(result.jobs, marks, strict=True))
    }
    parts: list[RenderableType] = [Text(result.scenario.title, STRONG), Text()]
    if most_rows:
        heading = "Threads of capacity: which thread of work ran when, and how many ran"
        parts += [Text(heading), draw_gantt(result, cells, canvas, most_rows), Text()]
    parts += [Text("Threads in use, by job"), draw_threads_over_time(result, cells, canvas), Text()]
    parts += [_jobs(result, cells, canvas.width), Text(), *_summary(result)]
    chosen = [run for run in result.runs if _was_a_choice(run)]
    if chosen and most_decisions:
        parts += [Text(), Text("Why it was next: the least thread-seconds over weight")]
        parts += [_decision(run) for run in chosen[:most_decisions]]
        if len(chosen) > most_decisions:
            parts.append(Text(f"and {len(chosen) - most_decisions} more", QUIET))
    return Group(*parts)


def _jobs(
    result: QueueSimulationResult, cells: dict[str, StyledMark], width: int
) -> RenderableType:
    weights = {job.name: job.weight_milli for job in result.scenario.jobs}
    groups = {group.name: group.weight_milli for group in result.scenario.groups}
    rows = [
        _job_row(job, cells[job.name], weights[job.name], groups.get(job.group, ONE_MILLI))
        for job in result.jobs
    ]
    times = ("arrives", "starts", "ends", "took", "service")
    names = ("", "job", "group", "weight", "threads", *times)
    return table_without_empty_columns(
        names, rows, width, numbers=names[3:], spare=("weight", "took")
    )


def _job_row(
    job: SimulatedJobResult, cell: StyledMark, weight_milli: int, group_milli: int
) -> list[TableCell]:
    group = job.group if group_milli == ONE_MILLI else f"{job.group} ({weight_text(group_milli)})"
    never = Text("never", BAD)
    return [
        Text(cell.mark, cell.style),
        job.name,
        group,
        weight_text(weight_milli),
        f"{job.threads:,}",
        us_as_seconds_text_without_unit(job.arrives_us),
        never
        if job.first_start_us is None
        else us_as_seconds_text_without_unit(job.first_start_us),
        never if job.end_us is None else us_as_seconds_text_without_unit(job.end_us),
        "" if job.took_us is None else us_as_seconds_text_without_unit(job.took_us),
        us_as_seconds_text_without_unit(job.service),
    ]


def _summary(result: QueueSimulationResult) -> Iterator[Text]:
    used = Fraction(result.service, max(result.capacity_us, 1))
    told = f"All ends at {us_as_seconds_text(result.makespan_us)}"
    if result.never_ran:
        # Bounds on the end of all threads say nothing of the end of some.
        told = f"What ran ended at {us_as_seconds_text(result.makespan_us)}"
    else:
        earliest = us_as_seconds_text(result.lower_bound_us)
        told += f"; no order of the threads could end before {earliest}"
    if result.upper_bound_us is not None and not result.never_ran:
        told += f", none without idling after {us_as_seconds_text(result.upper_bound_us)}"
    yield Text(
        f"Times and service are in seconds. {told}. {percent_text(used)} of the capacity was used."
    )
    yield from _fairness(result)
    yield from _waits(result)
    for job, threads in result.never_ran:
        yield Text(f"{count_with_noun(threads, 'thread')} of {job} never ran: no room", BAD)


def _fairness(result: QueueSimulationResult) -> Iterator[Text]:
    lead = result.lead
    if lead is None or lead.flow is None:
        return
    ratio = f"{float(lead.ratio):.2f}".rstrip("0").rstrip(".")
    told = "at dispatch" if result.scenario.charge is FlowChargeTime.DISPATCH else "as threads run"
    yield Text(
        f"Charged {told}: the largest lead of a flow over a sibling that waited was {ratio} of its "
        f"longest thread ({lead.flow} over {lead.over}, at {us_as_seconds_text(lead.at_us)})."
    )


def _waits(result: QueueSimulationResult) -> Iterator[Text]:
    """Say how long gangs waited once their turn had come."""
    waits = [(run.start_us - run.turn_us, run) for run in result.runs if run.turn_us is not None]
    if not waits:
        return
    wait_us, run = max(waits, key=lambda item: item[0])
    before = count_with_noun(max(run.passes for _, run in waits), "thread")
    turn = "its turn" if len(waits) == 1 else "their turn"
    yield Text(
        f"{count_with_noun(len(waits), 'gang')} did not fit when {turn} came. "
        f"The longest wait from then on was {us_as_seconds_text(wait_us)} "
        f"({run.job} #{run.thread}, from {us_as_seconds_text(run.turn_us or 0)}); "
        f"at most {before} of work went before one."
    )


def _was_a_choice(run: SimulatedJobThread) -> bool:
    return any(step.runner_up is not None for step in run.steps)


def _decision(run: SimulatedJobThread) -> Text:
    where = ",".join(f"C{number}" for number in run.on)
    text = Text(f"{us_as_seconds_text(run.start_us):>9} ", QUIET)
    text.append(f"{where} takes {run.job} #{run.thread}: ")
    text.append(flow_choices_in_words(run.steps))
    if run.turn_us is not None:
        text.append(f"; its turn came at {us_as_seconds_text(run.turn_us)}")
    elif run.steps and run.steps[-1].chosen != run.job:
        text.append(f"; {run.steps[-1].chosen} had to wait")
    if run.passes:
        text.append(f"; {run.passes} went before it", QUIET)
    return text
