"""Resources that a node has as a whole, counted in plain amounts.

Models, bounds, packing, the greedy path and the reasons count all of them alike, as dimensions
of a Problem. A new one takes a line here, and a rule of the judge.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from placer_models.cluster import Node
from placer_models.host_ports import ANY_IP, HostPort
from placer_models.kubernetes.names import REQUESTED_CPU
from placer_models.pod import PodSpec, Resources
from placer_models.quantity import cpu_count_with_noun

ResourceKey = tuple[str, str]
"""The rule that counts a resource, and the resource's name among those of the rule."""

NO_LIMIT = 1_000_000
"""The amount that a node without a limit is taken to have."""

PORT = 1_000
"""What a node has of each of its ports. Who asks for the port on all addresses takes all of it;
who asks for it on one address takes 1, and all there is of the port on that address."""


@dataclass(frozen=True, slots=True)
class NodeResourceAmountRule:
    """The resources that one rule counts.

    Attributes:
        rule: The rule's name.
        wanted: Pod -> name of each resource and how much the pod takes of it.
        demands: Pod -> what it asks for by one name, and all that this takes of the resources.
        had: Node -> name of each resource and how much the node has of it when empty.
        dropped: Pod, node, name of a demand -> both as they are if that is not asked for.
        unnamed: What a node that does not name it has of it; ``NO_LIMIT``: as much as anyone asks.
        whole: What people call 1 of it.

    """

    rule: str
    wanted: Callable[[PodSpec], Iterable[tuple[str, int]]]
    demands: Callable[[PodSpec], Mapping[str, Iterable[tuple[str, int]]]]
    had: Callable[[Node], Iterable[tuple[str, int]]]
    dropped: Callable[[PodSpec, Node, str], tuple[PodSpec, Node]]
    unnamed: int = 0
    whole: int = 1

    def told(self, name: str, amount: int) -> str:
        """Return an amount of it for people; of what there is only one of, the name alone."""
        if name == REQUESTED_CPU:
            return f"{cpu_count_with_noun(amount)} of those that all pods ask for"
        return f"{amount} {name}" if self.whole == 1 else name


def _without_extended(spec: PodSpec, node: Node, subject: str) -> tuple[PodSpec, Node]:
    def fewer(asked: Resources) -> Resources:
        return replace(asked, extended=tuple(e for e in asked.extended if e[0] != subject))

    parts = tuple(replace(part, requests=fewer(part.requests)) for part in spec.containers)
    return replace(spec, containers=parts), node


def _each_by_itself(
    wanted: Callable[[PodSpec], Iterable[tuple[str, int]]],
) -> Callable[[PodSpec], Mapping[str, Iterable[tuple[str, int]]]]:
    """Return the demands of a pod that asks for each resource by its own name."""
    return lambda spec: {name: ((name, want),) for name, want in wanted(spec)}


def _extended(spec: PodSpec) -> Iterable[tuple[str, int]]:
    return spec.requests.extended


def _one_pod(_: PodSpec) -> Iterable[tuple[str, int]]:
    return (("pod", 1),)


def _taken_of_ports(spec: PodSpec) -> Iterable[tuple[str, int]]:
    """Return what a pod takes of ports on all addresses together, and on each that it names."""
    if not spec.host_ports:
        return ()
    taken: dict[str, int] = {}
    for port in spec.host_ports:
        for name, part in _taken_of_port(port):
            taken[name] = min(PORT, taken.get(name, 0) + part)
    return taken.items()


def _taken_of_port(port: HostPort) -> Iterable[tuple[str, int]]:
    if port.ip == ANY_IP:
        return ((port.port_and_protocol, PORT),)
    return (port.port_and_protocol, 1), (str(port), PORT)


def _demanded_ports(spec: PodSpec) -> Mapping[str, Iterable[tuple[str, int]]]:
    return {str(port): _taken_of_port(port) for port in spec.host_ports}


def _without_port(spec: PodSpec, node: Node, subject: str) -> tuple[PodSpec, Node]:
    return replace(spec, host_ports=tuple(p for p in spec.host_ports if str(p) != subject)), node


NODE_RESOURCES = {
    resource.rule: resource
    for resource in (
        NodeResourceAmountRule(
            "extended",
            wanted=_extended,
            demands=_each_by_itself(_extended),
            had=lambda node: node.extended,
            dropped=_without_extended,
        ),
        NodeResourceAmountRule(
            "max-pods",
            wanted=_one_pod,
            demands=_each_by_itself(_one_pod),
            had=lambda node: () if node.max_pods is None else (("pod", node.max_pods),),
            dropped=lambda spec, node, _: (spec, replace(node, max_pods=None)),
            unnamed=NO_LIMIT,
        ),
        NodeResourceAmountRule(
            "host-ports",
            wanted=_taken_of_ports,
            demands=_demanded_ports,
            had=lambda _: (),
            dropped=_without_port,
            unnamed=PORT,
            whole=PORT,
        ),
    )
}
"""Name of a rule -> its resources, in the order of reasons."""


def resources_of_pod(spec: PodSpec) -> dict[ResourceKey, int]:
    """Return what a pod takes of each resource."""
    kinds = NODE_RESOURCES.values()
    return {(kind.rule, name): want for kind in kinds for name, want in kind.wanted(spec)}


def resources_of_empty_node(node: Node) -> dict[ResourceKey, int]:
    """Return what an empty node has of each resource that it names."""
    kinds = NODE_RESOURCES.values()
    return {(kind.rule, name): amount for kind in kinds for name, amount in kind.had(node)}


def amounts_left_by_pods(node: Node, specs: Iterable[PodSpec]) -> dict[ResourceKey, int]:
    """Return what pods leave of each resource, below 0 if they hold more than there is."""
    return resources_left_after_more_pods(resources_of_empty_node(node), specs)


def resources_left_after_more_pods(
    amounts: Mapping[ResourceKey, int], specs: Iterable[PodSpec]
) -> dict[ResourceKey, int]:
    """Return what is left of each resource once more pods have come."""
    left = dict(amounts)
    for spec in specs:
        for kind in NODE_RESOURCES.values():
            for name, want in kind.wanted(spec):
                key = kind.rule, name
                if key in left:
                    left[key] -= want
                elif 0 < kind.unnamed < NO_LIMIT:
                    left[key] = kind.unnamed - want
    return left


def resource_amount_on_node(key: ResourceKey, amounts: Mapping[ResourceKey, int]) -> int:
    """Return how much there is of a resource on a node that names these amounts."""
    return amounts.get(key, NODE_RESOURCES[key[0]].unnamed)
