"""Wishes of a pod for its place: selectors, affinity, tolerations, and what is not understood."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from placer_models.affinity import AffinityTerm
from placer_models.kubernetes.node_affinity import node_affinity_of
from placer_models.kubernetes.object_fields import Field
from placer_models.kubernetes.pod_terms import affinity_terms, spread_of
from placer_models.node_affinity import NodeAffinity
from placer_models.selectors import Labels
from placer_models.taints import TaintEffect, Toleration, TolerationOperator
from placer_models.topology_spread import SpreadConstraint


@dataclass(frozen=True, slots=True)
class Wishes:
    """The wishes of a pod for its place.

    Attributes:
        selector: Labels that its node must have, ascending.
        node_affinity: What else it asks of its node, or would like.
        affinity: Pods that it wants to be with, or apart from.
        spread: How evenly pods like it are to be spread over domains of nodes.
        lacks: Demands that Placer cannot express yet, by the names of fields.
        waived: Wishes that Placer cannot express yet.

    """

    selector: Labels = ()
    node_affinity: NodeAffinity | None = None
    affinity: tuple[AffinityTerm, ...] = ()
    spread: tuple[SpreadConstraint, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    lacks: tuple[str, ...] = ()
    waived: tuple[str, ...] = ()

    @property
    def label_keys(self) -> frozenset[str]:
        """Keys of the pod labels that the wishes look at."""
        keys = (*(term.keys for term in self.affinity), *(one.keys for one in self.spread))
        return frozenset[str]().union(*keys)

    def lacking(self, what: str) -> "Wishes":
        """Return the wishes with one more demand that Placer cannot express."""
        return replace(self, lacks=(*self.lacks, what))


def wishes_of(spec: Field, namespace: str, labels: Labels = ()) -> Wishes:
    """Return the wishes of a pod for its place.

    Args:
        spec: The pod's spec.
        namespace: The pod's namespace.
        labels: The pod's labels.

    Raises:
        ObjectError: Something is wrong with what it says.

    """
    affinity = spec.get("affinity")
    lacks: list[str] = []
    waived: list[str] = []
    terms = tuple(affinity_terms(affinity, namespace, labels, lacks, waived))
    constraints = spec.get("topologySpreadConstraints").items()
    if any(_host_ports(spec)):
        lacks.append("host ports")
    if any(volume.get("persistentVolumeClaim").there for volume in spec.get("volumes").items()):
        waived.append("where its persistent volumes can be reached")
    return Wishes(
        tuple(sorted(spec.get("nodeSelector").texts().items())),
        node_affinity_of(affinity.get("nodeAffinity")),
        terms,
        tuple(spread_of(item, labels) for item in constraints),
        tuple(_toleration(item) for item in spec.get("tolerations").items()),
        tuple(dict.fromkeys(lacks)),
        tuple(dict.fromkeys(waived)),
    )


def _toleration(part: Field) -> Toleration:
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


def _host_ports(spec: Field) -> Iterator[bool]:
    if spec.get("hostNetwork").flag():
        yield any(c.get("ports").items() for c in spec.get("containers").items())
    for container in spec.get("containers").items():
        for port in container.get("ports").items():
            yield port.get("hostPort").integer(0) > 0
