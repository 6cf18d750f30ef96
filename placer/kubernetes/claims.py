"""ResourceClaims of waiting pods, turned into requests or into reasons to leave a pod out."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from placer.kubernetes.alternatives import ClaimAlternativeChooser
from placer.kubernetes.claim_requests import resolved_claim_request
from placer.kubernetes.claim_turns import ClaimCombination, map_over_claim_combinations
from placer.kubernetes.device_matches import ClaimRequestMatchCache, ClaimRequestMatchesByNode
from placer.kubernetes.device_pools import PublishedDevicesOfDump
from placer.kubernetes.node_set_labels import NodeSetLabelMaker
from placer.kubernetes.objects import ClusterObjects
from placer.kubernetes.pod_claims import (
    AlikeDevices,
    Constraint,
    Label,
    ResolvedClaimRequest,
    ResolvedPodClaims,
    require_common_attributes,
)
from placer.kubernetes.shared_claims import (
    claim_sharers_first,
    pod_label_of_claim_holder,
    with_affinity_to_claim_sharers,
)
from placer.kubernetes.summary import DumpSummary
from placer_models.cluster import Machine
from placer_models.device import GPU, DeviceKey
from placer_models.device_request import WHOLE_GPUS
from placer_models.kubernetes.chosen_devices import device_set_mark, with_marked_devices
from placer_models.kubernetes.claimed import spec_with_claims
from placer_models.kubernetes.cpu_config import configs_for_claim_request
from placer_models.kubernetes.listed_devices import CPU_DRIVER, CPU_TYPES, SEVERAL_CPUS
from placer_models.kubernetes.object_fields import object_title
from placer_models.kubernetes.pod import KubePod
from placer_models.kubernetes.pod_claims import KubePodClaim
from placer_models.kubernetes.pod_containers import ClusterFactsForRequests
from placer_models.kubernetes.pod_spec import ParsedPodSpec, parsed_spec_of_kube_pod
from placer_models.kubernetes.resource_claim import (
    KIND,
    MOST_CONSUMERS,
    MOST_DEVICES,
    TEMPLATE_KIND,
    ClaimDeviceRequest,
    KubeResourceClaim,
    KubeResourceClaimSpec,
    is_request_meant,
)
from placer_models.node_affinity import NodeAffinity, NodeTerm, PreferredNodeTerm
from placer_models.placement import NamespacedName
from placer_models.pod import Variant
from placer_models.policy import AlignmentPolicy
from placer_models.selectors import LabelExpression, SelectorOperator

CLAIMABLE = "placer:claimable"
"""A label of the nodes that have what pods claim; for further sets of nodes a number is added."""

_BEST = 8
"""What kube-scheduler's score counts for the first of several alternatives; 1 less for each later.

A request has 8 of them at most.
"""

_ONE_NUMA_NODE = (None, AlignmentPolicy.NONE, AlignmentPolicy.SINGLE_NUMA_NODE)
"""Policies of a pod that go with claims on CPUs of one NUMA node."""


class WaitingPodClaimsOfDump:
    """The claims of a cluster's waiting pods."""

    def __init__(
        self,
        objects: ClusterObjects,
        pools: PublishedDevicesOfDump,
        summary: DumpSummary,
        holders: Mapping[NamespacedName, NamespacedName] | None = None,
    ) -> None:
        """Start with the pods that hold claims for others, where they are known already."""
        self._holders = dict(holders or {})
        self._objects = objects
        self._pools = pools
        self._summary = summary
        self._labels = NodeSetLabelMaker(CLAIMABLE, "have what is claimed", summary)
        self._alike: AlikeDevices = {}
        self._numa_known = frozenset(objects.topologies) | {
            name for name in pools.cpus if pools.topology(name) is not None
        }
        self._by_claims_alone = _by_claims_alone(objects, pools)
        self._matches = ClaimRequestMatchCache(objects, pools)
        self._alternatives = ClaimAlternativeChooser(objects)
        self._marks: dict[str, dict[str, frozenset[DeviceKey]]] = {}
        self._users = Counter[NamespacedName](
            (part.identity.namespace, one.claim)
            for part in objects.pods.values()
            if not (part.ended or part.node)
            for one in part.claims
            if one.claim
        )

    def with_claims(
        self, part: KubePod, asked: ParsedPodSpec, reading: ClusterFactsForRequests
    ) -> ParsedPodSpec:
        """Return what a waiting pod asks for, its claims included.

        Where nodes serve it with different devices, it has a variant for each of them.
        """
        own = {request.type for request in asked.spec.requests.devices}
        select = [(_given_out(kind), "true") for kind in sorted(own & self._by_claims_alone.keys())]
        if part.claims:
            ways = self._ways(part)
            several = [self._with(found, part, asked, reading) for found in ways]
            asked = several[0]
            for what in dict.fromkeys(what for found in ways for what in found.assumed):
                self._summary.assume(what, part.identity.title)
            restricted = [
                self._labels.of(found.nodes, part)
                for found in ways
                if found.nodes is not None and found.nodes != self._objects.nodes.keys()
            ]
            if len(ways) == 1:
                select += restricted
            else:
                asked = replace(
                    asked,
                    lacks=tuple(dict.fromkeys(what for one in several for what in one.lacks)),
                    spec=replace(
                        asked.spec,
                        node_affinity=_preferring(asked.spec.node_affinity, restricted, ways),
                        variants=tuple(
                            Variant((label,), one.spec.containers)
                            for label, one in zip(restricted, several, strict=True)
                        ),
                    ),
                )
        if not select:
            return asked
        selector = {**dict(asked.spec.node_selector), **dict(select)}
        return replace(
            asked, spec=replace(asked.spec, node_selector=tuple(sorted(selector.items())))
        )

    def _with(
        self,
        found: ResolvedPodClaims,
        part: KubePod,
        asked: ParsedPodSpec,
        reading: ClusterFactsForRequests,
    ) -> ParsedPodSpec:
        """Return what a pod asks for with what its claims ask for."""
        own = {request.type for request in asked.spec.requests.devices}
        lacks = []
        if found.cpus:
            selected = asked.spec.node_selector
            asked = parsed_spec_of_kube_pod(part, reading, owns_cpus=True, select=selected)
            milli = asked.spec.requests.cpu_milli + asked.shared_milli
            if not asked.spec.qos.owns_cpus or milli != 1000 * found.cpus:
                lacks.append(
                    f"{found.cpus} CPUs by claims where its containers ask for {milli / 1000:g}"
                    " and nobody else may have them"
                )
        claimed = found.claimed.devices.keys() | {kind for kind, _ in found.claimed.chosen}
        both = sorted(own & claimed)
        lacks += [f"{kind} by claims and by resources at once" for kind in both]
        policy = asked.spec.alignment
        if found.parts and policy not in _ONE_NUMA_NODE:
            lacks.append(f"CPUs of one NUMA node by claims beside the NUMA policy {policy}")
        if found.claimed.joint and asked.spec.joint is not None:
            lacks.append("devices side by side by claims and by an annotation")
        asked = replace(
            spec_with_claims(asked, found.claimed),
            lacks=tuple(dict.fromkeys((*asked.lacks, *found.lacks, *lacks))),
            missing=tuple(dict.fromkeys(found.missing)),
            waits=(*asked.waits, *dict.fromkeys(found.waits)),
        )
        return replace(asked, spec=with_affinity_to_claim_sharers(asked.spec, found))

    def _ways(self, part: KubePod) -> list[ResolvedPodClaims]:
        """Return what the claims of a pod ask for, each on other nodes.

        A pod may ask for other devices on other nodes, and for nothing else.
        """
        tried = list(map_over_claim_combinations(lambda turn: self._in_turn(part, turn)))
        served = [
            found
            for found in tried
            if found.nodes and not (found.lacks or found.missing or found.waits)
        ]
        if not served:
            return tried[:1]
        ways = [found for found in served if found.differs_in_devices(served[0])]
        kept = frozenset[str]().union(*(found.nodes or () for found in ways))
        others = sorted({name for found in tried for name in found.nodes or ()} - kept)
        if others:
            ways[0].assumed.append(
                "kept off nodes where the first alternative of a claim is one that Placer cannot "
                f"take ({', '.join(others[:3])})"
            )
        return ways

    def asked_on(self, part: KubePod, node: str) -> ResolvedPodClaims:
        """Return what a waiting pod asks for by claims on a node."""
        ways = self._ways(part)
        return next((found for found in ways if node in (found.nodes or ())), ways[0])

    def labels(self, node: str) -> tuple[Label, ...]:
        """Return the labels that a node gets for the sake of waiting pods."""
        return (
            *self._labels.on(node),
            *(
                (_given_out(kind), "true")
                for kind, nodes in self._by_claims_alone.items()
                if node not in nodes
            ),
        )

    def _in_turn(self, part: KubePod, turn: ClaimCombination) -> ResolvedPodClaims:
        """Return what a waiting pod asks for by claims, of each alternative what a turn says."""
        found = ResolvedPodClaims()
        constraints: list[Constraint] = []
        for one in part.claims:
            constraints += self._ask(part, one, found, turn)
        if not (found.lacks or found.missing or found.waits):
            require_common_attributes(constraints, found, self._numa_known, self._alike)
        return found

    def _ask(
        self, part: KubePod, one: KubePodClaim, found: ResolvedPodClaims, turn: ClaimCombination
    ) -> list[Constraint]:
        """Add the requests of one claim, and return what its devices must have in common."""
        namespace = part.identity.namespace
        if one.source:
            found.lacks.append(f"claims by {one.source}")
            return []
        kind, name = (KIND, one.claim) if one.claim else (TEMPLATE_KIND, one.template)
        if why := self._objects.doubts.of(object_title(kind, namespace, name)):
            found.waits.append(why)
            return []
        claim = self._objects.claims.get((namespace, one.claim)) if one.claim else None
        if claim is not None:
            if claim.allocation is not None:
                found.keep(self._objects.nodes_with_access(claim.allocation.access))
                if any(one.driver == CPU_DRIVER for one in claim.allocation.devices):
                    found.lacks.append(f"CPUs that {claim.identity.title} has already")
                return []
            if self._users[claim.identity.key] > 1:
                return self._share(part, one, claim, found, turn)
            return self._spec(claim.identity.title, claim.spec, claim, one, found, turn)
        template = (
            None if one.claim else self._objects.claim_templates.get((namespace, one.template))
        )
        if template is None:
            found.missing.append(object_title(kind, namespace, name))
            return []
        found.assumed.append(
            "pods with a claim that is not made of its template yet: nothing is written of them"
        )
        return self._spec(template.identity.title, template.spec, None, one, found, turn)

    def _share(
        self,
        part: KubePod,
        one: KubePodClaim,
        claim: KubeResourceClaim,
        found: ResolvedPodClaims,
        turn: ClaimCombination,
    ) -> list[Constraint]:
        """Add a claim that several waiting pods have.

        Its devices count for the first of them, and the others come to the node of that one.
        """
        title, users = claim.identity.title, self._users[claim.identity.key]
        first = self._holders.setdefault(claim.identity.key, part.identity.key)
        holds = first == part.identity.key
        asked = found
        if holds:
            constraints = self._spec(title, claim.spec, claim, one, asked, turn)
        else:
            asked = self._anywhere(claim, one)
        if any(each.type in CPU_TYPES for each in asked.given if each.claim is claim):
            found.lacks.append(f"CPUs of {title}, which {users} pods share")
        if len(claim.reserved_for) + users > MOST_CONSUMERS:
            found.lacks.append(f"{title}, which more than {MOST_CONSUMERS} pods share")
        if holds:
            found.holds.append(pod_label_of_claim_holder(claim.identity.name))
            return constraints
        found.lacks += asked.lacks
        found.missing += asked.missing
        found.keep(self._objects.nodes if asked.nodes is None else asked.nodes)
        found.follows.append(pod_label_of_claim_holder(claim.identity.name))
        found.assumed.append(
            f"pods that share {title}, whose devices {'/'.join(first)} holds: they come to its node"
        )
        return []

    def _anywhere(self, claim: KubeResourceClaim, one: KubePodClaim) -> ResolvedPodClaims:
        """Return what a claim asks for, on all nodes that can serve it in any way."""

        def asked(turn: ClaimCombination) -> ResolvedPodClaims:
            found = ResolvedPodClaims()
            self._spec(claim.identity.title, claim.spec, claim, one, found, turn)
            return found

        first, *others = map_over_claim_combinations(asked)
        served = [found.nodes for found in others if found.nodes and not found.lacks]
        if first.nodes is not None:
            first.nodes = first.nodes.union(*served)
        return first

    def in_turn(self, waiting: Sequence[KubePod]) -> list[KubePod]:
        """Return the pods in the order in which they may hold claims for others."""
        return claim_sharers_first(waiting, self._users)

    def passes(self, part: KubePod) -> None:
        """Let other pods hold the devices of a pod that is not asked about."""
        key = part.identity.key
        self._holders = {claim: pod for claim, pod in self._holders.items() if pod != key}

    def _spec(
        self,
        title: str,
        spec: KubeResourceClaimSpec,
        claim: KubeResourceClaim | None,
        of: KubePodClaim,
        found: ResolvedPodClaims,
        turn: ClaimCombination,
    ) -> list[Constraint]:
        found.lacks += [f"{what} of {title}" for what in spec.lacks]
        given: list[ResolvedClaimRequest] = []
        for choices in spec.requests:
            one = self._first(title, choices, claim, spec, found, turn)
            if one is not None:
                given.append(one)
        if sum(1 if one.type in SEVERAL_CPUS else one.count for one in given) > MOST_DEVICES:
            found.lacks.append(f"more than {MOST_DEVICES} devices in {title}")
        if len(of.containers) > 1 and any(one.type in CPU_TYPES for one in given):
            found.lacks.append(f"CPUs of {title} in {len(of.containers)} containers")
        found.lacks += [
            f"configuration of {CPU_DRIVER} for request {one.request.name} of {title}"
            for one in given
            for each in {id(some): some for some in (one, *one.on_node.values())}.values()
            if each.type in SEVERAL_CPUS and self._is_told_cpus(each, spec)
        ]
        found.given += given
        return [
            (same, [one for one in given if is_request_meant(one.request.name, same.requests)])
            for same in spec.constraints
        ]

    def _is_told_cpus(self, one: ResolvedClaimRequest, spec: KubeResourceClaimSpec) -> bool:
        """Return whether the class or the claim configures the CPUs, so that Placer may not."""
        configs = list(self._objects.device_classes[one.request.device_class].configs)
        configs += [{**config, "requests": list(names)} for names, config in spec.configs]
        return bool(configs_for_claim_request(configs, one.request.name))

    def _first(
        self,
        title: str,
        choices: Sequence[ClaimDeviceRequest],
        claim: KubeResourceClaim | None,
        spec: KubeResourceClaimSpec,
        found: ResolvedPodClaims,
        turn: ClaimCombination,
    ) -> ResolvedClaimRequest | None:
        """Return a request, resolved, or None if it cannot be given at all.

        Of several alternatives that is the first of each node, for the nodes whose turn it is.
        """
        tried = [ResolvedPodClaims() for _ in choices]
        resolved = [
            resolved_claim_request(
                title,
                request,
                claim,
                own,
                self._matches.of(request),
                self._objects.doubts,
                alone=len(choices) == 1,
            )
            for request, own in zip(choices, tried, strict=True)
        ]
        given = resolved[0]
        if given is not None and len(choices) == 1:
            given = turn.of(self._alternatives.by_count(given))
        elif len(choices) > 1:
            given = self._chosen([one for one in resolved if one is not None], spec, found, turn)
        if given is not None:
            taken = [given, *given.on_node.values()]
            for own, one in zip(tried, resolved, strict=True):
                found.assumed += own.assumed if any(one is each for each in taken) else ()
            found.keep(given.match.names)
            return replace(given, mark=self._mark(title, given.match, found))
        for own in tried:
            found.lacks += own.lacks
            found.missing += own.missing
            found.waits += own.waits
        if not (found.lacks or found.missing or found.waits):
            found.keep(())
        return None

    def _mark(self, title: str, match: ClaimRequestMatchesByNode, found: ResolvedPodClaims) -> str:
        """Return the mark of the devices that match; empty where all of their nodes' type do."""
        if not match.chosen:
            return ""
        mark = device_set_mark(one.key for devices in match.nodes.values() for one in devices)
        self._marks[mark] = {
            name: frozenset((one.device.type, one.device.minor) for one in devices)
            for name, devices in match.nodes.items()
        }
        found.assumed.append(
            f"the quantity {mark} stands for devices that some pods claim and others not ({title})"
        )
        return mark

    def marked(self, node: str, machine: Machine) -> Machine:
        """Return the machine of a node with the marks of devices that waiting pods claim."""
        here = {mark: keys[node] for mark, keys in self._marks.items() if node in keys}
        return with_marked_devices(machine, here)

    def _chosen(
        self,
        tried: Sequence[ResolvedClaimRequest],
        spec: KubeResourceClaimSpec,
        found: ResolvedPodClaims,
        turn: ClaimCombination,
    ) -> ResolvedClaimRequest | None:
        """Return what is taken of several alternatives, or None if no node has any of them."""
        names = {one.request.name for one in tried}
        named = {name for same in spec.constraints for name in same.requests}
        groups = self._alternatives.groups(tried, apart=not names.isdisjoint(named))
        if not groups:
            return None
        first = [one for given in groups for one in given.on_node.values()]
        taken = [one.request.name for one in tried if any(one is each for each in first)]
        found.assumed.append(
            "requests for the first available, taken with the first that the node has "
            f"({', '.join(dict.fromkeys(taken))})"
        )
        given = turn.of(groups)
        found.liking += _BEST - next(
            i for i, one in enumerate(tried) if one.request is given.request
        )
        return given


def _preferring(
    wished: NodeAffinity | None, labels: Sequence[Label], ways: Sequence[ResolvedPodClaims]
) -> NodeAffinity:
    """Return a wish for the nodes with the better alternatives, as kube-scheduler scores them."""
    least = min(found.liking for found in ways)
    more = tuple(
        PreferredNodeTerm(
            NodeTerm((LabelExpression(key, SelectorOperator.IN, (value,)),)), found.liking - least
        )
        for (key, value), found in zip(labels, ways, strict=True)
        if found.liking > least
    )
    wished = wished or NodeAffinity()
    return replace(wished, preferred=(*wished.preferred, *more))


def _given_out(kind: str) -> str:
    """Return the name of a label of nodes whose devices can also be had as resources."""
    return f"placer:{kind.replace('/', '-')}-by-resource"


def _by_claims_alone(
    objects: ClusterObjects, pools: PublishedDevicesOfDump
) -> dict[str, frozenset[str]]:
    """Return type -> the nodes that give its devices by claims alone.

    There no kubelet gives a pod such a device for a request of its containers.
    """
    found: dict[str, set[str]] = {}
    for name, devices in pools.on_node.items():
        listed = objects.devices.get(name)
        others = {one.type for one in listed.devices} if listed else set()
        amounts = {name for name, n in objects.nodes[name].allocatable.other.items() if n}
        if any(name in WHOLE_GPUS for name in amounts):
            others.add(GPU)
        for kind in {one.device.type for one in devices} - others - amounts - set(CPU_TYPES):
            found.setdefault(kind, set()).add(name)
    return {kind: frozenset(nodes) for kind, nodes in found.items()}
