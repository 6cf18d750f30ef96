"""Placement constraints of a pod: selectors, affinity, tolerations, and what is not understood."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from placer_models.host_ports import ANY_IP, HostPort, PortProtocol
from placer_models.kubernetes.declared_features import needed_declared_feature_labels
from placer_models.kubernetes.node_affinity import node_affinity_of_kube_pod
from placer_models.kubernetes.object_fields import KubeObjectFieldValue
from placer_models.kubernetes.pod_terms import (
    KubePodAffinityTerm,
    read_kube_pod_affinity_terms,
    spread_constraint_of,
)
from placer_models.node_affinity import NodeAffinity
from placer_models.selectors import Labels
from placer_models.taints import TaintEffect, Toleration, TolerationOperator
from placer_models.topology_spread import SpreadConstraint


@dataclass(frozen=True, slots=True)
class KubePodPlacementConstraints:
    """What a pod asks, or would like, of the place where it runs.

    Attributes:
        selector: Labels that its node must have, ascending.
        features: Labels that stand for features which its node must declare, ascending.
        node_affinity: What else it asks of its node, or would like.
        affinity: Pods that it wants to be with, or apart from, as written.
        spread: How evenly pods like it are to be spread over domains of nodes, as written.
        host_ports: Ports of the node that it has for itself, ascending.
        lacks: Demands that Placer cannot express yet, by the names of fields.

    """

    selector: Labels = ()
    features: Labels = ()
    node_affinity: NodeAffinity | None = None
    affinity: tuple[KubePodAffinityTerm, ...] = ()
    spread: tuple[SpreadConstraint, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    host_ports: tuple[HostPort, ...] = ()
    lacks: tuple[str, ...] = ()

    @property
    def label_keys(self) -> frozenset[str]:
        """Keys of the pod labels that the constraints look at."""
        keys = (*(one.term.keys for one in self.affinity), *(one.keys for one in self.spread))
        return frozenset[str]().union(*keys)

    def lacking(self, what: str) -> "KubePodPlacementConstraints":
        """Return the constraints with one more demand that Placer cannot express."""
        return replace(self, lacks=(*self.lacks, what))


def placement_constraints_of(
    spec: KubeObjectFieldValue, namespace: str, labels: Labels = ()
) -> KubePodPlacementConstraints:
    """Return what a pod asks, or would like, of the place where it runs.

    Args:
        spec: The pod's spec.
        namespace: The pod's namespace.
        labels: The pod's labels.

    Raises:
        KubernetesObjectError: Something is wrong with what it says.

    """
    affinity = spec.get("affinity")
    lacks: list[str] = []
    terms = tuple(read_kube_pod_affinity_terms(affinity, namespace, labels, lacks))
    constraints = spec.get("topologySpreadConstraints").items()
    return KubePodPlacementConstraints(
        tuple(sorted(spec.get("nodeSelector").texts().items())),
        needed_declared_feature_labels(spec),
        node_affinity_of_kube_pod(affinity.get("nodeAffinity")),
        terms,
        tuple(spread_constraint_of(item, labels) for item in constraints),
        tuple(_toleration(item) for item in spec.get("tolerations").items()),
        tuple(sorted(set(_host_ports(spec)))),
        tuple(dict.fromkeys(lacks)),
    )


def _toleration(part: KubeObjectFieldValue) -> Toleration:
    operator, effect = part.get("operator"), part.get("effect")
    known = effect.word(TaintEffect) if effect.value not in (None, "") else None
    seconds = part.get("tolerationSeconds")
    if seconds.value is not None and known is not TaintEffect.NO_EXECUTE:
        seconds.refuse("tells how long a taint NoExecute is tolerated; give the effect NoExecute")
    return part.checked(
        Toleration,
        part.get("key").text(""),
        operator.word(TolerationOperator) if operator.value else TolerationOperator.EQUAL,
        part.get("value").text(""),
        known,
    )


def _host_ports(spec: KubeObjectFieldValue) -> Iterator[HostPort]:
    """Yield the ports of the node that app containers and sidecars have, as kube-scheduler does."""
    in_hosts_network = spec.get("hostNetwork").flag()
    sidecars = (
        container
        for container in spec.get("initContainers").items()
        if container.get("restartPolicy").value == "Always"
    )
    for container in (*spec.get("containers").items(), *sidecars):
        for port in container.get("ports").items():
            number = port.get("hostPort").integer(0)
            if in_hosts_network and not number:
                number = port.get("containerPort").integer(0)
            if number:
                protocol, ip = port.get("protocol"), port.get("hostIP")
                yield port.checked(
                    HostPort,
                    number,
                    protocol.word(PortProtocol) if protocol.value else PortProtocol.TCP,
                    ip.text("") or ANY_IP,
                )
