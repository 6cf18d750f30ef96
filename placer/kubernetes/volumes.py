"""Volumes of waiting pods, turned into nodes that reach them, plain amounts, or reasons to wait."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from placer.kubernetes.attached_volumes import AttachedVolumesOfDump
from placer.kubernetes.free_volumes import FreeVolumesOfDump
from placer.kubernetes.node_set_labels import NodeSetLabelMaker
from placer.kubernetes.objects import ClusterObjects
from placer.kubernetes.pod_claims import Label
from placer.kubernetes.summary import DumpSummary
from placer.kubernetes.volume_access import NodeNames, NodesReachingVolumes
from placer_models.kubernetes.object_fields import object_title
from placer_models.kubernetes.pod import KubePod
from placer_models.kubernetes.pod_spec import ParsedPodSpec
from placer_models.kubernetes.pod_volumes import KubePodVolumeClaim
from placer_models.kubernetes.storage import CLASS_KIND
from placer_models.kubernetes.volume import CLAIM_KIND, ONE_POD, VOLUME_KIND, KubeVolumeClaim
from placer_models.placement import NamespacedName
from placer_models.pod import Container, ContainerRole, PodSpec

REACHED = "placer:volumes"
"""A label of the nodes that reach the volumes of a pod; for further sets of nodes a number is
added."""

KINDS_TO_GET = "persistentvolumeclaims,persistentvolumes,storageclasses"
"""The kinds without which nobody knows where volumes are."""


@dataclass(slots=True)
class _Found:
    """What the volumes of a pod mean.

    Attributes:
        waits: Why it has to wait.
        nodes: The nodes that reach its volumes.
        amounts: Plain amounts that it takes on its node.

    """

    nodes: NodeNames
    waits: list[str] = field(default_factory=list)
    amounts: Counter[str] = field(default_factory=Counter)


class WaitingPodVolumesOfDump:
    """The volumes of a cluster's waiting pods.

    Args:
        objects: The cluster.
        waiting: The pods that wait.
        summary: Gets what is taken for granted.
        ignored: Whether nobody is to look at volumes.

    """

    def __init__(
        self,
        objects: ClusterObjects,
        waiting: Sequence[KubePod],
        summary: DumpSummary,
        *,
        ignored: bool = False,
    ) -> None:
        self._objects = objects
        self._summary = summary
        self._ignored = ignored
        self._access = NodesReachingVolumes(objects)
        self._attached = AttachedVolumesOfDump(objects)
        self._labels = NodeSetLabelMaker(REACHED, "reach the volumes", summary)
        self._asked: Counter[str] = Counter()
        self._holders: dict[NamespacedName, KubePod] = {}
        self._first: dict[NamespacedName, KubePod] = {}
        users = () if ignored else objects.pods.values()
        for part in (one for one in users if one.node and not one.ended):
            for key in _claims_of(part):
                self._holders.setdefault(key, part)
        for part in () if ignored else waiting:
            for key in _claims_of(part):
                self._first.setdefault(key, part)
        claims = (objects.volume_claims.get(key) for key in self._first)
        unbound = [one for one in claims if one is not None and not self._why_not(one)]
        self.free = FreeVolumesOfDump(
            objects.volumes, [one for one in unbound if not one.is_bound], self._access
        )
        if not ignored and not objects.csi_nodes:
            for part in waiting:
                if self._attached.has_any(part):
                    summary.assume(
                        "volumes of CSI drivers, and no CSINode that says how many of them a node "
                        "attaches (get csinodes and volumeattachments, too): any number",
                        part.identity.title,
                    )

    def with_volumes(self, part: KubePod, asked: ParsedPodSpec) -> ParsedPodSpec:
        """Return what a waiting pod asks for, its volumes included."""
        if not (part.volumes.claims or part.volumes.disks):
            return asked
        if self._ignored:
            what = "volumes that nobody looks at (--ignore volumes)"
            self._summary.assume(what, part.identity.title)
            return asked
        found = _Found(self._access.all_nodes)
        for one in part.volumes.claims:
            self._look_at(part, one, found)
        if found.waits:
            return replace(asked, waits=(*asked.waits, *dict.fromkeys(found.waits)))
        found.amounts.update(self._attached.asked_by(part))
        self._asked.update(found.amounts)
        spec = _taking(asked.spec, found.amounts)
        if found.nodes != self._access.all_nodes:
            name, value = self._labels.of(found.nodes, part)
            selector = {**dict(spec.node_selector), name: value}
            spec = replace(spec, node_selector=tuple(sorted(selector.items())))
        return replace(asked, spec=spec)

    def labels(self, node: str) -> tuple[Label, ...]:
        """Return the labels that a node gets for the sake of waiting pods."""
        return tuple(self._labels.on(node))

    def amounts(self, node: str) -> tuple[tuple[str, int], ...]:
        """Return the plain amounts that a node gets for their sake."""
        found = self._attached.on_node(node, max(self._asked.values(), default=0))
        for name, by_node in self.free.amounts.items():
            found[name] = by_node.get(node, 0)
        return tuple(sorted(found.items()))

    def _look_at(self, part: KubePod, one: KubePodVolumeClaim, found: _Found) -> None:
        """Add what one claim of a pod means."""
        key = part.identity.namespace, one.claim
        claim = self._objects.volume_claims.get(key)
        if claim is None:
            why = self._objects.doubts.of(object_title(CLAIM_KIND, *key))
            found.waits.append(why or _untold(CLAIM_KIND, *key, made=one.is_own))
            return
        title = claim.identity.title
        if why := self._why_not(claim):
            found.waits.append(why)
            return
        if one.is_own and part.identity.uid not in claim.owners:
            found.waits.append(f"{title} is not the one made for it: another object owns it")
            return
        if ONE_POD in claim.modes and key in self._holders:
            holder = self._holders[key].identity.title
            found.waits.append(f"{title} is for one pod ({ONE_POD}), and {holder} has it")
            return
        if ONE_POD in claim.modes and key[0] in self._objects.doubts.holders:
            what = "and a pod of its namespace, which may have it, cannot be read"
            found.waits.append(f"{title} is for one pod ({ONE_POD}), {what}")
            return
        first = self._first.get(key, part)
        if first is not part and (ONE_POD in claim.modes or not claim.is_bound):
            reason = f"is for one pod ({ONE_POD})" if claim.is_bound else "has no volume yet"
            found.waits.append(f"{title} {reason}, and {first.identity.title} is asked about first")
            return
        if claim.is_bound:
            found.nodes &= self._access.of_bound(self._objects.volumes[claim.volume])
            return
        provisioned = self._access.provisioned_for(claim)
        if claim.selected_node:
            found.nodes &= provisioned & {claim.selected_node}
            return
        found.nodes &= provisioned | self.free.nodes(claim)
        found.amounts.update(self.free.asked(claim))

    def _why_not(self, claim: KubeVolumeClaim) -> str:
        """Return why no pod can come anywhere with a claim, or nothing if one can."""
        title, doubts = claim.identity.title, self._objects.doubts
        if claim.leaving:
            return f"{title} is being deleted"
        if claim.is_lost:
            return f"{title} is lost: its volume {claim.volume} is gone"
        if claim.is_bound:
            known = claim.volume in self._objects.volumes
            why = doubts.of(object_title(VOLUME_KIND, "", claim.volume))
            return "" if known else why or _untold(VOLUME_KIND, "", claim.volume)
        if claim.volume:
            return f"{title} is not bound yet to {VOLUME_KIND} {claim.volume}, which it names"
        if not claim.storage_class:
            return f"{title} is not bound yet, and has no {CLASS_KIND}"
        of_class = self._objects.storage_classes.get(claim.storage_class)
        if of_class is None:
            why = doubts.of(object_title(CLASS_KIND, "", claim.storage_class))
            return why or _untold(CLASS_KIND, "", claim.storage_class)
        if not of_class.waits:
            return (
                f"{title} is not bound yet: "
                f"{of_class.identity.title} binds at once (Immediate), before there is a pod"
            )
        if doubts.kept_volumes & {None, claim.identity.key}:
            return f"{title} may have a {VOLUME_KIND} kept for it that cannot be read"
        return ""


def _claims_of(part: KubePod) -> Iterator[NamespacedName]:
    return ((part.identity.namespace, one.claim) for one in part.volumes.claims)


def _untold(kind: str, namespace: str, name: str, *, made: bool = False) -> str:
    """Return that an object is not in the dump, and what is to be done."""
    yet = ", or is not made yet" if made else ""
    return (
        f"{object_title(kind, namespace, name)} is not in the dump{yet} (get {KINDS_TO_GET}, too; "
        "--ignore volumes places the pod all the same)"
    )


def _taking(spec: PodSpec, amounts: Counter[str]) -> PodSpec:
    """Return the spec of a pod that takes further plain amounts, in its first app container."""
    if not amounts:
        return spec

    def taking(containers: tuple[Container, ...]) -> tuple[Container, ...]:
        at = next(i for i, one in enumerate(containers) if one.role is ContainerRole.APP)
        first = containers[at]
        extended = tuple(sorted((Counter(dict(first.requests.extended)) + amounts).items()))
        more = replace(first, requests=replace(first.requests, extended=extended))
        return *containers[:at], more, *containers[at + 1 :]

    variants = tuple(replace(one, containers=taking(one.containers)) for one in spec.variants)
    return replace(spec, containers=taking(spec.containers), variants=variants)
