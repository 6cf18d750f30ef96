"""The answer of ``placer plan fit`` as a document for programs."""

from collections.abc import Sequence

from placer.plan.fit_answer import FitCount
from placer_models.files.documents import API_VERSION
from placer_models.files.part import Json
from placer_models.instance.placement_file import answer_to_json
from placer_models.placement import Placed


def fit_to_json(steps: Sequence[FitCount], waiting: int) -> Json:
    """Return the answer as `FitAnswerFile` describes it.

    Args:
        steps: As it is, then with each change.
        waiting: How many other pods wait, which nobody placed.

    """
    pod = steps[0].pod
    return {
        "apiVersion": API_VERSION,
        "kind": "FitAnswer",
        "pod": pod.name,
        "namespace": pod.namespace,
        "waiting": waiting,
        "steps": [_step(step) for step in steps],
    }


def _step(step: FitCount) -> Json:
    return {
        "changes": list(step.changes),
        "count": step.count,
        "bound": step.bound,
        "proven": step.proven,
        "classes": [
            {
                "machine": one.machine,
                "nodes": list(one.nodes),
                "count": one.count,
                "rule": one.rule or None,
                "reason": one.reason,
            }
            for one in step.classes
        ],
        "placement": answer_to_json(Placed(step.placement, ()), step.instance, {}),
    }
