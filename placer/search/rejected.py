"""Rejected places: chosen for a pod, and not let pass by the judge, a defect of Placer (G6).

Such a place costs its pod the node, or a search one of its finds, and never the batch its
answer. It is logged, and the answer names it.
"""

import logging
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from placer.judge.breaches import Breach
from placer.search.baseline import StartingAccounts
from placer.search.budget import SolveBudget
from placer.search.judged import NO_IDS, RejectedPlacement, ValidPlacement, realise_and_judge
from placer.search.scored import greedy_choices_for_problem
from placer_models.cluster import Instance
from placer_models.placement import Placement, PlaceRejectedByJudge, pod_or_gang_title
from placer_models.problem.problem import Choices, Problem

log = logging.getLogger(__name__)

MOST_NODES = 8
"""How many nodes one shape of pods may lose before it is left out; each costs a greedy answer."""


class PodAndChosenNodeNames(NamedTuple):
    """A node that was chosen for a pod, by its name."""

    name: str
    namespace: str
    gang: str | None
    node: str


def place_until_judge_accepts(
    instance: Instance,
    baseline: StartingAccounts,
    problem: Problem,
    choices: Choices,
    budget: SolveBudget,
) -> tuple[ValidPlacement, tuple[PlaceRejectedByJudge, ...]]:
    """Return greedy choices in ids, as the judge lets them pass, and places that it does not.

    A pod whose place the judge rejects is placed again, on another node, and so are pods that
    ask for the same.

    Args:
        instance: What the problem was built from.
        baseline: Its nodes before anything is placed.
        problem: What was placed.
        choices: How the greedy path placed it.
        budget: Once it is over, no further node is tried for such pods.

    Raises:
        SolverError: The judge rejects even that nothing is placed.

    """
    found = realise_and_judge(instance, baseline, problem, choices)
    rejected: list[PlaceRejectedByJudge] = []
    lost: defaultdict[int, set[int]] = defaultdict(set)
    everywhere = range(len(problem.nodes))
    while isinstance(found, RejectedPlacement):
        if not choices:
            raise found.error
        for index, one, fault in _culprits(instance, baseline, problem, choices, found):
            shape, node = problem.pods[index], choices[index].node
            note_and_log_rejected_places(rejected, [(one, fault)])
            lost[shape].add(node)
            if budget.over or len(lost[shape]) >= MOST_NODES:
                lost[shape].update(everywhere)
        part = _without(problem, lost)
        choices = greedy_choices_for_problem(instance, baseline, part, budget.options)
        found = realise_and_judge(instance, baseline, problem, choices)
    return found, tuple(rejected)


def judge_and_note_rejected(
    into: list[PlaceRejectedByJudge],
    instance: Instance,
    baseline: StartingAccounts,
    problem: Problem,
    choices: Choices,
) -> ValidPlacement | None:
    """Return a model's solution in ids, or note the places that the judge rejects, each once.

    Args:
        into: Places that were rejected before; gets those that were not.
        instance: What the problem was built from.
        baseline: Its nodes before anything is placed.
        problem: What was solved.
        choices: The solution.

    Returns:
        None if the judge rejects it.

    """
    found = realise_and_judge(instance, baseline, problem, choices)
    if isinstance(found, ValidPlacement):
        return found
    culprits = _culprits(instance, baseline, problem, choices, found)
    note_and_log_rejected_places(into, [(one, fault) for _, one, fault in culprits])
    return None


def note_rejected_places(
    into: list[PlaceRejectedByJudge],
    instance: Instance,
    placement: Placement,
    found: RejectedPlacement,
) -> None:
    """Note the places of a placement that the judge rejects, each once: all that may be meant."""
    chosen = [PodAndChosenNodeNames(p.name, p.namespace, p.gang, p.node) for p in placement.pods]
    note_and_log_rejected_places(
        into,
        [(one, fault) for fault in found.faults for one in _suspects(instance, chosen, fault)],
    )


def note_and_log_rejected_places(
    into: list[PlaceRejectedByJudge], faults: Iterable[tuple[PodAndChosenNodeNames, Breach]]
) -> None:
    """Note rejected places, each once, and log them."""
    known = {(place.namespace, place.name, place.node) for place in into}
    for one, fault in faults:
        if (one.namespace, one.name, one.node) in known:
            continue
        known.add((one.namespace, one.name, one.node))
        why = fault.message if fault.rule == NO_IDS else f"{fault.rule}: {fault.message}"
        place = PlaceRejectedByJudge(one.name, one.namespace, one.node, why)
        into.append(place)
        log.error("%s; the batch is answered without it", place.text)


def _chosen(instance: Instance, choices: Choices) -> dict[int, PodAndChosenNodeNames]:
    members = [(gang, pod) for gang in instance.gangs for pod in gang.pods]
    found = {}
    for index, choice in sorted(choices.items()):
        gang, pod = members[index]
        name = None if gang.lone else gang.name
        found[index] = PodAndChosenNodeNames(
            pod.name, pod.namespace, name, instance.nodes[choice.node].name
        )
    return found


def _suspects(
    instance: Instance, chosen: Sequence[PodAndChosenNodeNames], fault: Breach
) -> list[PodAndChosenNodeNames]:
    """Return the places that a fault may be about: of a pod, a gang or a node, or else all."""
    subject = fault.subject
    own = [
        one
        for one in chosen
        if subject == pod_or_gang_title(one.namespace, one.name)
        or (one.gang is not None and subject == pod_or_gang_title(one.namespace, one.gang))
    ]
    nodes = {r.placement.node for r in instance.running if r.pod.title == subject} | {subject}
    return own or [one for one in chosen if one.node in nodes] or list(chosen)


def _culprits(
    instance: Instance,
    baseline: StartingAccounts,
    problem: Problem,
    choices: Choices,
    found: RejectedPlacement,
) -> Iterator[tuple[int, PodAndChosenNodeNames, Breach]]:
    """Yield the pods whose places make the faults, each once: at least one, some of the choices.

    Of the pods of a node, that is the first one with which those before it make the fault, too.
    """
    chosen = _chosen(instance, choices)
    seen: set[int] = set()
    for fault in found.faults:
        suspects = set(_suspects(instance, list(chosen.values()), fault))
        indices = [index for index, one in chosen.items() if one in suspects]
        if len(indices) > 1 and len({choices[index].node for index in indices}) == 1:
            indices = _first_with_fault(instance, baseline, problem, choices, indices, fault)
        yield from ((index, chosen[index], fault) for index in indices if index not in seen)
        seen.update(indices)


def _first_with_fault(
    instance: Instance,
    baseline: StartingAccounts,
    problem: Problem,
    choices: Choices,
    indices: list[int],
    fault: Breach,
) -> list[int]:
    """Return the first pod of a node with which the fault is there, or all of them if none is."""
    for count in range(1, len(indices)):
        found = realise_and_judge(
            instance, baseline, problem, {i: choices[i] for i in indices[:count]}
        )
        faults = found.faults if isinstance(found, RejectedPlacement) else ()
        if any((one.rule, one.subject) == (fault.rule, fault.subject) for one in faults):
            return [indices[count - 1]]
    gangs = {gang.title for gang in instance.gangs}
    return indices if fault.subject in gangs else indices[-1:]


def _without(problem: Problem, lost: Mapping[int, set[int]]) -> Problem:
    """Return the Problem in which pods of some shapes may not come to the nodes they have lost."""
    known = problem.affinity.barred or (frozenset(),) * len(problem.shapes)
    barred = tuple(nodes | lost.get(shape, set()) for shape, nodes in enumerate(known))
    return replace(problem, affinity=replace(problem.affinity, barred=barred))
