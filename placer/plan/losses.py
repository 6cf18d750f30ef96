"""Losses of nodes: which there are, which of them are alike, and what waits after one."""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from placer_models.cluster import Instance, Node, RunningGang, RunningPod
from placer_models.illegal_running import with_running_pods_counted_as_legal
from placer_models.left_out import PodLeftOutBeforeSolve
from placer_models.placement import NamespacedName
from placer_models.pod import Gang, Pod, PodSpec
from placer_models.reasons import Illegal
from placer_models.whatif.nodes import HOSTNAME


@dataclass(frozen=True, slots=True)
class NodeLoss:
    """Nodes that are lost at once.

    Attributes:
        name: What is lost, in words: a node, a domain, or several nodes.
        nodes: Names of the nodes.
        alike: The names of further losses that come to the same.

    """

    name: str
    nodes: tuple[str, ...]
    alike: tuple[str, ...] = ()


def instance_after_loss(instance: Instance, lost: frozenset[str]) -> Instance:
    """Return the instance once nodes are gone: who ran there waits, and nobody else.

    A gang with a member there restarts whole, from all its nodes. Pods that run for their node
    are gone with it.
    """
    instance = with_running_pods_counted_as_legal(instance)
    hit = [one for one in instance.running if one.placement.node in lost and not one.of_node]
    gangs = {key for one in hit if (key := one.gang_key) is not None}
    restarts: dict[NamespacedName, list[RunningPod]] = {}
    stay = []
    for one in instance.running:
        if one.placement.node in lost and one.of_node:
            continue
        key = one.gang_key
        if one.placement.node in lost or key in gangs:
            restarts.setdefault(key or one.pod.key, []).append(one)
        else:
            stay.append(one)
    known = {gang.key: gang for gang in instance.running_gangs}
    waiting = []
    illegal = []
    for key, members in restarts.items():
        illegal += [one for one in members if one.illegal]
        pods = tuple(one.pod for one in members if not one.illegal)
        if not pods:
            continue
        waiting.append(gang_like_running(key, pods, known.get(key), lone=key not in gangs))
    return replace(
        instance,
        nodes=tuple(node for node in instance.nodes if node.name not in lost),
        gangs=tuple(waiting),
        groups=(),
        running=tuple(stay),
        running_gangs=tuple(g for g in instance.running_gangs if g.key not in restarts),
        left_out=tuple(
            PodLeftOutBeforeSolve(
                one.pod.name, one.pod.namespace, None, (Illegal("", one.illegal),)
            )
            for one in illegal
        ),
    )


def gang_like_running(
    key: NamespacedName, pods: tuple[Pod, ...], asked: RunningGang | None, *, lone: bool = False
) -> Gang:
    """Return the gang as which pods of a running gang wait: all of them, asking what it asks."""
    gather, levels = (asked.gather, asked.levels) if asked else (None, ())
    return Gang(key[1], key[0], pods, len(pods), gather=gather, levels=levels, lone=lone)


def losses_of_single_nodes(
    instance: Instance, waiting: Iterable[Gang] = ()
) -> tuple[NodeLoss, ...]:
    """Return the loss of each node that is there by itself; of equal nodes only the first.

    Args:
        instance: The nodes and what runs there; what waits in it does not count.
        waiting: Gangs that need places as well after a loss.

    """
    keys = _Keys(instance, waiting=waiting)
    there = [node for node in instance.nodes if not node.offered or node.opened]
    return _once((node.name, (node.name,), keys.of(node)) for node in there)


def losses_of_domains(instance: Instance, key: str) -> tuple[NodeLoss, ...]:
    """Return the loss of each domain of a label or a level of the network; equal ones once.

    Nodes in no domain are never lost.

    Raises:
        ValueError: No node is in a domain.

    """
    keys = _Keys(instance, key)
    members: dict[str, list[Node]] = {}
    for node in instance.nodes:
        domain = node.topology_domain(key)
        if domain is not None and (not node.offered or node.opened):
            members.setdefault(domain, []).append(node)
    if not members:
        labels = {label for node in instance.nodes for label, _ in node.labels}
        known = sorted(labels | {level for node in instance.nodes for level, _ in node.domains})
        some = f"; there are {', '.join(known[:6])}" if known else ""
        raise ValueError(f"no node has the label or the level '{key}'{some}")
    return _once(
        (domain, tuple(node.name for node in nodes), keys.of_domain(domain, nodes))
        for domain, nodes in sorted(members.items())
    )


def combined_node_losses(losses: Sequence[NodeLoss], number: int) -> Iterator[NodeLoss]:
    """Yield losses of several nodes, made of those of single ones, the worst first at a guess.

    Args:
        losses: Losses of single nodes, the worst first.
        number: How many nodes are lost at once.

    """
    yield from (NodeLoss(" + ".join(some), tuple(some)) for some in _choices(losses, number))


def _choices(losses: Sequence[NodeLoss], number: int) -> Iterator[tuple[str, ...]]:
    """Yield names of nodes: as many of each kind as there are, none twice, early kinds first."""
    if not number:
        yield ()
        return
    for index, loss in enumerate(losses):
        names = (*loss.nodes, *loss.alike)
        for taken in range(min(number, len(names)), 0, -1):
            for rest in _choices(losses[index + 1 :], number - taken):
                yield (*names[:taken], *rest)


def _once(losses: Iterable[tuple[str, tuple[str, ...], Hashable]]) -> tuple[NodeLoss, ...]:
    found: dict[Hashable, list[tuple[str, tuple[str, ...]]]] = {}
    for name, nodes, key in losses:
        found.setdefault(key, []).append((name, nodes))
    return tuple(
        NodeLoss(some[0][0], some[0][1], tuple(name for name, _ in some[1:]))
        for some in found.values()
    )


class _Keys:
    """Keys of nodes: where two have the same, either may be lost in place of the other.

    They are alike inside, hold the same in the same places, and nobody tells them apart by name.
    """

    def __init__(
        self, instance: Instance, domain: str | None = None, waiting: Iterable[Gang] = ()
    ) -> None:
        self._domain = domain
        self._running: dict[str, list[RunningPod]] = {}
        self._gang_nodes: dict[NamespacedName, set[str]] = {}
        for one in instance.running:
            self._running.setdefault(one.placement.node, []).append(one)
            if (key := one.gang_key) is not None:
                self._gang_nodes.setdefault(key, set()).add(one.placement.node)
        self._gangs = {gang.key: gang for gang in instance.running_gangs}
        specs = {pod.spec for gang in waiting for pod in gang.pods}
        self._named = _names_in(specs | {one.pod.spec for one in instance.running})
        self._machines: dict[int, object] = {}

    def of(self, node: Node) -> Hashable:
        """Return the key of a node."""
        if node.name in self._named:
            return node.name
        labels = tuple(
            (key, "" if key == HOSTNAME or value == node.name else value)
            for key, value in node.labels
            if key != self._domain
        )
        levels = tuple(one for one in node.domains if one[0] != self._domain)
        plain = replace(node, name="", labels=labels, domains=levels, homes=())
        tenants = Counter(self._tenant(one) for one in self._running.get(node.name, ()))
        return plain, frozenset(tenants.items())

    def of_domain(self, domain: str, nodes: Sequence[Node]) -> Hashable:
        """Return the key of a domain."""
        if domain in self._named:
            return domain
        return frozenset(Counter(map(self.of, nodes)).items())

    def _tenant(self, one: RunningPod) -> Hashable:
        place = replace(one.placement, name="", node="", gang=None)
        key, gang = one.gang_key, None
        asked: Hashable = None
        if key is not None:
            # A gang within the node restarts with it; one beyond it is told by its name.
            alone = self._gang_nodes[key] == {one.placement.node}
            known = self._gangs.get(key)
            gang = ("", "") if alone else key
            asked = (known.gather, known.levels, len(self._gang_nodes)) if known else None
        pod = (one.pod.namespace, one.pod.spec, one.movable, one.illegal, one.of_node)
        return pod, place, gang, asked


def _names_in(specs: Iterable[PodSpec]) -> frozenset[str]:
    """Return all values of labels, and names of nodes, that some pod asks for."""
    found: set[str] = set()
    for spec in chain.from_iterable(one.each for one in specs):
        found |= {value for _, value in spec.node_selector}
        if spec.node_affinity is not None:
            found |= spec.node_affinity.names
            for term in spec.node_affinity.terms:
                found |= {value for one in term.expressions for value in one.values}
    return frozenset(found)
