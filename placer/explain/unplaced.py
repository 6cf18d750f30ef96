"""Why pods were left out, from arithmetic alone (G7)."""

from placer_models.cluster import Instance
from placer_models.placement import Unplaced
from placer_models.pod import pods_of
from placer_models.problem import Choices, Problem


def why_unplaced(instance: Instance, problem: Problem, choices: Choices) -> tuple[Unplaced, ...]:
    """List the pods without a place, each with its reasons."""
    left_out = []
    for index, pod in enumerate(pods_of(instance.gangs)):
        if index not in choices:
            left_out.append(Unplaced(pod.name, pod.namespace, None, ()))
    return tuple(left_out)
