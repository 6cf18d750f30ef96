"""A simulation as an SVG picture: Gantt chart, threads in use, and service over time."""

from collections.abc import Mapping, Sequence
from html import escape

from placer.queue.explain import us_as_seconds_text_without_unit
from placer.queue.model import ONE_MILLI, US_PER_S
from placer.queue.simulation.curves import Curve, job_threads_over_time, service_over_time
from placer.queue.simulation.result import QueueSimulationResult
from placer_cli.draw.svg import COLOURS, svg_text
from placer_cli.queue.times import us_as_seconds_text

WIDTH = 960
LEFT, RIGHT = 70, 20
PLOT = WIDTH - LEFT - RIGHT
CURVE_HEIGHT = 180
MOST_RUNS = 20_000
"""A Gantt chart of more runs would be too large to open; it is left out."""

MOST_TIPS = 500
"""Up to this many runs each has its own bar and tip; beyond it a job's bars are one path."""


def simulation_svg(result: QueueSimulationResult) -> str:
    """Return the picture of a simulation."""
    colours = {job.name: COLOURS[i % len(COLOURS)] for i, job in enumerate(result.jobs)}
    page = _Page(max(result.makespan_us, 1))
    page.text(LEFT, 22, result.scenario.title, size=15, bold=True)
    top = _legend(page, colours, 44)
    if len(result.runs) <= MOST_RUNS:
        top = _gantt(page, result, colours, top)
    in_use = job_threads_over_time(result)
    top = _stack(page, in_use, colours, result.scenario.capacity.most, top)
    weights = {job.name: job.weight_milli for job in result.scenario.jobs}
    top = _service(page, service_over_time(in_use), weights, colours, top)
    return page.finished(top)


class _Page:
    """SVG elements, and the scale of time."""

    def __init__(self, end_us: int) -> None:
        self._end_us = end_us
        self._parts: list[str] = []

    def x(self, time_us: int) -> float:
        return round(LEFT + PLOT * time_us / self._end_us, 1)

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: int = 11,
        bold: bool = False,
        end: bool = False,
    ) -> None:
        self._parts.append(svg_text(x, y, text, size=size, bold=bold, end=end))

    def rect(
        self, x: float, y: float, width: float, height: float, fill: str, tip: str = ""
    ) -> None:
        title = f"<title>{escape(tip)}</title>" if tip else ""
        self._parts.append(
            f'<rect x="{x}" y="{y}" width="{max(width, 0.3):.2f}" height="{height}" '
            f'fill="{fill}" stroke="#fff" stroke-width="0.4">{title}</rect>'
        )

    def path(self, points: Sequence[tuple[float, float]], *, fill: str, stroke: str) -> None:
        steps = " ".join(f"{x:.2f},{y:.2f}" for x, y in points)
        kind = "polyline" if fill == "none" else "polygon"
        self._parts.append(
            f'<{kind} points="{steps}" fill="{fill}" stroke="{stroke}" stroke-width="1.2"/>'
        )

    def bars(self, path: Sequence[str], fill: str) -> None:
        if path:
            self._parts.append(f'<path d="{"".join(path)}" fill="{fill}"/>')

    def frame(self, top: float, height: float, heading: str, most: str) -> None:
        """Draw the axes of a part: its heading, 0 and the most on the left, times below."""
        self.text(LEFT, top - 6, heading)
        self.path([(LEFT, top), (LEFT, top + height), (LEFT + PLOT, top + height)],
                  fill="none", stroke="#999")  # fmt: skip
        if most:
            self.text(LEFT - 6, top + 9, most, end=True)
            self.text(LEFT - 6, top + height, "0", end=True)
        self.text(LEFT, top + height + 14, "0 s")
        self.text(LEFT + PLOT, top + height + 14, us_as_seconds_text(self._end_us), end=True)

    def finished(self, height: float) -> str:
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" '
            'font-family="sans-serif" fill="#333">'
            f'<rect width="{WIDTH}" height="{height:.0f}" fill="#fff"/>'
        )
        return "\n".join([head, *self._parts, "</svg>", ""])


def _legend(page: _Page, colours: Mapping[str, str], top: float) -> float:
    x = float(LEFT)
    for job, colour in colours.items():
        width = 30 + 7 * len(job)
        if x + width > WIDTH - RIGHT:
            x, top = float(LEFT), top + 18
        page.rect(x, top - 10, 11, 11, colour)
        page.text(x + 16, top, job)
        x += width
    return top + 34


def _gantt(
    page: _Page, result: QueueSimulationResult, colours: Mapping[str, str], top: float
) -> float:
    threads = result.scenario.capacity.most
    row = max(4, min(18, 400 // threads))
    page.frame(top, row * threads, "Threads of capacity: which thread of work ran when", "")
    for number in range(1, threads + 1):
        if row >= 10 or number % 10 == 0:
            page.text(LEFT - 6, top + row * number - row * 0.25, f"C{number}", end=True)
    bars: dict[str, list[str]] = {job: [] for job in colours}
    for run in result.runs:
        start, end = us_as_seconds_text_without_unit(run.start_us), us_as_seconds_text(run.end_us)
        tip = f"{run.job} #{run.thread}: {start} to {end}"
        x, width = page.x(run.start_us), page.x(run.end_us) - page.x(run.start_us)
        for number in run.on:
            y = top + row * (number - 1) + 0.5
            if len(result.runs) <= MOST_TIPS:
                page.rect(x, y, width, row - 1, colours[run.job], tip)
            else:
                bars[run.job].append(f"M{x:g} {y:g}h{max(width - 0.5, 0.3):.1f}v{row - 1}H{x:g}z")
    for job, path in bars.items():
        page.bars(path, colours[job])
    return top + row * threads + 48


def _stack(
    page: _Page, in_use: Mapping[str, Curve], colours: Mapping[str, str], most: int, top: float
) -> float:
    """Draw the threads in use as areas, one job on top of the other."""
    page.frame(top, CURVE_HEIGHT, "Threads of capacity in use, by job", str(most))
    times = sorted({time for curve in in_use.values() for time, _ in curve})
    base = dict.fromkeys(times, 0)
    for job, curve in in_use.items():
        changes, value = dict(curve), 0
        lower: list[tuple[float, float]] = []
        upper: list[tuple[float, float]] = []
        before = (0, 0)
        for time in times:
            x = page.x(time)
            lower += [(x, _height(top, before[0], most)), (x, _height(top, base[time], most))]
            upper.append((x, _height(top, before[1], most)))
            value = changes.get(time, value)
            before = (base[time], base[time] + value)
            base[time] += value
            upper.append((x, _height(top, before[1], most)))
        page.path([*upper, *reversed(lower)], fill=colours[job], stroke="none")
    return top + CURVE_HEIGHT + 48


def _service(
    page: _Page,
    service: Mapping[str, Curve],
    weights_milli: Mapping[str, int],
    colours: Mapping[str, str],
    top: float,
) -> float:
    """Draw each job's service over its weight as a line."""
    values = {
        job: [(time, total * ONE_MILLI / weights_milli[job]) for time, total in curve]
        for job, curve in service.items()
    }
    most = max((value for curve in values.values() for _, value in curve), default=1.0) or 1.0
    label = f"{most / US_PER_S:,.0f}"
    page.frame(top, CURVE_HEIGHT, "Service over the job's weight, thread-seconds", label)
    for job, curve in values.items():
        points = [(page.x(time), top + CURVE_HEIGHT * (1 - value / most)) for time, value in curve]
        page.path(points, fill="none", stroke=colours[job])
    return top + CURVE_HEIGHT + 30


def _height(top: float, value: int, most: int) -> float:
    return top + CURVE_HEIGHT * (1 - value / most)
