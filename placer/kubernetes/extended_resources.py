"""Extended resources that DeviceClasses give: the claims that are made for pods that ask for some.

A scheduler makes such a claim when it places the pod. Here it is made when the pod is read, so
that all that follows knows claims alone, and it is written with the placement.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from placer.kubernetes.objects import ClusterObjects
from placer.kubernetes.summary import DumpSummary
from placer_models.device import GPU
from placer_models.device_request import WHOLE_GPUS
from placer_models.kubernetes.object_fields import KubeObjectIdentity
from placer_models.kubernetes.pod import KubeContainer, KubePod, container_without_claimed
from placer_models.kubernetes.pod_claims import KubePodClaim
from placer_models.kubernetes.resource_claim import (
    KIND,
    ClaimDeviceRequest,
    ClaimedExtendedResource,
    KubeResourceClaim,
    KubeResourceClaimSpec,
)
from placer_models.pod import ContainerRole

_OF_CLASS = "deviceclass.resource.kubernetes.io/"
"""The prefix of the implicit extended resource that every class has."""

_MOST_OF_NAME = 58
"""How much of a generated name stands before its last five letters."""


def with_extended_resource_claims(objects: ClusterObjects, summary: DumpSummary) -> ClusterObjects:
    """Return the objects with a claim for each waiting pod that asks for classes' resources.

    Where a device plugin of some node gives a resource as well, the pod goes to such a node.
    """
    classes, plugins = _class_of(objects), _of_plugins(objects)
    pods: dict[tuple[str, str], KubePod] = {}
    claims: dict[tuple[str, str], KubeResourceClaim] = {}
    for key, part in objects.pods.items() if classes else ():
        if part.node or part.ended:
            continue
        asked = {name for one in part.containers for name, n in one.requests.other.items() if n}
        title = part.identity.title
        if asked & classes.keys() & plugins:
            summary.assume(
                "pods with a resource of a DeviceClass, which only nodes with its plugin give",
                title,
            )
        if names := sorted((asked & classes.keys()) - plugins):
            summary.assume(
                "pods with a resource of a DeviceClass, "
                "which get it by a claim that is made for them",
                title,
            )
            made = _claim_for(part, {name: classes[name] for name in names})
            known = objects.claims.get(made.identity.key)
            claims[made.identity.key] = replace(known or made, made_for=made.made_for)
            pods[key] = _having(part, made)
    if not pods:
        return objects
    return replace(objects, pods={**objects.pods, **pods}, claims={**objects.claims, **claims})


def _class_of(objects: ClusterObjects) -> Mapping[str, str]:
    """Return extended resource -> the class that gives it: the newest, of several the first."""
    found = {}
    for one in objects.device_classes.values():
        found[f"{_OF_CLASS}{one.identity.name}"] = one.identity.name
    by_name = sorted(objects.device_classes.values(), key=lambda one: one.identity.name)
    for one in sorted(by_name, key=lambda one: one.created, reverse=True):
        if one.extended_resource:
            found.setdefault(one.extended_resource, one.identity.name)
    return found


def _of_plugins(objects: ClusterObjects) -> set[str]:
    """Return the resources that some node has from a device plugin."""
    found = {
        name for node in objects.nodes.values() for name, n in node.allocatable.other.items() if n
    }
    if any(one.type == GPU for part in objects.devices.values() for one in part.devices):
        found.update(WHOLE_GPUS)
    return found


def _having(part: KubePod, made: KubeResourceClaim) -> KubePod:
    """Return a pod that has by a claim what its containers asked for as amounts."""
    by_claim = frozenset((one.container, one.resource) for one in made.made_for)
    users = tuple(dict.fromkeys(one.container for one in made.made_for))
    return replace(
        part,
        containers=tuple(container_without_claimed(one, by_claim) for one in part.containers),
        claims=(*part.claims, KubePodClaim("", made.identity.name, containers=users)),
    )


def _claim_for(part: KubePod, classes: Mapping[str, str]) -> KubeResourceClaim:
    """Return the claim for a pod, with the requests that kube-scheduler would make.

    Args:
        part: The pod.
        classes: The resources that it gets by the claim, ascending -> their classes.

    """
    found = [_Requests(part, name, of_class) for name, of_class in classes.items()]
    requests = sorted((r for one in found for r in one.needed()), key=lambda one: one.name)
    identity = part.identity
    last = hashlib.sha256((identity.uid or identity.title).encode()).hexdigest()[:5]
    name = f"{identity.name}-extended-resources-"[:_MOST_OF_NAME] + last
    return KubeResourceClaim(
        KubeObjectIdentity(KIND, identity.namespace, name),
        KubeResourceClaimSpec(tuple((one,) for one in requests)),
        made_for=tuple(one for each in found for one in each.users),
    )


@dataclass(slots=True)
class _Requests:
    """The requests for one resource of a pod.

    Each container that lasts has its own. Init containers use what those after them ask for, and
    share the rest, as one runs after the other.
    """

    part: KubePod
    resource: str
    device_class: str
    users: list[ClaimedExtendedResource] = field(default_factory=list)

    def needed(self) -> Iterator[ClaimDeviceRequest]:
        """Yield the requests, and note who uses each."""
        containers = self.part.containers
        lasting: dict[int, ClaimDeviceRequest] = {}
        for i, one in enumerate(containers):
            count = one.requests.other.get(self.resource, 0)
            if count and one.role is not ContainerRole.INIT:
                lasting[i] = self._request(i, count)
                self._use(one, lasting[i])
        largest: ClaimDeviceRequest | None = None
        beyond: list[KubeContainer] = []
        for i, one in enumerate(containers):
            count = one.requests.other.get(self.resource, 0)
            if not count or one.role is not ContainerRole.INIT:
                continue
            for _, later in sorted((j, each) for j, each in lasting.items() if j > i):
                if count > 0:
                    self._use(one, later)
                    count -= later.count or 0
            if count > 0:
                beyond.append(one)
                if largest is None or count > (largest.count or 0):
                    largest = self._request(i, count)
        if largest is not None:
            yield largest
            for one in beyond:
                self._use(one, largest)
        yield from lasting.values()

    def _use(self, container: KubeContainer, request: ClaimDeviceRequest) -> None:
        self.users.append(ClaimedExtendedResource(container.name, self.resource, request.name))

    def _request(self, container: int, count: int) -> ClaimDeviceRequest:
        asked = self.part.containers[container].requests
        place = sorted(asked.named).index(self.resource)
        name = f"container-{container}-request-{place}"
        return ClaimDeviceRequest(name, self.device_class, count=count)
