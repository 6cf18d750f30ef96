"""Access of nodes to a device: one node by name, nodes with some labels, or all nodes."""

from dataclasses import dataclass

from placer_models.kubernetes.node_affinity import node_terms_of_selector
from placer_models.kubernetes.object_fields import KubeObjectFieldValue
from placer_models.node_affinity import NodeTerm
from placer_models.selectors import Labels


@dataclass(frozen=True, slots=True)
class DeviceAccessNodeSelector:
    """The nodes that can use a device.

    Attributes:
        node: The node's name, or empty if access is not by name.
        terms: Terms of which a node must meet one.
        everywhere: Whether any node can use it.

    """

    node: str = ""
    terms: tuple[NodeTerm, ...] = ()
    everywhere: bool = False

    def includes(self, name: str, labels: Labels) -> bool:
        """Return whether a node can use the device."""
        if self.everywhere:
            return True
        if self.node:
            return self.node == name
        return any(term.met_by(name, labels) for term in self.terms)


def nodes_with_access_to_slice(part: KubeObjectFieldValue) -> DeviceAccessNodeSelector | None:
    """Return the access that a ResourceSlice or a device in it gives, or None if it gives none.

    Raises:
        KubernetesObjectError: It gives access in several ways, or in none that can be read.

    """
    said = {
        "nodeName": bool(part.get("nodeName").text("")),
        "nodeSelector": part.get("nodeSelector").there,
        "allNodes": part.get("allNodes").flag(),
    }
    ways = [way for way, here in said.items() if here]
    if len(ways) > 1:
        part.get(ways[1]).refuse(f"stands beside {ways[0]}; keep one of them")
    if said["nodeSelector"]:
        return node_access_of_selector(part.get("nodeSelector"))
    if said["allNodes"]:
        return DeviceAccessNodeSelector(everywhere=True)
    return DeviceAccessNodeSelector(part.get("nodeName").text()) if said["nodeName"] else None


def node_access_of_selector(selector: KubeObjectFieldValue) -> DeviceAccessNodeSelector:
    """Return the access of the nodes that a node selector includes.

    Raises:
        KubernetesObjectError: An expression cannot be read.

    """
    return DeviceAccessNodeSelector(terms=node_terms_of_selector(selector))
