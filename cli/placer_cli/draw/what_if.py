"""Two answers side by side: as it is, and with changes."""

from collections.abc import Iterator, Mapping, Sequence

from rich.console import RenderableType
from rich.text import Text

from placer.explain.explain import funnel_of_remaining_nodes
from placer.explain.explanation import unplaced_cause_token
from placer.search.options import SolveOptions
from placer.search.what_if import WhatIfComparison
from placer_cli.draw.breaking import WrappingText
from placer_cli.draw.canvas import WidthAndMarks
from placer_cli.draw.palette import BAD, GOOD, QUIET, STRONG
from placer_cli.draw.places import draw_moves, draw_unplaced
from placer_cli.draw.tables import TableCell, table_without_empty_columns
from placer_cli.draw.text_flow import drawing_with_title, stack_yielded_drawings
from placer_cli.draw.tiers import tier_unit_text
from placer_cli.draw.verdict import answer_summary, tier_value_text
from placer_models.cluster import Instance
from placer_models.goals import ObjectiveSense, Tier
from placer_models.message_text import count_with_noun
from placer_models.placement import (
    Answer,
    NamespacedName,
    PartlyPlaced,
    Placed,
    Unplaced,
    pod_or_gang_title,
)
from placer_models.pod import pods_of_gangs
from placer_models.whatif.change import InstanceChange


@stack_yielded_drawings
def draw_what_if(
    found: WhatIfComparison,
    changes: Sequence[InstanceChange],
    instance: Instance,
    options: SolveOptions,
    canvas: WidthAndMarks,
) -> Iterator[RenderableType]:
    """Draw what the changes change: who gains and loses a place, moves, tiers."""
    yield Text(f"What if {', '.join(map(str, changes))}?", STRONG)
    yield Text(f"As it is:     {answer_summary(found.before, instance, options)}")
    yield Text(f"With changes: {answer_summary(found.after, found.changed, options)}")
    yield Text(_sum(found), GOOD if len(found.gained) > len(found.lost) else QUIET)
    places = [
        *(_row(pod_or_gang_title(*key), None, node) for key, node in found.gained.items()),
        *(_row(pod_or_gang_title(*key), node, None) for key, node in found.lost.items()),
        *(
            _row(f"{pod_or_gang_title(*key)} (new)", None, node)
            for key, node in found.added.items()
        ),
    ]
    if places:
        yield ""
        yield table_without_empty_columns(("pod", "as it is", "with changes"), places, canvas.width)
    if isinstance(found.after, Placed | PartlyPlaced) and found.after.moves:
        yield ""
        drawn = draw_moves(found.changed, found.after.moves, canvas)
        yield drawing_with_title("Running pods that move", drawn)
    tiers = list(_tier_rows(_values(found.before), _values(found.after), canvas))
    if tiers:
        yield ""
        head = ("tier", "as it is", "with changes", "unit")
        drawn = table_without_empty_columns(
            head, tiers, canvas.width, numbers=head[1:3], spare=("unit",)
        )
        yield drawing_with_title("How good it is, where that differs", drawn)
    if not isinstance(found.after, Placed) and found.after.unplaced:
        yield ""
        others_wait = _reasons_differ(found, instance)
        if others_wait:
            drawn = draw_unplaced(others_wait, found.changed, canvas)
            yield drawing_with_title("Without a place, for another reason than before", drawn)
        if count := len(found.after.unplaced) - len(others_wait):
            who = count_with_noun(count, "more pod" if others_wait else "pod")
            waits = f"{'waits' if count == 1 else 'wait'} for the same reason as before"
            yield WrappingText(Text(f"{who} {waits} (placer explain says why)", QUIET))


def _reasons_differ(found: WhatIfComparison, instance: Instance) -> list[Unplaced]:
    """Return who has no place with the changes, and another reason for it, or other wishes.

    The reason is the verdict and the rule that decides. That a rule keeps off other numbers of
    nodes changes neither.
    """
    before = () if isinstance(found.before, Placed) else found.before.unplaced
    after = () if isinstance(found.after, Placed) else found.after.unplaced
    why = dict(_whys(before, instance))
    return [
        one
        for one, (key, said) in zip(after, _whys(after, found.changed), strict=True)
        if why.get(key) != said
    ]


def _whys(
    unplaced: Sequence[Unplaced], instance: Instance
) -> Iterator[tuple[NamespacedName, object]]:
    """Yield who is left out, and why: what is asked, verdict and rule, all but the first reason."""
    specs = {pod.key: pod.spec for pod in pods_of_gangs(instance.gangs)}
    for one in unplaced:
        token = unplaced_cause_token(one.why, funnel_of_remaining_nodes(one, len(instance.nodes)))
        yield one.key, (specs.get(one.key), token, one.reasons[1:])


def _sum(found: WhatIfComparison) -> str:
    """Say in one sentence what the changes are good for."""
    gained, lost = len(found.gained), len(found.lost)
    said = [
        f"{count_with_noun(gained, 'pod gains', 'pods gain')} a place" if gained else "",
        f"{count_with_noun(lost, 'pod loses', 'pods lose')} a place" if lost else "",
    ]
    return f"{' and '.join(filter(None, said)) or 'Nobody gains or loses a place'}."


def _row(title: str, *nodes: str | None) -> list[TableCell]:
    """Return a row: where a pod is as it is, and with changes; an empty text has none."""
    places = [Text(node, GOOD) if node else Text("no place", BAD) for node in nodes]
    return [title, *places]


def _values(answer: Answer) -> dict[str, tuple[Tier, int]]:
    if not isinstance(answer, Placed | PartlyPlaced):
        return {}
    return {value.tier.name: (value.tier, value.value) for value in answer.tiers}


def _tier_rows(
    before: Mapping[str, tuple[Tier, int]],
    after: Mapping[str, tuple[Tier, int]],
    canvas: WidthAndMarks,
) -> Iterator[list[TableCell]]:
    """Yield a row for each tier whose value differs."""
    for name in dict.fromkeys((*after, *before)):
        tier, now = after.get(name, (None, None))
        tier, was = before.get(name, (tier, None))
        if was == now or tier is None:
            continue
        style = QUIET
        if was is not None and now is not None:
            style = GOOD if (now > was) is (tier.sense is ObjectiveSense.MAXIMISE) else BAD
        before_text = "" if was is None else tier_value_text(tier, was)
        after_text = Text("" if now is None else tier_value_text(tier, now), style)
        yield [name, before_text, after_text, tier_unit_text(tier, canvas)]
