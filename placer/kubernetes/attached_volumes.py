"""Volumes that nodes attach, and disks that pods of a node cannot share, as plain amounts."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from placer.kubernetes.objects import ClusterObjects
from placer_models.kubernetes.object_fields import object_title
from placer_models.kubernetes.pod import KubePod
from placer_models.kubernetes.storage import CLASS_KIND
from placer_models.kubernetes.volume import CLAIM_KIND, VOLUME_KIND, KubeVolumeClaim

ATTACHED = "placer/attach-"
"""The begin of the names of plain amounts: how many more volumes of a driver a node attaches."""

DISK = "placer/disk-"
"""The begin of the names of plain amounts: how many more pods of a node can have a disk."""

Attached = tuple[str, str]
"""A volume: its driver and its name there."""


class AttachedVolumesOfDump:
    """The volumes and disks that the nodes of a cluster have, and what they can have besides."""

    def __init__(self, objects: ClusterObjects) -> None:
        self._objects = objects
        self._limited = {name for one in objects.csi_nodes.values() for name in one.limits}
        self._bound: defaultdict[str, list[KubePod]] = defaultdict(list)
        for part in objects.pods.values():
            if part.node and not part.ended:
                self._bound[part.node].append(part)
        self._all = 1 + sum(
            not part.ended and bool(part.volumes.disks) for part in objects.pods.values()
        )
        self._attachments: defaultdict[str, set[Attached]] = defaultdict(set)
        for one in objects.attachments.values():
            volume = objects.volumes.get(one.volume)
            handle = volume.handle if volume is not None else one.volume or one.identity.name
            self._attachments[one.node].add((one.driver, handle))
        self._unattached = objects.doubts.unattached | {
            node for node, pods in self._bound.items() if any(map(self._is_unknown, pods))
        }
        self._drivers: set[str] = set()
        self._disks: set[str] = set()

    def asked_by(self, part: KubePod) -> dict[str, int]:
        """Return the amounts that a waiting pod takes on its node."""
        drivers = Counter(driver for driver, _ in self._volumes_of(part))
        counts = {
            name: count
            for name, count in drivers.items()
            if name in self._limited or self._unattached
        }
        self._drivers |= counts.keys()
        disks = self._disks_of(part)
        self._disks |= disks.keys()
        found = {f"{ATTACHED}{name}": count for name, count in counts.items()}
        return found | {f"{DISK}{name}": count for name, count in disks.items()}

    def has_any(self, part: KubePod) -> bool:
        """Return whether a pod has volumes that a driver attaches."""
        return bool(self._volumes_of(part))

    def on_node(self, name: str, enough: int) -> dict[str, int]:
        """Return what a node can still have of what waiting pods ask for.

        Args:
            name: The node's name.
            enough: As much as all of them ask for, where nothing limits it.

        """
        found: dict[str, int] = {}
        pods = self._bound.get(name, ())
        if self._drivers:
            csi_node = self._objects.csi_nodes.get(name)
            limits: Mapping[str, int] = csi_node.limits if csi_node else {}
            there = Counter(driver for driver, _ in self._attached(name, pods))
            for driver in self._drivers:
                left = max(0, limits[driver] - there[driver]) if driver in limits else enough
                if self._unattached & {None, name}:
                    left = 0
                found[f"{ATTACHED}{driver}"] = left
        if self._disks:
            used: Counter[str] = Counter()
            for part in pods:
                used.update(self._disks_of(part))
            found |= {f"{DISK}{name}": max(0, self._all - used[name]) for name in self._disks}
        return found

    def _disks_of(self, part: KubePod) -> dict[str, int]:
        """Return disk -> what a pod takes of it: all, or one if it only reads it."""
        found: dict[str, int] = {}
        for disk in part.volumes.disks:
            for name in disk.names:
                found[name] = max(found.get(name, 0), 1 if disk.read_only else self._all)
        return found

    def _attached(self, node: str, pods: Iterable[KubePod]) -> set[Attached]:
        """Return what a node has attached, or is about to attach."""
        found = {one for part in pods for one in self._volumes_of(part)}
        return found | self._attachments.get(node, set())

    def _is_unknown(self, part: KubePod) -> bool:
        """Return whether a pod has a volume of which nobody knows who attaches it."""
        objects, doubts = self._objects, self._objects.doubts
        for one in part.volumes.claims if doubts.why else ():
            key = part.identity.namespace, one.claim
            claim = objects.volume_claims.get(key)
            titles = [object_title(CLAIM_KIND, *key)]
            if claim is not None:
                titles = [object_title(VOLUME_KIND, "", claim.volume)]
                if claim.volume not in objects.volumes:
                    titles.append(object_title(CLASS_KIND, "", claim.storage_class))
            if any(map(doubts.of, titles)):
                return True
        return False

    def _volumes_of(self, part: KubePod) -> set[Attached]:
        found: set[Attached] = set()
        for one in part.volumes.claims:
            claim = self._objects.volume_claims.get((part.identity.namespace, one.claim))
            if claim is not None and (volume := self._volume_of(claim)) is not None:
                found.add(volume)
        return found

    def _volume_of(self, claim: KubeVolumeClaim) -> Attached | None:
        """Return what is attached for a claim, or None if that is nothing that counts."""
        volume = self._objects.volumes.get(claim.volume)
        if volume is not None:
            return (volume.driver, volume.handle) if volume.driver else None
        of_class = self._objects.storage_classes.get(claim.storage_class)
        if of_class is None or not of_class.driver:
            return None
        return of_class.driver, "/".join(claim.identity.key)
