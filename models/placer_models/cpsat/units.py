"""Units: pods that a model may count together instead of telling them apart."""

from collections import defaultdict

from placer_models.cpsat.assignment import PodUnit
from placer_models.cpsat.families import is_countable
from placer_models.problem.problem import Problem


def units_of(problem: Problem) -> tuple[PodUnit, ...]:
    """Group the pods of a Problem into units, in the order of their first pods."""
    alike: defaultdict[tuple[int | None, int, int, int, int | None], list[int]] = defaultdict(list)
    at_home = {pod for pod, _ in problem.homes}
    for index, gang in enumerate(problem.gangs):
        # Equal lone pods are as interchangeable as equal members of one gang.
        alone = len(gang.pods) == 1 and gang.group is None
        lone = alone and not gang.gathered and not gang.levels
        owner = None if lone else index
        for pod in gang.pods:
            # No other pod is equal to a pod with a home.
            home = pod if pod in at_home else None
            alike[owner, problem.pods[pod], gang.level, gang.weight, home].append(pod)
    together = [is_countable(problem, index) for index in range(len(problem.shapes))]
    units = []
    for family, ((owner, shape, level, weight, _), pods) in enumerate(alike.items()):
        for members in [tuple(pods)] if together[shape] else [(pod,) for pod in pods]:
            units.append(PodUnit(members, shape, owner, family, level, weight))
    return tuple(sorted(units, key=lambda unit: unit.pods[0]))
