"""Explanations as trees: the verdict, the nodes that remain rule by rule, what would do."""

from collections.abc import Collection, Iterator, Sequence

from rich.console import Group, RenderableType
from rich.text import Text
from rich.tree import Tree

from placer.explain.explanation import Explanation, ProposedChange
from placer_cli.draw.canvas import Canvas
from placer_cli.draw.palette import GOOD, QUIET, STRONG
from placer_cli.draw.texts import count, fold_names
from placer_models.cluster import Instance
from placer_models.placement import Answer, NamespacedName, PartlyPlaced, Placed, title_of

SHOWN_CHANGES = 3
"""How many changes are drawn: the cheapest for people."""

SHOWN_PARTS = 2
"""Of a change of more parts than this the first few are drawn, and how many there are."""

MEANS = {
    "mend-node": "mend nodes",
    "relax": "prefer a policy instead of requiring it",
    "give-up": "give a term up",
    "ask-less": "ask for less",
    "fewer-members": "fewer members",
    "move": "move running pods",
    "end": "end running pods",
    "add-nodes": "add nodes",
}
"""Kinds of changes in the words of people."""


def draw_explanations(
    explanations: Sequence[Explanation],
    instance: Instance,
    answer: Answer,
    names: Collection[NamespacedName] | None,
    canvas: Canvas,
) -> RenderableType:
    """Draw each explanation as a tree; who has a place is told where it is."""
    parts: list[RenderableType] = []
    if not explanations:
        parts.append(Text(_placed(answer, names), GOOD))
    for one in explanations:
        if parts:
            parts.append("")
        parts.append(_tree(one, len(instance.nodes), canvas))
    return Group(*parts)


def _placed(answer: Answer, names: Collection[NamespacedName] | None) -> str:
    if not isinstance(answer, Placed | PartlyPlaced) or not names:
        return "Everything that waits has a place."
    asked = set(names)
    places = [
        f"{title_of(*place.key)} is on {place.node}"
        for place in answer.placement.pods
        if place.key in asked or (place.namespace, place.gang) in asked
    ]
    return f"{'; '.join(places)}."


def _tree(one: Explanation, nodes: int, canvas: Canvas) -> Tree:
    names = fold_names([title_of(*key) for key in one.pods])
    who = f"gang {one.gang}: {names}" if one.gang else names
    several = f" ({count(len(one.pods), 'pod')})" if len(one.pods) > 1 else ""
    tree = Tree(Text.assemble((who, STRONG), several), guide_style=QUIET)
    tree.add(Text(one.sentence))
    for sentence in one.more:
        tree.add(Text(sentence, QUIET))
    if one.funnel:
        steps = " → ".join(
            f"{step.rule} {step.nodes}" if step.rule else count(step.nodes, "node")
            for step in one.funnel
        )
        tree.add(Text(f"nodes that remain: {steps}", QUIET))
    for line in _changes(one):
        tree.add(line)
    return tree


def _changes(one: Explanation) -> Iterator[Text]:
    if one.changes:
        for change in one.changes[:SHOWN_CHANGES]:
            yield Text.assemble("would do: ", (_what(change), GOOD), (_how_small(change), QUIET))
    elif one.ruled_out or one.open:
        yield Text("no change that would do was found")
    if one.ruled_out:
        yield Text(f"none would do: {_kinds(one.ruled_out)}", QUIET)
    if one.open:
        yield Text(f"not known: {_kinds(one.open)}", QUIET)


def _what(change: ProposedChange) -> str:
    parts = [str(part) for part in change.changes]
    shown = ", ".join(parts[:SHOWN_PARTS])
    more = f", … ({len(parts)} in all)" if len(parts) > SHOWN_PARTS else ""
    return f"{MEANS[change.kind]}: {shown}{more}"


def _how_small(change: ProposedChange) -> str:
    return " (proven smallest)" if change.smallest else " (a smaller one may do)"


def _kinds(kinds: Sequence[str]) -> str:
    return ", ".join(MEANS[kind] for kind in kinds)
