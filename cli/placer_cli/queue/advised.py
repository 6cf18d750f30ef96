"""Advice as a page: counts, and how the lengths are distributed."""

import math
from collections.abc import Sequence
from fractions import Fraction

from rich.console import Group, RenderableType
from rich.text import Text

from placer.queue.advice import JobThreadCountAdvice
from placer.queue.explain import us_as_seconds_text_without_unit
from placer.queue.file.history_file import ThreadLengthHistory
from placer_cli.draw.canvas import WidthAndMarks
from placer_cli.draw.palette import BAD, GOOD, QUIET, STRONG
from placer_cli.draw.tables import table_without_empty_columns
from placer_cli.queue.times import percent_text, us_as_seconds_text
from placer_models.message_text import count_with_noun

_EDGES = tuple(Fraction(n, 4) for n in (1, 2, 3, 4)) + tuple(map(Fraction, (2, 4, 8)))
"""Bin edges as multiples of the target."""

_IN_TIME = 4
"""The number of bins within the target."""

_LABEL_COLUMNS = 20
_SHARE_COLUMNS = 7


def draw_thread_count_advice(history: ThreadLengthHistory, canvas: WidthAndMarks) -> Group:
    """Draw the advice for every job, then the distribution of each job's lengths."""
    advice = history.advice()
    target, majority = (
        us_as_seconds_text(history.target_us),
        percent_text(Fraction(history.majority_permille, 1000)),
    )
    parts: list[RenderableType] = [
        Text(history.title, STRONG),
        Text(),
        _table(advice, majority, canvas.width),
        Text(),
        Text(
            f"by work: the work over {target}, rounded up. For {majority}: so many that {majority} "
            f"of the threads end within {target}, if the work of each can be dealt to more threads."
        ),
    ]
    for job in advice:
        parts += [Text(), _distribution(job, history.target_us, canvas)]
    return Group(*parts)


def _table(advice: Sequence[JobThreadCountAdvice], majority: str, width: int) -> RenderableType:
    head = ("job", "threads", "work s", "in time", "by work")
    names = (*head, f"for {majority}", "advice", "then in time")
    rows = [
        (
            job.job,
            f"{job.now:,}",
            us_as_seconds_text_without_unit(job.work_us),
            percent_text(job.within_now),
            f"{job.by_work:,}",
            f"{job.for_majority:,}",
            Text(_advised(job), STRONG if job.threads != job.now else QUIET),
            percent_text(job.within_then),
        )
        for job in advice
    ]
    return table_without_empty_columns(
        names, rows, width, numbers=names[1:], spare=("then in time", "work s")
    )


def _advised(job: JobThreadCountAdvice) -> str:
    if job.threads == job.now:
        return f"{job.threads:,} as now"
    factor = f"{float(job.factor):.1f}".removesuffix(".0")
    return f"{job.threads:,} = {factor} x"


def _distribution(job: JobThreadCountAdvice, target_us: int, canvas: WidthAndMarks) -> Text:
    """Draw which share of the threads falls between multiples of the target."""
    pictures = [_bins(job.lengths_us, target_us)]
    headings = [f"{count_with_noun(job.now, 'thread')} now"]
    if job.threads != job.now:
        pictures.append(_bins([length / job.factor for length in job.lengths_us], target_us))
        headings.append(f"as {job.threads:,} threads")
    columns = max((canvas.width - _LABEL_COLUMNS) // 2 - _SHARE_COLUMNS, 5)
    text = Text(no_wrap=True, overflow="crop")
    text.append(f"{job.job:<{_LABEL_COLUMNS}.{_LABEL_COLUMNS - 1}}", STRONG)
    for heading in headings:
        text.append(f"{heading:<{columns + _SHARE_COLUMNS}}", QUIET)
    for i in range(max(i for bins in pictures for i, n in enumerate(bins) if n) + 1):
        text.append(f"\n{_label(i, target_us):<{_LABEL_COLUMNS}}", QUIET)
        for bins in pictures:
            share = Fraction(bins[i], job.now)
            bar = canvas.marks.full * math.ceil(share * columns)
            text.append(bar, GOOD if i < _IN_TIME else BAD)
            told = f" {percent_text(share)}" if bins[i] else ""
            text.append(f"{told:<{columns + _SHARE_COLUMNS - len(bar)}}", QUIET)
    return text


def _bins(lengths_us: Sequence[int | Fraction], target_us: int) -> list[int]:
    """Count the lengths up to each edge; the last bin has those beyond all edges."""
    bins = [0] * (len(_EDGES) + 1)
    for length in lengths_us:
        bins[sum(length > edge * target_us for edge in _EDGES)] += 1
    return bins


def _label(i: int, target_us: int) -> str:
    if i == 0:
        return f"up to {us_as_seconds_text(_EDGES[0] * target_us)}"
    if i == len(_EDGES):
        return f"over {us_as_seconds_text(_EDGES[-1] * target_us)}"
    low = us_as_seconds_text_without_unit(_EDGES[i - 1] * target_us)
    return f"{low} to {us_as_seconds_text(_EDGES[i] * target_us)}"
