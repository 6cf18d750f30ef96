"""Namespaces: their labels, by which terms about pods may select them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from placer_models.affinity import EVERY_NAMESPACE
from placer_models.kubernetes.label_selectors import LabelSelector
from placer_models.kubernetes.object_fields import (
    KubeObjectIdentity,
    Object,
    read_object_identity_and_fields,
)
from placer_models.selectors import Labels

OF_NAMESPACES = "kubernetes.io/metadata.name"
"""The label that every namespace has, with its name as the value."""


@dataclass(frozen=True, slots=True)
class KubeNamespace:
    """The contents of a Namespace object: its labels, in its identity."""

    identity: KubeObjectIdentity


def read_kube_namespace(found: Object) -> KubeNamespace:
    """Return the contents of a Namespace object.

    Raises:
        KubernetesObjectError: Something is wrong with it.

    """
    return KubeNamespace(read_object_identity_and_fields(found, "Namespace", namespaced=False)[0])


@dataclass(frozen=True, slots=True)
class NamespacesOfDump:
    """What is known of the namespaces of a cluster.

    Attributes:
        labels: Name of a namespace that a Namespace object tells of -> its labels.
        untold: Names of the others in which there are pods.

    """

    labels: Mapping[str, Labels] = field(default_factory=dict)
    untold: frozenset[str] = frozenset()

    @classmethod
    def of(cls, parts: Mapping[str, KubeNamespace], with_pods: Iterable[str]) -> "NamespacesOfDump":
        """Return what objects tell of the namespaces, given the namespaces that have pods."""
        labels = {
            name: tuple(sorted({**part.identity.labels, OF_NAMESPACES: name}.items()))
            for name, part in parts.items()
        }
        return cls(labels, frozenset(with_pods) - labels.keys())

    def selected(self, selector: LabelSelector, *, in_doubt: bool) -> frozenset[str]:
        """Return the namespaces with these labels.

        Args:
            selector: Which labels.
            in_doubt: Whether a namespace counts that nobody tells the labels of. Its name is
                known, and decides where the selector looks at nothing else.

        """
        found = {name for name, labels in self.labels.items() if selector.selects(labels)}
        by_name = selects_by_namespace_name(selector)
        for name in self.untold:
            if selector.selects(((OF_NAMESPACES, name),)) if by_name else in_doubt:
                found.add(name)
        return frozenset(found)


def selects_by_namespace_name(selector: LabelSelector) -> bool:
    """Return whether the names of namespaces decide which of them are selected."""
    keys = {key for key, _ in selector.labels} | {one.key for one in selector.expressions}
    return keys <= {OF_NAMESPACES}


@dataclass(frozen=True, slots=True)
class PodAffinityTermNamespaces:
    """The namespaces that a term about pods looks at.

    Attributes:
        names: Those that it names; the pod's own, if it says nothing.
        selector: Labels of others that it looks at as well; None: of no others.

    """

    names: frozenset[str]
    selector: LabelSelector | None = None

    def found(self, known: NamespacesOfDump, *, in_doubt: bool) -> frozenset[str]:
        """Return their names, or ``EVERY_NAMESPACE`` alone; arguments as for `selected`."""
        if self.selector is None:
            return self.names
        if self.selector.selects_all:
            return frozenset((EVERY_NAMESPACE,))
        return self.names | known.selected(self.selector, in_doubt=in_doubt)
