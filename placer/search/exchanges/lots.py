"""Lots: pods that are placed or left out together, and what they count."""

from dataclasses import dataclass

from placer_models.goals import MEMBER_ABOVE_POINTS, MEMBER_OF_MINIMUM_POINTS
from placer_models.problem.problem import Choices, Problem


@dataclass(frozen=True, slots=True)
class Lot:
    """Pods that come and go together.

    Attributes:
        pods: Their indices.
        level: The index of their priority.
        points: What they count in the level's tier.
        needs: Index of the lot that this one cannot do without, or None.
        alone: Whether it is one pod that no other lot needs.

    """

    pods: tuple[int, ...]
    level: int
    points: int
    needs: int | None
    alone: bool


def exchange_lots_of(problem: Problem, start: Choices) -> list[Lot]:
    """Return the lots of all pods whose gang does not ask where its members are.

    The minimum of a gang is one lot, made of members that have a place as far as possible.
    Each member above it is a lot. All other pods keep what they have.
    """
    staying = shapes_never_exchanged(problem)
    at_home = {pod for pod, _ in problem.homes}
    lots: list[Lot] = []
    for gang in problem.gangs:
        bound = gang.group is not None or gang.gathered or gang.levels
        if bound or any(pod in at_home or problem.pods[pod] in staying for pod in gang.pods):
            continue
        pods = sorted(gang.pods, key=lambda pod: pod not in start)
        first, rest = tuple(pods[: gang.minimum]), pods[gang.minimum :]
        points = MEMBER_OF_MINIMUM_POINTS * gang.weight * len(first)
        minimum = len(lots)
        lots.append(Lot(first, gang.level, points, None, len(first) == 1 and not rest))
        above = MEMBER_ABOVE_POINTS * gang.weight
        lots.extend(Lot((pod,), gang.level, above, minimum, True) for pod in rest)
    return lots


def shapes_never_exchanged(problem: Problem) -> frozenset[int]:
    """Return the shapes whose pods have variants, or look at others inside their node."""
    inside = (i for i, shape in enumerate(problem.shapes) if shape.in_node_affinity)
    return frozenset(problem.on_kinds).union(inside)
