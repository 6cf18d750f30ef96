"""Sum of a pod's claims in Placer's words: how many devices, where they are, on which nodes."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from placer.kubernetes.device_matches import ClaimRequestMatchesByNode
from placer_models.kubernetes.claimed import PodResourcesByClaims, SameNumaClaimedResources
from placer_models.kubernetes.device_attributes import NUMA_NODE, PCIE_ROOT
from placer_models.kubernetes.listed_devices import CPU_GROUP, CPU_NUMA, CPU_TYPES
from placer_models.kubernetes.resource_claim import (
    ClaimDeviceRequest,
    KubeResourceClaim,
    SameAttributeConstraint,
)
from placer_models.policy import JointDevicesScope, SameTypeDevicesScope

_SCOPES = {
    PCIE_ROOT: (SameTypeDevicesScope.PCIE, JointDevicesScope.SAME_PCIE),
    NUMA_NODE: (SameTypeDevicesScope.NUMA_NODE, JointDevicesScope.SAME_NUMA_NODE),
}
"""Attribute of devices that tells their place -> the scopes of devices with one value of it."""


Label = tuple[str, str]


@dataclass(frozen=True, slots=True)
class ResolvedClaimRequest:
    """One request, resolved.

    Attributes:
        claim: The claim that it belongs to, or None if that is not made yet.
        count: How many devices of the type, or CPUs.
        mark: The quantity that only the devices have which match, where others of their type do
            not; else empty.
        on_node: Of a request with alternatives: name of a node -> the one that is taken there.

    """

    claim: KubeResourceClaim | None
    request: ClaimDeviceRequest
    type: str
    count: int
    match: ClaimRequestMatchesByNode = field(compare=False)
    mark: str = ""
    on_node: Mapping[str, "ResolvedClaimRequest"] = field(default_factory=dict, compare=False)

    def there(self, node: str) -> "ResolvedClaimRequest":
        """Return the request as it is on a node."""
        return self.on_node.get(node, self)


@dataclass(slots=True)
class ResolvedPodClaims:
    """What a waiting pod asks for by claims.

    Attributes:
        given: Its requests, resolved.
        parts: Requests in parts that are each on one NUMA node, with CPUs of that NUMA node.
        nodes: Names of the nodes that have what it asks for, or None if any node will do.
        cpus: How many CPUs of its own it asks for.
        holds: Labels that stand for claims whose devices it holds for other pods, too.
        follows: Labels of the pods that hold the devices of its other claims.
        lacks: Demands that Placer cannot express.
        missing: Objects that are not in the dump.
        waits: Why else it has to wait.
        assumed: Assumptions that are made.
        liking: How good the alternatives are that it is asked with; more is better.

    """

    given: list[ResolvedClaimRequest] = field(default_factory=list)
    parts: list[list[ResolvedClaimRequest]] = field(default_factory=list)
    nodes: frozenset[str] | None = None
    claimed: PodResourcesByClaims = field(default_factory=PodResourcesByClaims)
    cpus: int = 0
    holds: list[Label] = field(default_factory=list)
    follows: list[Label] = field(default_factory=list)
    lacks: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    waits: list[str] = field(default_factory=list)
    assumed: list[str] = field(default_factory=list)
    liking: int = 0

    def differs_in_devices(self, other: "ResolvedPodClaims") -> bool:
        """Return whether it asks for the same, but for which devices, and how many."""
        return _beside_devices(self) == _beside_devices(other)

    def keep(self, nodes: Iterable[str]) -> None:
        """Restrict the pod to some nodes."""
        found = frozenset(nodes)
        self.nodes = found if self.nodes is None else self.nodes & found


def _beside_devices(found: ResolvedPodClaims) -> tuple[object, ...]:
    of = found.claimed
    scopes = of.scopes, of.joint, of.joint_scope, of.numa_parts
    return found.cpus, scopes, found.holds, found.follows


Constraint = tuple[SameAttributeConstraint, list[ResolvedClaimRequest]]
"""What devices must have in common, and the requests for them."""


AlikeDevices = dict[tuple[str, frozenset[int]], tuple[frozenset[str], frozenset[str]]]
"""(Attribute, matches) -> nodes whose devices all share one value; nodes where each has a value."""


def require_common_attributes(
    constraints: Sequence[Constraint],
    found: ResolvedPodClaims,
    numa_known: frozenset[str],
    known: AlikeDevices,
) -> None:
    """Complete what the claims ask for with what the devices must have in common.

    Args:
        constraints: What devices must have in common.
        found: What the claims ask for, completed here.
        numa_known: Names of the nodes whose NUMA nodes are known.
        known: Results of earlier calls, to which new ones are added.

    """
    counts = Counter[str]()
    marked = Counter[tuple[str, str]]()
    found.parts = [[one] for one in found.given if one.type == CPU_GROUP]
    for one in found.given:
        if one.type in CPU_TYPES:
            found.cpus += one.count
        elif one.type:
            counts[one.type] += one.count
            marked[one.type, one.mark] += one.count
    if found.parts and any(mark for _, mark in marked):
        found.lacks.append("some devices of a type and not the others beside CPUs of a NUMA node")
    scopes: dict[str, SameTypeDevicesScope] = {}
    joint: tuple[str, ...] = ()
    joint_scope = JointDevicesScope.SAME_PCIE
    for same, given in constraints:
        here = Counter[str]()
        for one in given:
            here[one.type] += 1 if one.type == CPU_GROUP else one.count
        nodes = found.nodes or frozenset()
        all_alike, all_having = _alike(same.attribute, given, known)
        alike, having = nodes & all_alike, nodes & all_having
        if alike == nodes or sum(here.values()) == 1:
            _keep(having, found, f"not every device has {same.attribute}")
            continue
        beside = having & _of_one_numa_node(same.attribute, given) if here[CPU_GROUP] else None
        if beside:
            _keep(beside, found, f"one {same.attribute} is not one NUMA node")
            found.parts = _side_by_side(found.parts, given)
            continue
        if same.attribute not in _SCOPES or here.keys() & set(CPU_TYPES):
            _keep(alike, found, f"not all devices have one {same.attribute}")
            continue
        if same.attribute == NUMA_NODE:
            _keep(nodes & numa_known, found, "nobody says the NUMA nodes")
        scope, side = _SCOPES[same.attribute]
        if any(counts[kind] != count for kind, count in here.items()):
            found.lacks.append(f"one {same.attribute} for some of several devices of a type")
        if any(scopes.get(kind, scope) is not scope for kind in here):
            found.lacks.append("one PCIe root and one NUMA node for the same devices")
        if len(here) > 1 and joint and (set(joint) != set(here) or joint_scope is not side):
            found.lacks.append("several sets of devices that are side by side")
        scopes.update({kind: scope for kind, count in here.items() if count > 1})
        if len(here) > 1:
            joint, joint_scope = tuple(sorted(here)), side
    parts = tuple(map(_numa_part, found.parts))
    whole = {kind: count for (kind, mark), count in marked.items() if not mark}
    chosen = {key: count for key, count in marked.items() if key[1]}
    found.claimed = PodResourcesByClaims(whole, scopes, joint, joint_scope, parts, chosen)


def _of_one_numa_node(attribute: str, given: Sequence[ResolvedClaimRequest]) -> frozenset[str]:
    """Return the nodes where devices with equal values of an attribute are on one NUMA node.

    The attribute is the NUMA node itself, or a socket, if each socket is one NUMA node.
    """
    known = []
    for one in given:
        good = one.match.on_numa_nodes
        if attribute not in CPU_NUMA:
            values = one.match.values_of(attribute)
            apart = one.match.nodes.items() if one.type == CPU_GROUP else ()
            good = frozenset(n for n, devices in apart if len(values[n]) == len(devices))
        known.append(good)
    return frozenset.intersection(*known)


def _side_by_side(
    parts: Sequence[list[ResolvedClaimRequest]], given: Sequence[ResolvedClaimRequest]
) -> list[list[ResolvedClaimRequest]]:
    """Return the parts, with all that contain any of ``given`` merged into one with all of it."""
    together = {id(one): one for one in given}
    others = []
    for part in parts:
        if any(id(one) in together for one in part):
            together.update((id(one), one) for one in part)
        else:
            others.append(part)
    return [*others, list(together.values())]


def _numa_part(part: Sequence[ResolvedClaimRequest]) -> SameNumaClaimedResources:
    devices = Counter[str]()
    for one in part:
        devices.update({} if one.type == CPU_GROUP else {one.type: one.count})
    return SameNumaClaimedResources(
        sum(one.count for one in part if one.type == CPU_GROUP), devices
    )


def _keep(nodes: frozenset[str], found: ResolvedPodClaims, why: str) -> None:
    """Restrict a pod to the nodes that Placer can express, and note why others are left out."""
    before = found.nodes or frozenset()
    if before and not nodes:
        found.lacks.append(f"claims on nodes where {why}")
    elif dropped := sorted(before - nodes):
        found.assumed.append(f"kept off nodes where {why} ({', '.join(dropped[:3])})")
    found.keep(nodes)


def _alike(
    attribute: str, given: Sequence[ResolvedClaimRequest], known: AlikeDevices
) -> tuple[frozenset[str], frozenset[str]]:
    """Return the nodes whose devices share one attribute value, and those where each has one."""
    matches = {id(one.match): one.match for one in given}
    key = attribute, frozenset(matches)
    if key not in known:
        values: dict[str, frozenset[object]] = {}
        for match in matches.values():
            for name, found in match.values_of(attribute).items():
                values[name] = values.get(name, frozenset()) | found
        having = {name: found for name, found in values.items() if None not in found}
        one_value = frozenset(name for name, found in having.items() if len(found) == 1)
        known[key] = one_value, frozenset(having)
    return known[key]
