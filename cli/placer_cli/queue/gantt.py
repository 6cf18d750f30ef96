"""A Gantt picture in the terminal: a row for each thread of capacity, time to the right."""

from collections import defaultdict
from collections.abc import Mapping

from rich.style import Style
from rich.text import Text

from placer.queue.simulation.result import QueueSimulationResult, SimulatedJobThread
from placer_cli.draw.canvas import UNICODE, WidthAndMarks
from placer_cli.draw.palette import QUIET
from placer_cli.draw.threads import StyledMark
from placer_cli.queue.times import us_as_seconds_text

LABEL_COLUMNS = 6
COUNT_COLUMNS = 5


def draw_gantt(
    result: QueueSimulationResult,
    cells: Mapping[str, StyledMark],
    canvas: WidthAndMarks,
    most_rows: int,
) -> Text:
    """Draw the runs; each begins with its job's mark. The count of runs ends a row."""
    columns = max(canvas.width - LABEL_COLUMNS - COUNT_COLUMNS, 10)
    on_thread: dict[int, list[SimulatedJobThread]] = defaultdict(list)
    for run in result.runs:
        for number in run.on:
            on_thread[number].append(run)
    threads = result.scenario.capacity.most
    text = Text(no_wrap=True, overflow="crop")
    for number in range(1, min(threads, most_rows) + 1):
        text.append(f"{f'C{number}':<{LABEL_COLUMNS}}", QUIET)
        _row(text, on_thread[number], cells, result.makespan_us, columns, canvas)
        text.append(f"{len(on_thread[number]):>{COUNT_COLUMNS}}\n", QUIET)
    if threads > most_rows:
        text.append(f"and {threads - most_rows} more threads of capacity\n", QUIET)
    return text.append_text(time_axis(result.makespan_us, columns))


def time_axis(end_us: int, columns: int) -> Text:
    """Return the line below a picture: time 0 at the left, the end at the right."""
    end = us_as_seconds_text(end_us)
    gap = max(columns - len(end) - len("0 s"), 1)
    return Text(f"{'':<{LABEL_COLUMNS}}0 s{'':<{gap}}{end}", QUIET, no_wrap=True, overflow="crop")


def _row(
    text: Text,
    runs: list[SimulatedJobThread],
    cells: Mapping[str, StyledMark],
    end_us: int,
    columns: int,
    canvas: WidthAndMarks,
) -> None:
    """Append a cell for each slice of time: who ran in the middle of it."""
    line = "─" if canvas.marks is UNICODE else "-"
    position, begun = 0, -1
    for column in range(columns):
        middle_us = (2 * column + 1) * end_us // (2 * columns)
        while position < len(runs) and runs[position].end_us <= middle_us:
            position += 1
        if position == len(runs) or runs[position].start_us > middle_us:
            text.append(canvas.marks.empty, QUIET)
            continue
        cell = cells[runs[position].job]
        mark = cell.mark[0] if position != begun else line
        begun = position
        text.append(mark, cell.style + Style(bold=mark != line))
