"""A job's slots on workers, for a terminal."""

from collections.abc import Iterator, Sequence
from typing import assert_never

from rich.console import RenderableType
from rich.text import Text

from placer.slots.amount_text import FIELDS, format_hundred_millionths
from placer.slots.compiled import CompiledDataflowJob
from placer.slots.workers.lacks import (
    ExistingWorkersFullReason,
    RegionGangWithoutSlots,
    SlotsUndecidedInTimeReason,
    SlotTooLargeReason,
    WorkerLimitExceededReason,
)
from placer.slots.workers.place import ConcurrentRegionGangsResult, JobPlacedOnWorkers, NamedWorkers
from placer_cli.draw.canvas import WidthAndMarks
from placer_cli.draw.palette import BAD, QUIET, STRONG
from placer_cli.draw.tables import TableCell, table_of_first_rows
from placer_cli.draw.text_flow import drawing_with_title, stack_yielded_drawings
from placer_cli.draw.texts import memory_text
from placer_cli.slots.drawn import slot_resource_texts
from placer_models.message_text import count_with_noun

MOST_ROWS = 60
"""So many rows of a table are drawn; --format json has all."""

MOST_TURNS = 12
"""So many turns are drawn."""


@stack_yielded_drawings
def draw_slots_on_workers(
    job: CompiledDataflowJob, pool: NamedWorkers, placed: JobPlacedOnWorkers, canvas: WidthAndMarks
) -> Iterator[RenderableType]:
    """Draw where the slots of a job are, and what it takes."""
    new = count_with_noun(placed.new_workers, "new worker")
    proof = "proven fewest" if placed.proven else f"not proven, at least {placed.bound:,}"
    yield Text(f"{job.name or 'job'}: {new}, {proof}", STRONG)
    if placed.reserve_lacks:
        missing = count_with_noun(placed.reserve_lacks, "worker")
        yield Text(f"The limits keep {missing} from the reserve; raise limits to have it.", BAD)
    lacks = [lack for turn in placed.turns for lack in turn.lacks]
    for lack in lacks[:MOST_TURNS]:
        needs = count_with_noun(job.gangs[lack.gang].width, "slot")
        yield Text(
            f"{_regions(job, lack.gang)} has no slots: "
            f"it needs {needs} together, {_why(job, lack)}",
            BAD,
        )
    if len(lacks) > MOST_TURNS:
        yield Text(f"And {len(lacks) - MOST_TURNS:,} more without slots.", BAD)
    reserve = [_reserve(pool, placed.in_reserve)] if placed.in_reserve else []
    alone = len(placed.turns) == 1
    for number, turn in enumerate(placed.turns[:MOST_TURNS]):
        rows = [*_rows(job, turn), *reserve]
        if rows and (alone or turn.slots):
            title = "Slots" if alone else f"Turn {number}: {_regions(job, turn.placed[0])}"
            yield ""
            yield drawing_with_title(title, _table(rows, canvas))
    if len(placed.turns) > MOST_TURNS:
        yield Text(f"and {count_with_noun(len(placed.turns) - MOST_TURNS, 'turn')} more", QUIET)


def _regions(job: CompiledDataflowJob, gang: int) -> str:
    numbers = job.gangs[gang].regions
    return f"region {'+'.join(map(str, numbers))}"


def _why(job: CompiledDataflowJob, lack: RegionGangWithoutSlots) -> str:
    """Say which amount or limit is short, and the mend."""
    match lack.reason:
        case SlotTooLargeReason(group, amounts):
            name = job.groups[group].name
            wants = " and ".join(f"{_amount(n, w)} {FIELDS.get(n, n)}" for n, w, _ in amounts)
            has = " and ".join(_amount(n, h) for n, _, h in amounts)
            return (
                f"and a slot of group {name} takes {wants}, where a new worker has {has}. "
                "Make worker.resources larger."
            )
        case WorkerLimitExceededReason(limit, new):
            most = count_with_noun(new, "new worker")
            return f"and limits.{limit} allows {most}, too few. Raise it."
        case ExistingWorkersFullReason(group, limit):
            name = job.groups[group].name
            or_limit = f", or limits.{limit.limit} is too low" if limit else ""
            return (
                f"and a slot of group {name} fits workers that are there, but no new one; beside "
                f"the other slots they have no room{or_limit}. Make worker.resources larger."
            )
        case SlotsUndecidedInTimeReason():
            return "and no place was found in the time. Raise --time-limit."
        case _:
            assert_never(lack.reason)


def _amount(name: str, amount: int) -> str:
    return memory_text(amount) if name.endswith("_bytes") else format_hundred_millionths(amount)


def _rows(job: CompiledDataflowJob, turn: ConcurrentRegionGangsResult) -> list[list[TableCell]]:
    return [
        [
            slots.worker,
            job.groups[slots.group].name,
            _range(slots.slots),
            f"{len(slots.slots):,}",
            *slot_resource_texts(slots.size),
        ]
        for slots in turn.slots
    ]


def _reserve(pool: NamedWorkers, numbers: range) -> list[TableCell]:
    """Return the row of the new workers that are for the reserve alone: all that each has."""
    whole = slot_resource_texts(pool.workers.spec.total)
    return [f"new {_range(numbers)}", Text("(reserve)", QUIET), "", "", *whole]


def _table(rows: Sequence[Sequence[TableCell]], canvas: WidthAndMarks) -> RenderableType:
    amounts = ("cpu", "heap", "off-heap", "managed", "network", "more")
    head = ("worker", "group", "slots", "count", *amounts)
    return table_of_first_rows(
        head,
        rows,
        canvas.width,
        MOST_ROWS,
        lambda more: f"{count_with_noun(more, 'row')} more",
        numbers=head[3:9],
        wrap={"worker": 8, "group": 10, "more": 10},
        spare=("network", "off-heap"),
    )


def _range(slots: range) -> str:
    return str(slots[0]) if len(slots) == 1 else f"{slots[0]}-{slots[-1]}"
