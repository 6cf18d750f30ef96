"""Access to storage in a cluster: which nodes reach a volume, and where one can be provisioned."""

from collections import defaultdict
from collections.abc import Callable

from placer.kubernetes.objects import ClusterObjects
from placer_models.kubernetes.label_selectors import LabelSelector
from placer_models.kubernetes.names import REGIONS, ZONES
from placer_models.kubernetes.storage import KubeStorageCapacity, KubeStorageClass
from placer_models.kubernetes.volume import KubePersistentVolume, KubeVolumeClaim
from placer_models.selectors import Labels

NodeNames = frozenset[str]

_Zones = tuple[tuple[str, frozenset[str]], ...]
_SAME_AS = {ZONES[1]: ZONES[0], REGIONS[1]: REGIONS[0]}


class NodesReachingVolumes:
    """The nodes of a cluster that reach its volumes, as kube-scheduler sees it."""

    def __init__(self, objects: ClusterObjects) -> None:
        self._objects = objects
        self._nodes = {
            name: tuple(sorted(node.identity.labels.items()))
            for name, node in objects.nodes.items()
        }
        self._known: dict[object, NodeNames] = {}
        self._capacities: defaultdict[str, list[KubeStorageCapacity]] = defaultdict(list)
        for one in objects.storage_capacities.values():
            self._capacities[one.storage_class].append(one)

    @property
    def all_nodes(self) -> NodeNames:
        """The names of all nodes."""
        return frozenset(self._nodes)

    def of(self, volume: KubePersistentVolume) -> NodeNames:
        """Return the nodes that reach a volume, by its node affinity alone."""
        access = volume.access
        if access is None:
            return self.all_nodes
        return self._where(access, access.includes)

    def of_bound(self, volume: KubePersistentVolume) -> NodeNames:
        """Return the nodes that reach a claim's volume, by its labels of zones, too."""
        found, zones = self.of(volume), volume.zones
        return found & self._where(zones, lambda _, has: _is_in(zones, has)) if zones else found

    def provisioned_for(self, claim: KubeVolumeClaim) -> NodeNames:
        """Return the nodes for which a volume can be provisioned for a claim."""
        of_class = self._objects.storage_classes.get(claim.storage_class)
        if of_class is None or not of_class.provisioner:
            return frozenset()
        found = self._where(of_class.identity, of_class.allows)
        if self._is_limited(of_class):
            found &= self._with_room(of_class.identity.name, claim.requested_bytes)
        return found

    def _is_limited(self, of_class: KubeStorageClass) -> bool:
        """Return whether volumes are only provisioned where their driver says that it has room."""
        doubts = self._objects.doubts
        if doubts.of(f"CSIDriver {of_class.provisioner}"):
            return True
        driver = self._objects.csi_drivers.get(of_class.provisioner)
        if driver is not None:
            return driver.tells_capacity
        told = of_class.identity.name in self._capacities or doubts.any_of("CSIStorageCapacity")
        return told and not self._objects.csi_drivers

    def _with_room(self, of_class: str, wanted_bytes: int) -> NodeNames:
        found: NodeNames = frozenset()
        for one in self._capacities[of_class]:
            if one.nodes is not None and one.most_bytes >= wanted_bytes:
                found |= self._where(("capacity", one.nodes), _selected_by(one.nodes))
        return found

    def _where(self, key: object, meets: Callable[[str, Labels], bool]) -> NodeNames:
        """Return the nodes that meet a condition, which the key stands for."""
        found = self._known.get(key)
        if found is None:
            found = frozenset(n for n, labels in self._nodes.items() if meets(n, labels))
            self._known[key] = found
        return found


def _selected_by(nodes: LabelSelector) -> Callable[[str, Labels], bool]:
    return lambda _, labels: nodes.selects(labels)


def _is_in(zones: _Zones, labels: Labels) -> bool:
    """Return whether a node is in the zones of a volume; one that has no zones at all is.

    A node without an old key is in the zone that today's key says, but not the other way round.
    """
    has = dict(labels)
    if not has.keys() & {*ZONES, *REGIONS}:
        return True
    return all(has.get(key, has.get(_SAME_AS.get(key, key))) in values for key, values in zones)
