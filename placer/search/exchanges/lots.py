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


def lots_of(problem: Problem, start: Choices) -> list[Lot]:
    """Return the lots of all pods whose gang asks for nothing that other pods decide.

    The minimum of a gang is one lot, made of members that have a place as far as possible.
    Each member above it is a lot. All other pods keep what they have.
    """
    minding = minding_others(problem)
    at_home = {pod for pod, _ in problem.homes}
    lots: list[Lot] = []
    for gang in problem.gangs:
        bound = gang.group is not None or gang.gathered or gang.levels
        if bound or any(pod in at_home or problem.pods[pod] in minding for pod in gang.pods):
            continue
        pods = sorted(gang.pods, key=lambda pod: pod not in start)
        first, rest = tuple(pods[: gang.minimum]), pods[gang.minimum :]
        points = MEMBER_OF_MINIMUM_POINTS * gang.weight * len(first)
        minimum = len(lots)
        lots.append(Lot(first, gang.level, points, None, len(first) == 1 and not rest))
        above = MEMBER_ABOVE_POINTS * gang.weight
        lots.extend(Lot((pod,), gang.level, above, minimum, True) for pod in rest)
    return lots


def minding_others(problem: Problem) -> frozenset[int]:
    """Return the shapes whose pods mind who is where, or are minded, or have variants.

    Those of pods that only running pods keep off some nodes are not among them.
    """
    affinity = problem.affinity
    inside = (i for i, shape in enumerate(problem.shapes) if shape.in_node_affinity)
    asked = ({task.shape, *task.matches} for task in affinity.tasks)
    spread = ({*task.asking, *task.matches} for task in affinity.limits)
    return frozenset(problem.on_kinds).union(inside, *asked, *spread)
