"""A job's slots on workers, for a terminal."""

from collections.abc import Iterator

from rich.console import Group as Lines
from rich.console import RenderableType
from rich.text import Text

from placer.slots.compiled import CompiledJob
from placer.slots.workers.place import PlacedJob, Turn
from placer_cli.draw.canvas import Canvas
from placer_cli.draw.flow import titled
from placer_cli.draw.palette import BAD, QUIET, STRONG
from placer_cli.draw.tables import table
from placer_cli.draw.words import count
from placer_cli.slots.drawn import amounts

MOST_ROWS = 60
"""So many rows of a table are drawn; --format json has all."""

MOST_TURNS = 12
"""So many turns are drawn."""


def draw_placed(job: CompiledJob, placed: PlacedJob, canvas: Canvas) -> RenderableType:
    """Draw where the slots of a job are, and what it takes."""
    return Lines(*_parts(job, placed, canvas))


def _parts(job: CompiledJob, placed: PlacedJob, canvas: Canvas) -> Iterator[RenderableType]:
    new = count(placed.new_workers, "new worker")
    proof = "proven fewest" if placed.proven else f"not proven, at least {placed.bound:,}"
    yield Text(f"{job.name or 'job'}: {new}, {proof}", STRONG)
    if placed.reserve_lacks:
        lacks = count(placed.reserve_lacks, "worker")
        yield Text(f"The limits keep {lacks} from the reserve; raise limits to have it.", BAD)
    without = [gang for turn in placed.turns for gang in turn.without]
    for gang in without[:MOST_TURNS]:
        yield Text(
            f"{_regions(job, gang)} has no slots: it needs {count(job.gangs[gang].width, 'slot')} "
            "together. Make workers larger, or raise limits.",
            BAD,
        )
    if len(without) > MOST_TURNS:
        yield Text(f"And {len(without) - MOST_TURNS:,} more like that.", BAD)
    for number, turn in enumerate(placed.turns[:MOST_TURNS]):
        if turn.slots:
            alone = len(placed.turns) == 1
            title = "Slots" if alone else f"Turn {number}: {_regions(job, turn.placed[0])}"
            yield ""
            yield titled(title, _table(job, turn, canvas))
    if len(placed.turns) > MOST_TURNS:
        yield Text(f"and {count(len(placed.turns) - MOST_TURNS, 'turn')} more", QUIET)


def _regions(job: CompiledJob, gang: int) -> str:
    numbers = job.gangs[gang].regions
    return f"region {'+'.join(map(str, numbers))}"


def _table(job: CompiledJob, turn: Turn, canvas: Canvas) -> RenderableType:
    head = (
        "worker",
        "group",
        "slots",
        "count",
        "cpu",
        "heap",
        "off-heap",
        "managed",
        "network",
        "more",
    )
    rows = [
        [
            Text(slots.worker),
            Text(job.groups[slots.group].name),
            Text(_range(slots.slots)),
            Text(f"{len(slots.slots):,}"),
            *map(Text, amounts(slots.size)),
        ]
        for slots in turn.slots[:MOST_ROWS]
    ]
    drawn = table(
        head,
        rows,
        canvas.width,
        numbers=head[3:9],
        wrap={"worker": 8, "group": 10, "more": 10},
        spare=("network", "off-heap"),
    )
    if len(turn.slots) <= MOST_ROWS:
        return drawn
    return Lines(drawn, Text(f"and {count(len(turn.slots) - MOST_ROWS, 'row')} more", QUIET))


def _range(slots: range) -> str:
    return str(slots[0]) if len(slots) == 1 else f"{slots[0]}-{slots[-1]}"
