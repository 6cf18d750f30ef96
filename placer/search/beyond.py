"""Pods beyond a part of a cluster that affinity makes the part know about.

Two things reach beyond a node. Some terms are about domains of nodes. And a pod that its own
affinity means may be the first of its kind, as long as no other pod of the cluster is meant.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence, Set
from dataclasses import replace

from placer.state.affinity import lonely_terms
from placer_models.affinity import AffinityTerm
from placer_models.cluster import Node, RunningPod
from placer_models.placement import PodPlacement
from placer_models.pod import Gang, Pod, PodSpec
from placer_models.spreading import spreadings_of


def nodes_of_first_pods(placed: Iterable[RunningPod], everyone: Sequence[RunningPod]) -> set[str]:
    """Return the nodes of placed pods that are the first of their kind, and have no company.

    They belong to every part: what comes elsewhere could break what they rely on. Even for
    terms about domains, only other pods on the same node count as company.
    """
    found = set()
    together: defaultdict[str, list[RunningPod]] = defaultdict(list)
    for one in everyone:
        together[one.placement.node].append(one)
    for one in placed:
        for term in lonely_terms(one.pod.spec):
            others = (
                other for other in together[one.placement.node] if other.pod.key != one.pod.key
            )
            if not any(_means(one.pod.namespace, term, other) for other in others):
                found.add(one.placement.node)
    return found


def outside_pods_that_match(
    everyone: Sequence[RunningPod],
    nodes: Set[str],
    gangs: Iterable[Gang],
    everywhere: Sequence[Node],
) -> list[RunningPod]:
    """Return pods beyond the nodes, one for each term that pods of the gangs may be the first of.

    Also one per domain for each term about domains of those pods, one per domain for each
    term that keeps others off it, and every pod that counts where those pods spread. They
    hold nothing: that they are there keeps others from being the first, or keeps them off.
    """
    specs = {(pod.namespace, pod.spec) for gang in gangs for pod in gang.pods}
    wanted = {(where, term, "") for where, spec in specs for term in lonely_terms(spec)}
    spreads = {one for where, spec in specs for one in spreadings_of(spec, where)}
    near = {(where, term) for where, spec in specs for term in spec.affinity if term.wide}
    node_of = {node.name: node for node in everywhere} if everyone else {}

    def domain_of(node: str, term: AffinityTerm) -> str:
        return node_of[node].topology_domain(term.topology) or ""

    known: set[tuple[str, AffinityTerm, str]] = set()
    found: dict[tuple[str, str], RunningPod] = {}
    for one in everyone:
        node, (namespace, name) = one.placement.node, one.pod.key
        if node in nodes:
            continue
        own = tuple(t for t in one.pod.spec.affinity if t.wide and t.apart and t.required)
        met = {asked for asked in wanted if _means(asked[0], asked[1], one)}
        met |= {
            (where, term, domain_of(node, term)) for where, term in near if _means(where, term, one)
        }
        met |= {(namespace, term, domain_of(node, term)) for term in own}
        counts = any(
            spread.means(one.pod.spec, namespace) and spread.domain(node_of[node]) is not None
            for spread in spreads
        )
        if counts or met - known:
            wanted -= met
            known |= met
            qos = one.pod.spec.qos if any(t.inside for _, t, _ in met) else PodSpec(()).qos
            spec = PodSpec((), qos, labels=one.pod.spec.labels, affinity=own)
            place = PodPlacement(name, namespace, None, node, frozenset())
            found[one.pod.key] = RunningPod(Pod(name, namespace, spec), place)
    return list(found.values())


def _means(namespace: str, term: AffinityTerm, other: RunningPod) -> bool:
    spec, where = other.pod.spec, other.pod.namespace
    means = term.means(spec.labels, owns_cpus=spec.qos.owns_cpus)
    return means and term.looks_into(where, namespace)


def closed_copies(
    nodes: Sequence[Node],
    witnesses: Iterable[RunningPod],
    inside: Set[str] = frozenset(),
    gangs: Iterable[Gang] = (),
) -> tuple[Node, ...]:
    """Return the witnesses' nodes, and one of each domain not met yet that pods spread over.

    They are closed: nothing new can go there. Even an empty domain counts, as it says how few
    of the pods that spread a domain can have.
    """
    names = {runner.placement.node for runner in witnesses}
    specs = {(pod.namespace, pod.spec) for gang in gangs for pod in gang.pods}
    for spread in {one for where, spec in specs for one in spreadings_of(spec, where)}:
        known = {spread.domain(node) for node in nodes if node.name in names | inside}
        for node in nodes:
            if (domain := spread.domain(node)) is not None and domain not in known:
                known.add(domain)
                names.add(node.name)
    return tuple(replace(node, closed=True) for node in nodes if node.name in names)
