"""Places of pods in a model's variables: a known placement goes in, a solution comes out."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from placer_models.cpsat.assignment import Assignment, PlacementVariables
from placer_models.cpsat.families import FAMILIES
from placer_models.cpsat.family import Hint, KnownPlacement, Value
from placer_models.cpsat.moves import homes_of_stayers
from placer_models.cpsat.opened import choices_with_equal_nodes_sorted
from placer_models.problem.problem import Choice, Choices, CoreTake, Problem


def solver_hints_of_choices(
    problem: Problem, x: PlacementVariables, choices: Choices
) -> Iterator[Hint]:
    """Yield hints that state the choices in the model's variables.

    Interchangeable units get the places of their family in the model's order, so that the
    hint obeys the rule that breaks their symmetry.
    """
    choices = choices_with_equal_nodes_sorted(problem, choices)
    known = KnownPlacement(choices, list(_dealt(x, choices)))
    for family in FAMILIES:
        if family.hint is not None:
            yield from family.hint(problem, x, known)


def _dealt(x: PlacementVariables, choices: Choices) -> Iterator[tuple[Assignment, list[Choice]]]:
    """Yield every assignment with the places of its pods."""
    families: defaultdict[int, list[int]] = defaultdict(list)
    for index, unit in enumerate(x.units):
        families[unit.family].append(index)
    for members in families.values():
        pods = sorted(
            (pod for index in members for pod in x.units[index].pods if pod in choices),
            key=lambda pod: choices[pod].node,
        )
        for index in members:
            size = len(x.units[index].pods)
            mine, pods = pods[:size], pods[size:]
            for assignment in x.of_unit[index]:
                yield (
                    assignment,
                    [choices[pod] for pod in mine if choices[pod].node == assignment.node],
                )


def read_solved_choices(problem: Problem, x: PlacementVariables, value: Value) -> Choices:
    """Read the place of every pod out of a solution."""
    choices: Choices = {}
    for index, unit in enumerate(x.units):
        waiting = list(unit.pods)
        for assignment in x.of_unit[index]:
            count = value(assignment.count)
            pods, waiting = waiting[:count], waiting[count:]
            choices.update(zip(pods, _places(problem, assignment, count, value), strict=True))
    return choices | homes_of_stayers(problem, x, value)


def _places(problem: Problem, assignment: Assignment, count: int, value: Value) -> Sequence[Choice]:
    """Deal out what an assignment has to its pods, to each its own part."""
    if not count:
        return []
    node = problem.nodes[assignment.node]
    places: Sequence[Choice] = [
        Choice(assignment.node, (CoreTake(),) * len(node.cores), devices=())
    ] * count
    for family in FAMILIES:
        if family.read is not None:
            places = family.read(problem, assignment, places, value)
    return places
