"""Free volumes that claims of waiting pods compete for, counted so that each goes to one claim.

A volume that one node reaches is a plain amount of that node. Claims may match sets of volumes
that lie in each other, such as all volumes of at least some size: then a claim takes one of each
set that holds all its volumes, and that is enough (Hall's theorem for nested sets). Where sets
overlap otherwise, what they share stays with one of them; a volume that several nodes reach is
dealt out to one claim beforehand.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from placer.kubernetes.volume_access import NodeNames, NodesReachingVolumes
from placer_models.kubernetes.volume import KubePersistentVolume, KubeVolumeClaim
from placer_models.placement import NamespacedName

VolumeNames = frozenset[str]

FREE = "placer/free-volumes"
"""The name of the plain amount; for further sets of volumes a number is added."""


class FreeVolumesOfDump:
    """The free volumes of a cluster, as claims on them compete for them.

    Attributes:
        possible: Claim -> the volumes that it could have if nobody else wanted any.
        matching: Claim -> those of them that are left to it.
        amounts: Plain amount -> node -> how much of it the node has.
        enough: What a node has of an amount where a volume can be provisioned instead.

    """

    def __init__(
        self,
        volumes: Mapping[str, KubePersistentVolume],
        claims: Sequence[KubeVolumeClaim],
        access: NodesReachingVolumes,
    ) -> None:
        self._access = access
        self._volumes = volumes
        self._by_class: defaultdict[str, list[KubePersistentVolume]] = defaultdict(list)
        self._kept: defaultdict[NamespacedName, list[KubePersistentVolume]] = defaultdict(list)
        for one in volumes.values():
            if one.claim is not None:
                self._kept[one.claim].append(one)
            elif one.free:
                self._by_class[one.storage_class].append(one)
        self._alike: dict[object, VolumeNames] = {}
        self.matching = {
            one.identity.key: self._matching(one) for one in claims if not one.selected_node
        }
        self._reached: dict[VolumeNames, NodeNames] = {}
        self.possible = dict(self.matching)
        self.enough = len(claims)
        self.amounts: dict[str, dict[str, int]] = {}
        self._asked: dict[NamespacedName, tuple[str, ...]] = {}
        self._share_out({one.identity.key: one for one in claims})

    def nodes(self, claim: KubeVolumeClaim) -> NodeNames:
        """Return the nodes that reach a volume that the claim may have."""
        names = self.matching.get(claim.identity.key, frozenset())
        if names not in self._reached:
            every = (self._access.of(self._volumes[name]) for name in names)
            self._reached[names] = frozenset[str]().union(*every)
        return self._reached[names]

    def asked(self, claim: KubeVolumeClaim) -> tuple[str, ...]:
        """Return the amounts of which the claim takes one each."""
        return self._asked.get(claim.identity.key, ())

    def _matching(self, claim: KubeVolumeClaim) -> VolumeNames:
        """Return the volumes that a claim could have; one that is kept for it goes first."""
        kept = self._kept.get(claim.identity.key, ())
        mine = [one.identity.name for one in kept if claim.matches(one)]
        if mine:
            return frozenset(mine[:1])
        key = (
            *(claim.storage_class, claim.requested_bytes, claim.modes, claim.mode),
            *(claim.attributes_class, claim.selector),
        )
        if key not in self._alike:
            offered = self._by_class[claim.storage_class]
            found = (one.identity.name for one in offered if claim.matches(one))
            self._alike[key] = frozenset(found)
        return self._alike[key]

    def _share_out(self, claims: Mapping[NamespacedName, KubeVolumeClaim]) -> None:
        """Give volumes that several claims want to one each, or make them amounts."""
        wanted = Counter(self.matching.values())
        claimants = Counter(name for names in wanted for name in names)
        contended = {
            names
            for names, count in wanted.items()
            if names and (count > 1 or any(claimants[name] > 1 for name in names))
        }
        if not contended:
            return
        keys = [key for key, names in self.matching.items() if names in contended]
        self._deal(keys)
        nested = _nested({self.matching[key] for key in keys} - {frozenset()})
        users: defaultdict[VolumeNames, list[NamespacedName]] = defaultdict(list)
        for key in keys:
            self.matching[key] = nested.get(self.matching[key], frozenset())
            users[self.matching[key]].append(key)
        sets = sorted((one for one in users if one), key=lambda one: (-len(one), sorted(one)))
        for number, names in enumerate(sets, start=1):
            inside = [key for other, those in users.items() if other <= names for key in those]
            inside = [key for key in inside if self.matching[key]]
            if len(inside) < 2:
                continue
            amount = f"{FREE}-{number}" if number > 1 else FREE
            self.amounts[amount] = self._amount(names, [claims[key] for key in inside])
            for key in inside:
                self._asked[key] = (*self._asked.get(key, ()), amount)

    def _amount(self, names: VolumeNames, inside: Sequence[KubeVolumeClaim]) -> dict[str, int]:
        """Return how many volumes of a set each node reaches."""
        found = Counter(node for name in names for node in self._access.of(self._volumes[name]))
        everywhere = [self._access.provisioned_for(one) for one in inside]
        return dict(found) | dict.fromkeys(everywhere[0].intersection(*everywhere), self.enough)

    def _deal(self, keys: Sequence[NamespacedName]) -> None:
        """Give each volume that several nodes reach to one claim, the smallest first."""
        several = {
            name
            for name in frozenset[str]().union(*(self.matching[key] for key in keys))
            if len(self._access.of(self._volumes[name])) > 1
        }
        left = set(several)
        for key in sorted(keys, key=lambda key: (len(self.matching[key]), key)):
            mine = sorted(self.matching[key] & left, key=self._size)
            if mine:
                left.discard(mine[0])
                self.matching[key] = frozenset(mine[:1])
            else:
                self.matching[key] -= several

    def _size(self, name: str) -> tuple[int, str]:
        return self._volumes[name].capacity_bytes, name


def _nested(sets: set[VolumeNames]) -> dict[VolumeNames, VolumeNames]:
    """Return set -> the same set, without what it shares with others that it only overlaps.

    Afterwards any two sets are apart, or one lies in the other.
    """
    found: dict[VolumeNames, VolumeNames] = {}
    for names in sorted(sets, key=lambda one: (-len(one), sorted(one))):
        left, changed = names, True
        while changed:
            changed = False
            for other in found.values():
                if left & other and not left <= other and not other <= left:
                    left, changed = left - other, True
        found[names] = left
    return found
