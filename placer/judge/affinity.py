"""Pod affinity: the rules and the tier about pods that want to be together or apart (C18)."""

from collections.abc import Iterable, Iterator

from placer.judge.family import Finding, JudgedFamily, pod_breach_finding
from placer.judge.labelled import JudgedPodsByLabel
from placer.judge.scene import InstanceWithPlacement, JudgedNode, PlacedPod
from placer_models.affinity import AffinityTerm, InNodeAffinityLevel
from placer_models.goals import AFFINITY


class _Domains:
    """The pods in each domain of nodes, looked up only when a term asks for one."""

    def __init__(self, scene: InstanceWithPlacement) -> None:
        """Begin with nothing looked up."""
        self.labelled = JudgedPodsByLabel(scene)
        self._before = scene.nodes_before

    def belongs(self, judged: JudgedNode, term: AffinityTerm) -> bool:
        """Return whether the node is in a domain of the term."""
        return not term.wide or judged.node.topology_domain(term.topology) is not None

    def said(self, judged: JudgedNode, term: AffinityTerm) -> str:
        """Return the node's domain as text for people, empty if the domain is the node itself."""
        if not term.wide:
            return ""
        return f" ({term.topology} {judged.node.topology_domain(term.topology) or 'none'})"

    def placed_pods(self, judged: JudgedNode, term: AffinityTerm) -> Iterable[PlacedPod]:
        """Return pods of the node, or of its domain, among them all that the term may mean."""
        if not term.topology:
            return judged.placed_pods
        here = judged.node.topology_domain(term.topology)
        if here is None:
            return ()
        return (one for _, one in self.labelled.pods_in(term.topology, here, term.labels))

    def parting(self, judged: JudgedNode) -> Iterator[tuple[PlacedPod, AffinityTerm]]:
        """Yield the running pods that keep others off the node's domains, with the terms."""
        for part in filter(None, self._before.of_parts(_parting_domains)):
            for there, runner, term in part:
                here = judged.node.topology_domain(term.topology)
                if here is not None and here == there.node.topology_domain(term.topology):
                    yield runner, term


def _parting_domains(
    judged_nodes: Iterable[JudgedNode],
) -> tuple[tuple[JudgedNode, PlacedPod, AffinityTerm], ...]:
    """Return the running pods that keep others off domains of nodes, with their terms."""
    return tuple(
        (judged, runner, term)
        for judged in judged_nodes
        for runner in judged.looking
        for term in runner.pod.spec.affinity
        if not runner.new and term.wide and term.apart and term.required
    )


def affinity_breaches(scene: InstanceWithPlacement) -> Iterator[Finding]:
    """For each of its required affinities, a pod is with another pod that the affinity means.

    The first pod of its kind needs no other: its own affinity means it, and means no other
    pod of the cluster.
    """
    domains = _Domains(scene)
    for judged, placed in scene.newcomers:
        for term in placed.pod.spec.affinity:
            if term.apart or not term.required or _kept(domains, judged, placed, term):
                continue
            first = domains.belongs(judged, term) and _means(placed, term, placed)
            if first and not _elsewhere(domains, placed, term):
                continue
            where = "" if not term.inside else f" on each {term.level.place} that it owns CPUs of"
            yield pod_breach_finding(
                placed,
                f"on node {judged.node.name!r}{domains.said(judged, term)} is with no other pod "
                f"that has {term.said}{where}; its affinity requires one",
            )


def anti_affinity_breaches(scene: InstanceWithPlacement) -> Iterator[Finding]:
    """A pod is with no pod that its required anti-affinity means, or whose own means it."""
    domains = _Domains(scene)
    for judged, placed in scene.newcomers:
        for term in placed.pod.spec.affinity:
            if term.apart and term.required:
                for other in _met(domains, judged, placed, term):
                    yield _too_near(domains, judged, placed, other, term, placed)
        for runner, term in _parting(domains, judged):
            if _means(runner, term, placed) and _is_near(judged, runner, term, placed):
                yield _too_near(domains, judged, placed, runner, term, runner)


def pod_affinity_weight_lost(scene: InstanceWithPlacement) -> int:
    """Return tier ``affinity``: what preferred terms of newly placed pods lose.

    A term that wants others loses its weight if it is not kept. A term that wants to be apart
    loses its weight for each pod that it means and meets.
    """
    domains = _Domains(scene)
    return sum(
        term.weight
        * (
            len(_met(domains, judged, placed, term))
            if term.apart
            else not _kept(domains, judged, placed, term)
        )
        for judged, placed in scene.newcomers
        for term in placed.pod.spec.affinity
        if not term.required
    )


def _means(owner: PlacedPod, term: AffinityTerm, other: PlacedPod) -> bool:
    looked_at = term.looks_into(other.pod.namespace, owner.pod.namespace)
    labels = other.pod.spec.labels
    return looked_at and term.means(labels, owns_cpus=other.qos.owns_cpus)


def _others(
    domains: _Domains, judged: JudgedNode, placed: PlacedPod, term: AffinityTerm
) -> list[PlacedPod]:
    """Return the other pods of the node, or of its domain, that the term means."""
    there = domains.placed_pods(judged, term)
    return [other for other in there if other is not placed and _means(placed, term, other)]


def _kept(domains: _Domains, judged: JudgedNode, placed: PlacedPod, term: AffinityTerm) -> bool:
    """Return whether the pod is with pods that the term means."""
    others = _others(domains, judged, placed, term)
    if not term.inside:
        return bool(others)
    there = [_places(judged, other, term.level) for other in others]
    return all(
        place is not None and any(place in places for places in there)
        for place in _places(judged, placed, term.level)
    )


def _met(
    domains: _Domains, judged: JudgedNode, placed: PlacedPod, term: AffinityTerm
) -> list[PlacedPod]:
    """Return the pods that the term means and that are where the pod is."""
    others = _others(domains, judged, placed, term)
    return [other for other in others if _is_near(judged, placed, term, other)]


def _parting(domains: _Domains, judged: JudgedNode) -> Iterator[tuple[PlacedPod, AffinityTerm]]:
    """Yield the running pods that keep others off a node, with the terms."""
    for runner in judged.looking:
        if not runner.new:
            for term in runner.pod.spec.affinity:
                if term.apart and term.required and not term.wide:
                    yield runner, term
    yield from domains.parting(judged)


def _is_near(judged: JudgedNode, owner: PlacedPod, term: AffinityTerm, other: PlacedPod) -> bool:
    """Return whether two pods of a node, or of a domain, share a place of the term's level."""
    if not term.inside:
        return True
    mine, theirs = (_places(judged, one, term.level) for one in (owner, other))
    return not mine.isdisjoint(theirs - {None})


def _places(judged: JudgedNode, placed: PlacedPod, level: InNodeAffinityLevel) -> set[int | None]:
    """Return the cores, or the NUMA nodes, of the CPUs that the pod owns."""
    cpus = judged.inside.topology.cpu
    owned = [cpus[cpu] for cpu in placed.owned if cpu in cpus]
    return {cpu.core if level is InNodeAffinityLevel.CORE else cpu.numa_node for cpu in owned}


def _elsewhere(domains: _Domains, placed: PlacedPod, term: AffinityTerm) -> bool:
    """Return whether the term means any other pod of the cluster, on nodes in its domains."""
    return any(
        other is not placed and domains.belongs(judged, term) and _means(placed, term, other)
        for judged, other in domains.labelled.pods(term.labels)
    )


def _too_near(
    domains: _Domains,
    judged: JudgedNode,
    placed: PlacedPod,
    other: PlacedPod,
    term: AffinityTerm,
    owner: PlacedPod,
) -> Finding:
    where = "" if not term.inside else f", on one {term.level.place}"
    return pod_breach_finding(
        placed,
        f"is on node {judged.node.name!r}{domains.said(judged, term)} "
        f"with pod {other.title!r}{where}; "
        f"the anti-affinity of {owner.title!r} keeps it from pods with {term.said}",
    )


JUDGED = JudgedFamily(
    rules={
        "affinity": affinity_breaches,
        "anti-affinity": anti_affinity_breaches,
    },
    tiers={AFFINITY: pod_affinity_weight_lost},
)
