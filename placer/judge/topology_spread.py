"""Topology spread: rule and tier about pods spread evenly over domains of nodes."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from placer.judge.family import Finding, JudgedFamily, pod_breach_finding
from placer.judge.labelled import JudgedPodsByLabel
from placer.judge.open_nodes import untolerated_taints
from placer.judge.scene import InstanceWithPlacement, JudgedNode, PlacedPod
from placer_models.cluster import Node
from placer_models.goals import TOPOLOGY_SPREAD
from placer_models.node_affinity import NodeTerm
from placer_models.selectors import Labels
from placer_models.taints import Toleration
from placer_models.topology_spread import SpreadConstraint

_OWN_LABELS = "placer:"
"""Prefix of labels that say what a node can give, and are not labels of the cluster."""


class _Spread(NamedTuple):
    """A constraint of a pod, and what the pod asks of the nodes that it looks at.

    Constraints that are equal in all of this are one.

    Attributes:
        namespace: Namespace of the pods that count.
        keys: Keys over which the pod spreads as strongly; a node is in a domain of each.
        labels: Labels that a node has.
        terms: A node meets one of these, if there are any.
        tolerations: What the pod tolerates, if the constraint looks at taints.

    """

    constraint: SpreadConstraint
    namespace: str
    keys: frozenset[str]
    labels: Labels
    terms: tuple[NodeTerm, ...]
    tolerations: tuple[Toleration, ...]


def topology_spread_breaches(scene: InstanceWithPlacement) -> Iterator[Finding]:
    """A pod's domain has at most the allowed skew more pods than the domain with the fewest.

    What running pods ask of each other is never blamed.
    """
    counted: dict[_Spread, Mapping[str, int]] = {}
    labelled = JudgedPodsByLabel(scene)
    for judged, placed in scene.newcomers:
        for spread in _spreads(placed, required=True):
            if spread not in counted:
                counted[spread] = _counts(scene, labelled, spread)
            counts, constraint = counted[spread], spread.constraint
            here = _domain(judged.node, spread)
            if here is None:
                yield _finding(judged, placed, f"in no domain of {', '.join(sorted(spread.keys))}")
                continue
            fewest = min(counts.values()) if len(counts) >= constraint.min_domains else 0
            skew = counts[here] - fewest
            if skew > constraint.max_skew:
                what = f"in {constraint.topology} {here} with {counts[here]} pods"
                yield _finding(
                    judged,
                    placed,
                    f"{what} that it spreads with, {skew} more than the fewest of "
                    f"{len(counts)} domains; the skew is {constraint.max_skew} at most",
                )


def pods_beyond_spread_skew(scene: InstanceWithPlacement) -> int:
    """Return tier ``topology-spread``: pods beyond what preferred constraints allow.

    Each constraint counts once for each domain where a new pod asks for it.
    """
    asking = {
        (spread, here)
        for judged, placed in scene.newcomers
        for spread in _spreads(placed, required=False)
        if (here := _domain(judged.node, spread)) is not None
    }
    labelled = JudgedPodsByLabel(scene)
    counted = {spread: _counts(scene, labelled, spread) for spread, _ in asking}
    lost = 0
    for spread, here in asking:
        counts = counted[spread]
        lost += max(0, counts[here] - min(counts.values()) - spread.constraint.max_skew)
    return lost


def _spreads(placed: PlacedPod, *, required: bool) -> Iterator[_Spread]:
    """Yield the constraints of a pod that are, or are not, required."""
    spec = placed.pod.spec
    equally_strong = [one for one in spec.spread if one.required is required]
    keys = frozenset(one.topology for one in equally_strong)
    labels = tuple(label for label in placed.selector if not label[0].startswith(_OWN_LABELS))
    terms = spec.node_affinity.required if spec.node_affinity is not None else ()
    for one in equally_strong:
        yield _Spread(
            one,
            placed.pod.namespace,
            keys,
            labels if one.by_selector else (),
            terms if one.by_selector else (),
            spec.tolerations if one.by_taints else (),
        )


def _domain(node: Node, spread: _Spread) -> str | None:
    """Return the domain that the node is in, or None if the constraint does not look at it."""
    constraint = spread.constraint
    if spread.labels and not set(spread.labels) <= set(node.labels):
        return None
    if spread.terms and not any(term.met_by(node.name, node.labels) for term in spread.terms):
        return None
    if constraint.by_taints and node.cordoned:
        return None
    if constraint.by_taints and any(
        t.keeps_off for t in untolerated_taints(node, spread.tolerations)
    ):
        return None
    for key in spread.keys:
        if node.topology_domain(key) is None:
            return None
    return node.topology_domain(constraint.topology)


def _counts(
    scene: InstanceWithPlacement, labelled: JudgedPodsByLabel, spread: _Spread
) -> Mapping[str, int]:
    """Return domain -> how many of its pods the constraint counts, those that have none too."""
    constraint = spread.constraint
    looks = constraint.topology, constraint.by_taints, *spread[2:]
    domains = scene.nodes_before.domains(looks, lambda node: _domain(node, spread))
    counts = dict.fromkeys(domains.distinct, 0)
    for judged, placed in labelled.pods(constraint.labels):
        domain = domains.of_node.get(judged.node.name)
        if domain is not None and placed.pod.namespace == spread.namespace:
            counts[domain] += constraint.means(placed.pod.spec.labels)
    return counts


def _finding(judged: JudgedNode, placed: PlacedPod, what: str) -> Finding:
    return pod_breach_finding(placed, f"on node {judged.node.name!r} is {what}")


JUDGED = JudgedFamily(
    rules={"topology-spread": topology_spread_breaches},
    tiers={TOPOLOGY_SPREAD: pods_beyond_spread_skew},
)
