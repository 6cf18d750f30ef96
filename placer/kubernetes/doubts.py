"""Doubts: what nobody knows of a cluster, because some of its objects cannot be read."""

from dataclasses import dataclass, field, replace

from placer_models.kubernetes.node_access import DeviceAccessNodeSelector
from placer_models.kubernetes.pod import KubePod
from placer_models.kubernetes.pod_gang import GangNamedByPod
from placer_models.placement import NamespacedName
from placer_models.pod import PodSpec

EVERY_NODE = ("placer:every-node", "true")
"""A label of all nodes: the domain of anti-affinity whose own domain cannot be read."""


@dataclass(frozen=True, slots=True)
class UnreadableResourceSlice:
    """What is known of a ResourceSlice that cannot be read.

    Attributes:
        pool: Driver and pool; None if they cannot be read.
        access: The nodes that it is about; None if they cannot be read.

    """

    pool: tuple[str, str] | None
    access: DeviceAccessNodeSelector | None


@dataclass(slots=True)
class UnreadableObjects:
    """What is unknown, so that nothing may be laxer for it.

    Attributes:
        why: Title of an object that cannot be read -> what is wrong with it.
        everywhere: Whether what cannot be read may concern any node.
        slices: ResourceSlices that cannot be read.
        claims: ResourceClaims of which nobody knows what they were given.
        kept_volumes: PersistentVolumeClaims for which a volume that cannot be read is kept; None
            stands for any claim.
        unattached: Nodes that attach no further volume; None stands for all nodes.
        holders: Namespaces with pods of which nobody knows which volumes they have.
        labels: Pods with unknown labels, which may be those that others want to be apart from.
        domains: Nodes of which nobody knows in which domains they are.
        widened: Whether some pod's anti-affinity is about all nodes, as its domain is unknown.
        gangs: Gangs with waiting members that cannot be read -> titles of these.
        refs: What these members say of their gangs.
        vague: Gangs of which a member says what cannot be read, by its title.

    """

    why: dict[str, str] = field(default_factory=dict)
    everywhere: bool = False
    slices: list[UnreadableResourceSlice] = field(default_factory=list)
    claims: list[NamespacedName] = field(default_factory=list)
    kept_volumes: set[NamespacedName | None] = field(default_factory=set)
    unattached: set[str | None] = field(default_factory=set)
    holders: set[str] = field(default_factory=set)
    labels: list[str] = field(default_factory=list)
    domains: list[str] = field(default_factory=list)
    widened: bool = False
    gangs: dict[tuple[bool, str, str], list[str]] = field(default_factory=dict)
    refs: list[GangNamedByPod] = field(default_factory=list)
    vague: dict[tuple[bool, str, str], str] = field(default_factory=dict)

    def of(self, title: str) -> str:
        """Return why an object cannot be read, with its title, or nothing if that is not known."""
        return f"{title} cannot be read: {self.why[title]}" if title in self.why else ""

    def any_of(self, kind: str) -> bool:
        """Return whether an object of this kind cannot be read."""
        return any(title.partition(" ")[0] == kind for title in self.why)

    def about(self, spec: PodSpec) -> tuple[str, ...]:
        """Return why a pod has to wait that looks at other pods, or at domains of nodes."""
        apart = any(one.apart and one.required for one in spec.affinity)
        spread = any(one.required for one in spec.spread)
        found = []
        if self.labels and (apart or spread):
            what = "it looks at labels of other pods, and those of"
            found.append(f"{what} {self.labels[0]} cannot be read")
        if self.domains and (apart or spread):
            what = "it looks at domains of nodes, and those of"
            found.append(f"{what} {self.domains[0]} cannot be read")
        return tuple(found)

    def widen(self, part: KubePod) -> KubePod:
        """Return a bound pod that keeps away from others on all nodes, as its domains are unknown.

        Other pods, and pods of nodes whose domains are known, stay as they are.
        """
        if f"Node {part.node}" not in self.domains:
            return part
        terms = tuple(
            replace(one, term=replace(one.term, topology=EVERY_NODE[0]))
            if one.term.apart and one.term.required
            else one
            for one in part.constraints.affinity
        )
        if terms == part.constraints.affinity:
            return part
        self.widened = True
        return replace(part, constraints=replace(part.constraints, affinity=terms))
