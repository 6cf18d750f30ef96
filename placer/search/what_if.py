"""Comparison of an instance as it is with the same instance changed, under one time limit."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import monotonic

from placer.search.options import SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance
from placer_models.placement import Answer, NamespacedName, PartlyPlaced, Placed
from placer_models.whatif.change import InstanceChange
from placer_models.whatif.language import instance_with_all_changes

LEAST_S = 0.001
"""What a search has where all the time is gone: greedy's answer."""


@dataclass(frozen=True, slots=True)
class WhatIfComparison:
    """Two answers, as it is and with the changes.

    Attributes:
        changed: The instance with the changes.
        before: The answer without them.
        after: The answer with them.
        gained: Pods that wait either way, and have a place with the changes only; with its node.
        lost: Pods that wait either way, and have a place without the changes only; with its node.
        added: Pods that wait with the changes only: key -> its node, or None without a place.

    """

    changed: Instance
    before: Answer
    after: Answer
    gained: dict[NamespacedName, str]
    lost: dict[NamespacedName, str]
    added: dict[NamespacedName, str | None]


def solve_with_changes(
    instance: Instance,
    changes: Sequence[InstanceChange],
    options: SolveOptions,
    solver: Callable[[Instance, SolveOptions], Answer] = solve,
) -> WhatIfComparison:
    """Solve an instance as it is and with changes, and say who gains a place and who loses one.

    Half of the time is for the first question, and what it leaves goes to the second. A limit in
    work holds for each of them.

    Raises:
        WhatIfChangeError: A change has nothing to change, or two contradict.

    """
    changed = instance_with_all_changes(changes, instance)
    started_s = monotonic()
    before = solver(instance, replace(options, time_limit_s=options.time_limit_s / 2))
    left_s = options.time_limit_s - (monotonic() - started_s)
    after = solver(changed, replace(options, time_limit_s=max(LEAST_S, left_s)))
    was, now = _nodes_of(before), _nodes_of(after)
    waited, waits = _waiting(instance), _waiting(changed)
    both = [key for key in waits if key in waited]
    return WhatIfComparison(
        changed,
        before,
        after,
        gained={key: now[key] for key in both if key in now and key not in was},
        lost={key: was[key] for key in both if key in was and key not in now},
        added={key: now.get(key) for key in waits if key not in waited},
    )


def _nodes_of(answer: Answer) -> dict[NamespacedName, str]:
    """Return the pods that have a place, each with its node."""
    if not isinstance(answer, Placed | PartlyPlaced):
        return {}
    return {place.key: place.node for place in answer.placement.pods}


def _waiting(instance: Instance) -> dict[NamespacedName, None]:
    """Return the pods that wait, in their order."""
    return dict.fromkeys(pod.key for gang in instance.gangs for pod in gang.pods)
