"""Curves of capacity over time: who holds its threads, stacked, in the terminal."""

from collections.abc import Mapping, Sequence

from rich.text import Text

from placer.queue.simulation.curves import curve_means_in_time_bins, job_threads_over_time
from placer.queue.simulation.result import QueueSimulationResult
from placer_cli.draw.canvas import WidthAndMarks
from placer_cli.draw.palette import QUIET
from placer_cli.draw.threads import StyledMark
from placer_cli.queue.gantt import COUNT_COLUMNS, LABEL_COLUMNS, time_axis

ROWS = 12


def draw_threads_over_time(
    result: QueueSimulationResult, cells: Mapping[str, StyledMark], canvas: WidthAndMarks
) -> Text:
    """Draw the threads in use of each job, one job on top of the other."""
    columns = max(canvas.width - LABEL_COLUMNS - COUNT_COLUMNS, 10)
    in_use = job_threads_over_time(result)
    heights = {
        job: curve_means_in_time_bins(curve, result.makespan_us, columns)
        for job, curve in in_use.items()
    }
    threads = result.scenario.capacity.most
    rows = min(ROWS, threads)
    text = Text(no_wrap=True, overflow="crop")
    for row in reversed(range(rows)):
        top = (row + 1) * threads // rows
        text.append(f"{top:>{LABEL_COLUMNS - 1}} ", QUIET)
        middle = (row + 0.5) * threads / rows
        for column in range(columns):
            job = _job_at([(job, bins[column]) for job, bins in heights.items()], middle)
            if job is None:
                text.append(canvas.marks.empty, QUIET)
            else:
                text.append(cells[job].mark[0], cells[job].style)
        text.append("\n")
    return text.append_text(time_axis(result.makespan_us, columns))


def _job_at(stack: Sequence[tuple[str, float]], height: float) -> str | None:
    """Return whose part of the stack is at the height; None: it is above all."""
    for job, part in stack:
        if height < part:
            return job
        height -= part
    return None
