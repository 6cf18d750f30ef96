"""Node selectors and node affinity: what pods require, and prefer, of labels and names of nodes."""

from collections.abc import Iterator

from placer.judge.family import Finding, JudgedFamily, pod_breach_finding
from placer.judge.open_nodes import meets_node_affinity, missing_labels, untolerated_taints
from placer.judge.scene import InstanceWithPlacement
from placer_models.goals import NODE_PREFERENCE
from placer_models.taints import TAINT_WEIGHT


def node_selector_breaches(scene: InstanceWithPlacement) -> Iterator[Finding]:
    """The node has each label that the pod asks for, with the value asked for."""
    for judged, placed in scene.newcomers:
        labels = dict(judged.node.labels)
        for key, value in missing_labels(judged.node, placed.pod.spec):
            has = f"has {key}={labels[key]}" if key in labels else f"has no label {key!r}"
            yield pod_breach_finding(
                placed, f"asks for a node with {key}={value}; node {judged.node.name!r} {has}"
            )


def node_affinity_breaches(scene: InstanceWithPlacement) -> Iterator[Finding]:
    """The node meets one of the terms that the pod requires, if it requires any."""
    for judged, placed in scene.newcomers:
        wanted = placed.pod.spec.node_affinity
        if wanted is None or meets_node_affinity(judged.node, placed.pod.spec):
            continue
        keys = dict.fromkeys(key for term in wanted.required for key in term.label_keys)
        has = dict(judged.node.labels)
        said = ", ".join(f"{key}={has[key]}" if key in has else f"no {key}" for key in keys)
        yield pod_breach_finding(
            placed,
            f"asks for a node with {wanted}; node {judged.node.name!r} "
            f"{f'has {said}' if said else 'is none of these'}",
        )


def missed_node_preference_weight(scene: InstanceWithPlacement) -> int:
    """Add up the weights of preferred terms that the nodes of placed pods do not meet.

    A taint that only prefers to keep the pod off, and is not tolerated, counts as such a term.
    """
    missed = 0
    for judged, placed in scene.newcomers:
        spec = placed.pod.spec
        wishes = spec.node_affinity.preferred if spec.node_affinity is not None else ()
        name, labels = judged.node.name, judged.node.labels
        missed += sum(wish.weight for wish in wishes if not wish.term.met_by(name, labels))
        soft = (
            taint
            for taint in untolerated_taints(judged.node, spec.tolerations)
            if not taint.keeps_off
        )
        missed += sum(TAINT_WEIGHT for _ in soft)
    return missed


JUDGED = JudgedFamily(
    rules={
        "node-selector": node_selector_breaches,
        "node-affinity": node_affinity_breaches,
    },
    tiers={NODE_PREFERENCE: missed_node_preference_weight},
)
