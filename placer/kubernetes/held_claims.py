"""Holders of devices that ResourceClaims were given."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from placer.kubernetes.device_pools import PublishedDevicesOfDump, PublishedNodeDevice
from placer.kubernetes.held_cpus import CpuGroupClaimChecker, CpusHeldByClaims
from placer.kubernetes.objects import ClusterObjects
from placer.kubernetes.summary import DumpSummary
from placer_models.instance.device_holders import DeviceHolderLedger
from placer_models.kubernetes.listed_devices import CPU_TYPES
from placer_models.kubernetes.object_fields import KubernetesObjectError
from placer_models.kubernetes.pod import KubePod
from placer_models.kubernetes.resource_claim import KubeResourceClaim
from placer_models.message_text import near_or_first_names_text
from placer_models.placement import DeviceGrant, NamespacedName

_RESULTS = ("status", "allocation", "devices", "results")


@dataclass(slots=True)
class DevicesHeldByClaimsOfDump:
    """The devices that the allocated claims of a cluster hold.

    Attributes:
        holders: Key of a claim -> the bound pod that its devices count for: the first of the
            pods that have it.
        cpus: The CPUs that they hold.

    """

    objects: ClusterObjects
    pools: PublishedDevicesOfDump
    holders: dict[NamespacedName, NamespacedName] = field(default_factory=dict)
    cpus: CpusHeldByClaims = field(init=False)

    def __post_init__(self) -> None:
        self.cpus = CpusHeldByClaims(self.objects, self.pools)

    def check(self, fault: Callable[[KubernetesObjectError], None]) -> None:
        """Report claims with devices that no ResourceSlice lists or no driver would give."""
        if any(title.startswith("ResourceSlice ") for title in self.objects.refused):
            return  # their devices may be in what could not be read
        known = self.pools.keys()
        cpu_faults = CpuGroupClaimChecker(self.pools)
        for claim in self.objects.claims.values():
            for error in cpu_faults.of(claim):
                fault(error)
            for i, one in enumerate(claim.devices):
                if one.key in known:
                    continue
                of_pool = sorted(key[2] for key in known if key[:2] == one.key[:2])
                fault(
                    KubernetesObjectError(
                        claim.identity.title,
                        (*_RESULTS, i, "device"),
                        f"'{one.device}' of pool {one.pool} of {one.driver} is in no ResourceSlice"
                        f" of the dump{near_or_first_names_text(one.device, of_pool)}; get the "
                        "resourceslices, too, or delete the allocation",
                    )
                )

    def grants(
        self,
        part: KubePod,
        own: Collection[DeviceGrant],
        holders: DeviceHolderLedger,
        summary: DumpSummary,
    ) -> tuple[DeviceGrant, ...] | None:
        """Return the devices that a bound pod holds by claims, or None if they are unknown.

        Args:
            part: The pod.
            own: Devices that its annotation says it holds, which may be the same ones.
            holders: The holders of the node's devices, to which the pod is added.
            summary: Is told of devices that are unknown.

        Raises:
            KubernetesObjectError: The devices are on another node, or another claim holds them
                as well.

        """
        found: list[DeviceGrant] = []
        known = True
        for one in part.claims:
            claim = self.objects.claims.get((part.identity.namespace, one.claim))
            if claim is None or claim.allocation is None:
                summary.assume(
                    "bound pods with a claim that is not in the dump, or was given nothing: no "
                    "more devices that drivers publish are given out there",
                    part.identity.title,
                )
                known = False
                continue
            if self.holders.setdefault(claim.identity.key, part.identity.key) != part.identity.key:
                continue
            for i, device in enumerate(self._devices(claim)):
                if device is None or device.device.type in CPU_TYPES:
                    continue
                path = (*_RESULTS, i, "device")
                if device.node != part.node:
                    raise KubernetesObjectError(
                        claim.identity.title,
                        path,
                        f"'{device.key[2]}' is of Node {device.node}, and {part.identity.title}, "
                        f"which has the claim, is bound to Node {part.node}",
                    )
                grant = DeviceGrant(device.device.type, device.device.minor, device.device.id)
                if grant in own:
                    continue
                if fault := holders.take(device.device, None, part.identity.title):
                    raise KubernetesObjectError(claim.identity.title, path, fault)
                found.append(grant)
        return tuple(sorted(found, key=lambda one: (one.type, one.minor))) if known else None

    def reserved(self, summary: DumpSummary) -> dict[str, set[tuple[str, int]]]:
        """Return node -> (type, minor) of devices of claims without a bound pod in the dump."""
        found: dict[str, set[tuple[str, int]]] = {}
        for claim in self.objects.claims.values():
            if claim.allocation is None or claim.identity.key in self.holders:
                continue
            for device in self._devices(claim):
                if device is not None and device.device.type not in CPU_TYPES:
                    one = device.device.type, device.device.minor
                    found.setdefault(device.node, set()).add(one)
            summary.assume(
                "claims with devices that no bound pod of the dump has: nobody else gets these",
                claim.identity.title,
            )
        return found

    def _devices(self, claim: KubeResourceClaim) -> list[PublishedNodeDevice | None]:
        """Return the devices that a claim was given; None for each that Placer gives to nobody."""
        return [self.pools.by_key.get(one.key) for one in claim.devices]
