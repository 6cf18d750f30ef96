"""Offered nodes: they are not there yet, and using one opens it."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from ortools.sat.python.cp_model import CpModel, IntVar, LinearExpr

from placer_models.cpsat.assignment import Assignment, Expression, PlacementVariables, pods_expr
from placer_models.cpsat.family import Hint, KnownPlacement, ModelFamily, always, never
from placer_models.goals import OPENED
from placer_models.problem.node_state import NodeState
from placer_models.problem.problem import Choices, Problem
from placer_models.rule_family import RuleFamilyName


@dataclass(frozen=True, slots=True)
class OpenedNodeVariables:
    """Offered node that pods could come to -> whether it is opened."""

    literals: Mapping[int, IntVar]


def opened_node_vars(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> OpenedNodeVariables:
    """Create a literal for each offered node that pods could come to."""
    return OpenedNodeVariables(
        {
            index: model.new_bool_var(f"opened[{node.name}]")
            for index, node in enumerate(problem.nodes)
            if node.offered and x.on_node[index]
        }
    )


def a_node_is_opened_before_it_is_used(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> None:
    """Pods come to an offered node only if it is opened."""
    for node, literal in x.part(OpenedNodeVariables).literals.items():
        for assignment in x.on_node[node]:
            model.add(assignment.count <= assignment.most * literal)


def an_opened_node_holds_what_it_has(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> None:
    """Pods take no more of an offered node than it has once opened; this only helps the bound."""
    for node, literal in x.part(OpenedNodeVariables).literals.items():
        hold_to_what_a_used_node_has(model, problem.nodes[node], x.on_node[node], literal)


def hold_to_what_a_used_node_has(
    model: CpModel, node: NodeState, assignments: Sequence[Assignment], used: IntVar
) -> None:
    """Let pods take no more of a node than it has, and nothing if it is not used; for the bound.

    Without this, half a node's pods would seem to need half a node.
    """
    shapes = [assignment.shape for assignment in assignments]
    amounts = [shape.amounts_on(node) for shape in shapes]
    # What the node has, and what a pod of each assignment wants, for each plain sum.
    sums = [
        *((left, [each[i] for each in amounts]) for i, left in enumerate(node.amounts)),
        *((sum(bank.free), [s.whole_of(bank.type) for s in shapes]) for bank in node.banks),
    ]
    for has, wants in sums:
        if any(wants):
            asked = [
                want * assignment.count for want, assignment in zip(wants, assignments, strict=True)
            ]
            model.add(LinearExpr.sum(asked) <= has * used)


def equal_offers_are_used_in_order(model: CpModel, problem: Problem, x: PlacementVariables) -> None:
    """Of equal offered nodes, an earlier one has at least as many pods as a later one.

    This cuts off only renamings of nodes, as `equal_units_come_in_order` does for pods.
    """
    for members in equal_offered_nodes(problem):
        loads = [pods_expr(x.on_node[node]) for node in members]
        for earlier, later in pairwise(loads):
            model.add(earlier >= later)
        found = x.part(OpenedNodeVariables).literals
        literals = [found[node] for node in members if node in found]
        for first, second in pairwise(literals):
            model.add_implication(second, first)


def equal_offered_nodes(problem: Problem) -> list[list[int]]:
    """Return the offered nodes, grouped by which are interchangeable, in order."""
    classes: defaultdict[NodeState, list[int]] = defaultdict(list)
    for index, node in enumerate(problem.nodes):
        if node.offered:
            classes[node].append(index)
    return list(classes.values())


def opened_node_count_expr(model: CpModel, problem: Problem, x: PlacementVariables) -> Expression:
    """Count the offered nodes that are opened."""
    return LinearExpr.sum(list(x.part(OpenedNodeVariables).literals.values()))


def choices_with_equal_nodes_sorted(problem: Problem, choices: Choices) -> Choices:
    """Rename equal offered nodes so that earlier ones have more pods, as the model wants."""
    loads = Counter(choice.node for choice in choices.values())
    renamed = {
        old: new
        for members in equal_offered_nodes(problem)
        for old, new in zip(sorted(members, key=lambda node: -loads[node]), members, strict=True)
    }
    if not renamed:
        return choices
    return {
        pod: replace(choice, node=renamed.get(choice.node, choice.node))
        for pod, choice in choices.items()
    }


def opened_node_solver_hints(
    problem: Problem, x: PlacementVariables, known: KnownPlacement
) -> Iterator[Hint]:
    """Yield hints for which offered nodes are opened."""
    used = {choice.node for choice in known.choices.values()}
    for node, literal in x.part(OpenedNodeVariables).literals.items():
        yield literal.index, int(node in used)


FAMILY = ModelFamily(
    name=RuleFamilyName.OPENED,
    decide_all=opened_node_vars,
    rules=(a_node_is_opened_before_it_is_used,),
    cuts=(an_opened_node_holds_what_it_has, equal_offers_are_used_in_order),
    tiers={OPENED: opened_node_count_expr},
    hint=opened_node_solver_hints,
    countable=always,
    plain=always,
    sees_links=never,
    exchangeable=always,
)
