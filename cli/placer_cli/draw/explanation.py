"""Explanations as trees: the verdict, the nodes that remain rule by rule, what would do."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial

from rich.console import Group, RenderableType
from rich.text import Text
from rich.tree import Tree

from placer.explain.acts import instructions_for_changes
from placer.explain.explanation import (
    Explanation,
    FunnelStep,
    NodeLack,
    PodsPlacedInstead,
    SufficientChange,
)
from placer_cli.draw.breaking import WrappingText
from placer_cli.draw.canvas import WidthAndMarks
from placer_cli.draw.node import draw_node
from placer_cli.draw.palette import BAD, GOOD, QUIET, STRONG
from placer_cli.draw.plain import are_qos_classes_worth_showing
from placer_cli.draw.residents import drawn_pods_by_node
from placer_cli.draw.texts import names_as_host_lists
from placer_models.cluster import Instance
from placer_models.kubernetes.names import REQUESTED_CPU
from placer_models.message_text import count_with_noun
from placer_models.placement import (
    Answer,
    NamespacedName,
    PartlyPlaced,
    Placed,
    Placement,
    pod_or_gang_title,
)
from placer_models.pod import PodSpec, pods_of_gangs
from placer_models.quantity import format_bytes
from placer_models.relations import topology_keys_asked

SHOWN_CHANGES = 3
"""How many changes are drawn: the cheapest for people."""

SHOWN_PARTS = 2
"""Of a change of more parts than this the first few are drawn, and how many there are."""

SHOWN_HOLDERS = 3
"""How many of those who hold what is missing are named."""

MOST_COLUMNS = 24
"""How long a bar is at most."""

MEANS = {
    "mend-node": "mend nodes",
    "relax": "prefer a policy instead of requiring it",
    "give-up": "give a term up",
    "label-node": "label nodes",
    "ask-less": "ask for less",
    "fewer-members": "fewer members",
    "move": "move running pods",
    "end": "remove pods",
    "add-nodes": "add nodes",
}
"""Kinds of changes in the words of people."""


def draw_explanations(
    explanations: Sequence[Explanation],
    instance: Instance,
    answer: Answer,
    names: Collection[NamespacedName] | None,
    canvas: WidthAndMarks,
    *,
    of_cluster: bool,
    files: Sequence[str] = (),
    every: bool = False,
) -> RenderableType:
    """Draw each explanation as a tree; who has a place is told where it is.

    Args:
        explanations: Explanations of an answer to the instance.
        instance: The instance.
        answer: The answer.
        names: Who is asked about; None: all without a place.
        canvas: Where they are drawn.
        of_cluster: Whether it is a cluster's instance.
        files: The files that it was read from, as a command names them.
        every: Whether all reasons, holders and changes are drawn.

    """
    told = partial(instructions_for_changes, instance=instance, of_cluster=of_cluster, files=files)
    parts: list[RenderableType] = []
    if not explanations:
        parts.append(Text(_placed(answer, names), GOOD))
    for one in explanations:
        if parts:
            parts.append("")
        acts = {change.kind: told(change.changes) for change in one.changes}
        parts.append(
            _tree(one, acts, canvas, every=every, classes=are_qos_classes_worth_showing(instance))
        )
    if len(explanations) == 1 and explanations[0].nearest:
        parts += ["", *_nearest_node(explanations[0], instance, answer, canvas)]
    return Group(*parts)


def _nearest_node(
    one: Explanation, instance: Instance, answer: Answer, canvas: WidthAndMarks
) -> Iterator[RenderableType]:
    """Draw the inside of the nearest node as the answer leaves it, and mark what is missing."""
    near = one.nearest[0]
    placement = answer.placement if isinstance(answer, Placed | PartlyPlaced) else Placement()
    node = next(node for node in instance.nodes if node.name == near.node)
    missing = [
        f"{bare_amount_text(lack.missing, lack.unit)}{_noun(lack.missing, lack.unit)}"
        if lack.missing is not None
        else lack.rule
        for lack in near.lacks
    ]
    words = f"{canvas.marks.offline} missing here: {', '.join(missing)}"
    yield Text.assemble("The nearest node   ", (words, BAD))
    inside = drawn_pods_by_node(instance, placement).get(near.node, ())
    yield draw_node(node, inside, canvas, labels=_labels_looked_at(instance, one.pods))


def _labels_looked_at(instance: Instance, pods: Collection[NamespacedName]) -> frozenset[str]:
    """Return the keys of all labels that some of the pods which wait name, whatever they ask."""
    specs = dict.fromkeys(pod.spec for pod in pods_of_gangs(instance.gangs) if pod.key in pods)
    return frozenset(key for spec in specs for key in _keys_named(spec))


def _keys_named(spec: PodSpec) -> Iterator[str]:
    yield from (key for key, _ in spec.node_selector)
    if spec.node_affinity is not None:
        wished = (wish.term for wish in spec.node_affinity.preferred)
        for term in (*spec.node_affinity.required, *wished):
            yield from (one.key for one in term.expressions)
    yield from topology_keys_asked(spec)


def _placed(answer: Answer, names: Collection[NamespacedName] | None) -> str:
    if not isinstance(answer, Placed | PartlyPlaced) or not names:
        return "Everything that waits has a place."
    asked = set(names)
    places = [
        f"{place.title} is on {place.node}"
        for place in answer.placement.pods
        if place.key in asked or (place.namespace, place.gang) in asked
    ]
    return f"{'; '.join(places)}."


def _tree(
    one: Explanation,
    acts: Mapping[str, Sequence[str]],
    canvas: WidthAndMarks,
    *,
    every: bool,
    classes: bool,
) -> Tree:
    names = names_as_host_lists([pod_or_gang_title(*key) for key in one.pods])
    who = f"gang {one.gang}: {names}" if one.gang else names
    tree = Tree(Text(who, STRONG), guide_style=QUIET)
    tree.add(Text(one.sentence if every else one.brief or one.sentence))
    for sentence in one.more:
        tree.add(Text(sentence, QUIET))
    if one.funnel:
        steps = " → ".join(
            f"{_rule_said(step, classes=classes)} {step.nodes}"
            if step.rule
            else count_with_noun(step.nodes, "node")
            for step in one.funnel
        )
        tree.add(Text(f"nodes that remain: {steps}", QUIET))
    if one.nearest:
        nearest = tree.add("nearest misses")
        for near in one.nearest:
            branch = nearest.add(Text(near.node, STRONG))
            for lack in near.lacks:
                branch.add(_lack(lack, canvas, every=every))
    if one.winner is not None:
        tree.add(_winner(one.winner))
    for line in _changes(one, acts, every=every):
        tree.add(line)
    return tree


def _rule_said(step: FunnelStep, *, classes: bool) -> str:
    """Return a rule by its name, or by those of the resources that it asks for.

    Where no inside is known there is one pool, the node's CPUs.
    """
    if step.rule == "shared-pool" and not classes:
        return "CPU"
    if step.rule == "extended":
        return " or ".join("CPU" if one == REQUESTED_CPU else one for one in step.subjects)
    return step.rule


def _lack(lack: NodeLack, canvas: WidthAndMarks, *, every: bool) -> Text:
    """Say what is missing of what, with a bar that ends in it, and who has it."""
    text = Text(lack.text)
    if lack.asked is not None and lack.left is not None and lack.missing is not None:
        has = [lack.left] if lack.total is None else [lack.left, lack.total]
        # Where the text begins with what is asked for, it is not named again.
        says_what = ": asks " in lack.text
        noun = "" if says_what else _noun(has[-1], lack.unit)
        left = f"{' of '.join(bare_amount_text(one, lack.unit) for one in has)}{noun} left"
        missing = f"{bare_amount_text(lack.missing, lack.unit)} missing"
        text.append(f"{';' if says_what else ':'} {left}, ").append(missing, BAD).append("\n")
        text.append_text(_bar(lack, canvas))
    if lack.held_by:
        named = [
            f"{pod_or_gang_title(*one.pod)}"
            + (f" {bare_amount_text(one.amount, lack.unit)}" if one.amount is not None else "")
            + (" (placed now)" if one.placed else "")
            for one in lack.held_by[: None if every else SHOWN_HOLDERS]
        ]
        more = len(lack.held_by) - len(named)
        others = f" and {count_with_noun(more, 'other pod')}" if more else ""
        text.append(f"\nheld by {', '.join(named)}{others}", QUIET)
    return text


def _bar(lack: NodeLack, canvas: WidthAndMarks) -> Text:
    """Draw what is held, what is left and what is missing of an amount."""
    assert lack.left is not None
    assert lack.missing is not None
    held = max(0, (lack.left if lack.total is None else lack.total) - lack.left)
    parts = (held, lack.left, lack.missing)
    whole = sum(parts)
    scale = 1 if whole <= MOST_COLUMNS else MOST_COLUMNS / whole
    widths = [max(1, round(part * scale)) if part else 0 for part in parts]
    marks = canvas.marks
    return Text.assemble(
        (marks.thread * widths[0], QUIET),
        (marks.free * widths[1], QUIET),
        (marks.offline * widths[2], BAD),
    )


def bare_amount_text(amount: int, unit: str) -> str:
    """Write an amount as people read it, without what is counted."""
    match unit:
        case "milliCpu":
            return f"{amount / 1000:g}"
        case "bytes":
            return format_bytes(amount)
    return f"{amount:,}"


def _noun(amount: int, unit: str) -> str:
    """Return what is counted, after the number; empty for bytes, which say it themselves."""
    cpus = " CPU" if amount == 1000 else " CPUs"
    return {"milliCpu": cpus, "bytes": ""}.get(unit, f" {unit}")


def _winner(winner: PodsPlacedInstead) -> Text:
    names = names_as_host_lists([pod_or_gang_title(*key) for key in winner.pods])
    if winner.tier is None:
        return Text(f"outvoted by {names}: either could have had the place, no tier decides")
    its = "its place" if len(winner.pods) == 1 else "their place"
    return Text(f"outvoted by {names}: to give {its} away would make tier {winner.tier} worse")


def _changes(one: Explanation, acts: Mapping[str, Sequence[str]], *, every: bool) -> Iterator[Text]:
    if one.changes:
        for change in one.changes[: None if every else SHOWN_CHANGES]:
            told = acts[change.kind]
            parts = len(told) if every else SHOWN_PARTS
            lines = [*told[:parts], *(["…"] if len(told) > parts else [])]
            yield Text.assemble(
                "would do: ",
                (f"{MEANS[change.kind]}: {_parts(change)}", GOOD),
                (" (proven smallest)" if change.smallest else " (a smaller one may do)", QUIET),
                *(f"\n{line}" for line in lines),
            )
    elif one.ruled_out or one.open:
        said = "was found that would do" if one.open else "would do"
        yield Text(f"no change of one kind {said}; two kinds at once are not looked for")
    # Whoever waits alone has no members to go without.
    ruled_out = [kind for kind in one.ruled_out if one.gang or kind != "fewer-members"]
    if ruled_out:
        yield Text(f"none would do: {_kinds(ruled_out)}", QUIET)
    if one.open:
        yield Text(f"not known: {_kinds(one.open)}", QUIET)


def best_change_rows(
    explanations: Sequence[Explanation],
    instance: Instance,
    *,
    of_cluster: bool,
    files: Sequence[str] = (),
) -> list[tuple[str, str, str]]:
    """Return a row for each explanation with a change: who waits, the best change, the act.

    The act is empty where there are several.
    """
    rows = []
    for one in explanations:
        for change in one.changes[:1]:
            acts = instructions_for_changes(
                change.changes, instance, of_cluster=of_cluster, files=files
            )
            names = names_as_host_lists([pod_or_gang_title(*key) for key in one.pods])
            who = f"gang {one.gang}" if one.gang else names
            rows.append((who, _parts(change), acts[0] if len(acts) == 1 else ""))
    return rows


def draw_best_changes(rows: Sequence[tuple[str, str, str]]) -> RenderableType:
    """Draw a line for each of the `best_change_rows`."""
    lines = (
        Text.assemble((who, STRONG), ": ", (parts, GOOD), (f" ({act})" if act else "", QUIET))
        for who, parts, act in rows
    )
    return Group(*map(WrappingText, lines))


def _parts(change: SufficientChange) -> str:
    parts = [str(part) for part in change.changes]
    shown = ", ".join(parts[:SHOWN_PARTS])
    more = f", … ({len(parts)} in all)" if len(parts) > SHOWN_PARTS else ""
    return f"{shown}{more}"


def _kinds(kinds: Sequence[str]) -> str:
    return ", ".join(MEANS[kind] for kind in kinds)
