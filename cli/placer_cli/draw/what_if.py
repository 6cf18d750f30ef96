"""Two answers side by side: as it is, and with changes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from placer.search.options import SolveOptions
from placer.search.what_if import WhatIf
from placer_cli.draw.canvas import Canvas
from placer_cli.draw.palette import BAD, GOOD, QUIET, STRONG
from placer_cli.draw.places import draw_moves, draw_unplaced
from placer_cli.draw.tables import table
from placer_cli.draw.text_flow import titled
from placer_cli.draw.texts import count_text
from placer_cli.draw.verdict import CENTI_GB_PER_S, tier_value_text, verdict
from placer_models.cluster import Instance
from placer_models.goals import Sense, Tier
from placer_models.placement import Answer, PartlyPlaced, Placed, title_of
from placer_models.whatif.change import InstanceChange


def draw_what_if(
    found: WhatIf,
    changes: Sequence[InstanceChange],
    instance: Instance,
    options: SolveOptions,
    canvas: Canvas,
) -> RenderableType:
    """Draw what the changes change: who gains and loses a place, moves, tiers."""
    return Group(*_parts(found, changes, instance, options, canvas))


def _parts(
    found: WhatIf,
    changes: Sequence[InstanceChange],
    instance: Instance,
    options: SolveOptions,
    canvas: Canvas,
) -> Iterator[RenderableType]:
    yield Text(f"What if {', '.join(map(str, changes))}?", STRONG)
    yield Text(f"As it is:     {verdict(found.before, instance, options)}")
    yield Text(f"With changes: {verdict(found.after, found.changed, options)}")
    yield Text(_sum(found), GOOD if len(found.gained) > len(found.lost) else QUIET)
    places = [
        *(_row(title_of(*key), None, node) for key, node in found.gained.items()),
        *(_row(title_of(*key), node, None) for key, node in found.lost.items()),
        *(_row(f"{title_of(*key)} (new)", None, node) for key, node in found.added.items()),
    ]
    if places:
        yield ""
        yield table(("pod", "as it is", "with changes"), places, canvas.width)
    if isinstance(found.after, Placed | PartlyPlaced) and found.after.moves:
        yield ""
        drawn = draw_moves(found.changed, found.after.moves, canvas)
        yield titled("Running pods that move", drawn)
    tiers = list(_tier_rows(_values(found.before), _values(found.after), canvas))
    if tiers:
        yield ""
        head = ("tier", "as it is", "with changes", "unit")
        drawn = table(head, tiers, canvas.width, numbers=head[1:3], spare=("unit",))
        yield titled("How good it is, where that differs", drawn)
    if not isinstance(found.after, Placed) and found.after.unplaced:
        yield ""
        drawn = draw_unplaced(found.after.unplaced, canvas)
        yield titled("Without a place all the same", drawn)


def _sum(found: WhatIf) -> str:
    """Say in one sentence what the changes are good for."""
    gained, lost = len(found.gained), len(found.lost)
    said = [
        f"{count_text(gained, 'pod')} {'gains' if gained == 1 else 'gain'} a place"
        if gained
        else "",
        f"{count_text(lost, 'pod')} {'loses' if lost == 1 else 'lose'} a place" if lost else "",
    ]
    return f"{' and '.join(filter(None, said)) or 'Nobody gains or loses a place'}."


def _row(title: str, *nodes: str | None) -> list[Text]:
    """Return a row: where a pod is as it is, and with changes; an empty text has none."""
    places = [Text(node, GOOD) if node else Text("no place", BAD) for node in nodes]
    return [Text(title), *places]


def _values(answer: Answer) -> dict[str, tuple[Tier, int]]:
    if not isinstance(answer, Placed | PartlyPlaced):
        return {}
    return {value.tier.name: (value.tier, value.value) for value in answer.tiers}


def _tier_rows(
    before: Mapping[str, tuple[Tier, int]], after: Mapping[str, tuple[Tier, int]], canvas: Canvas
) -> Iterator[list[Text]]:
    """Yield a row for each tier whose value differs."""
    for name in _in_order(after, before):
        tier, now = after.get(name, (None, None))
        tier, was = before.get(name, (tier, None))
        if was == now or tier is None:
            continue
        arrow = canvas.marks.up if tier.sense is Sense.MAXIMISE else canvas.marks.down
        style = QUIET
        if was is not None and now is not None:
            style = GOOD if (now > was) is (tier.sense is Sense.MAXIMISE) else BAD
        unit = "GB/s short of the best" if tier.unit == CENTI_GB_PER_S else tier.unit
        yield [
            Text(name),
            Text("" if was is None else tier_value_text(tier, was)),
            Text("" if now is None else tier_value_text(tier, now), style),
            Text(f"{arrow} {unit}", QUIET),
        ]


def _in_order(*names: Iterable[str]) -> dict[str, None]:
    return dict.fromkeys(name for some in names for name in some)
