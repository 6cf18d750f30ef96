"""CPUs that ResourceClaims were given by dra-driver-cpu, as far as they are named (D12).

Claims that were given CPUs as dra-driver-cpu would never give them are faulty.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from placer.kubernetes.device_pools import PublishedDevicesOfDump
from placer.kubernetes.objects import ClusterObjects
from placer.kubernetes.summary import DumpSummary
from placer_models.cpuset import CpuSet, format_cpu_list
from placer_models.kubernetes.cpu_config import (
    CPUSET,
    configs_for_claim_request,
    cpus_of_claim_config,
)
from placer_models.kubernetes.listed_devices import CPU_CAPACITY, CPU_DRIVER
from placer_models.kubernetes.object_fields import KubernetesObjectError, Object
from placer_models.kubernetes.pod import KubePod
from placer_models.kubernetes.resource_claim import ClaimAllocatedDevice, KubeResourceClaim
from placer_models.message_text import cpu_ids_with_noun
from placer_models.placement import NamespacedName


@dataclass(slots=True)
class CpusHeldByClaims:
    """The CPUs that the allocated claims of a cluster hold."""

    objects: ClusterObjects
    pools: PublishedDevicesOfDump

    def of_pod(self, part: KubePod) -> CpuSet | None:
        """Return the CPUs that a bound pod has by claims, or None if it has unnamed ones."""
        found: set[int] = set()
        for claim in self.objects.claims_of(part):
            cpus = self._of_claim(claim)
            if cpus is None:
                return None
            found |= cpus
        return frozenset(found)

    def milli_of_pod(self, part: KubePod) -> int:
        """Return how many milli CPUs a bound pod's claims have of devices of several CPUs."""
        return sum(map(_milli, self.objects.claims_of(part)))

    def known(self) -> dict[str, set[int]]:
        """Return node -> the CPUs that any claim has there, as far as they are named."""
        found: dict[str, set[int]] = {}
        for claim in self.objects.claims.values():
            if (node := self._node(claim)) is not None:
                found.setdefault(node, set()).update(self._of_claim(claim) or ())
        return found

    def hidden(self, holders: Collection[NamespacedName], summary: DumpSummary) -> dict[str, int]:
        """Return node -> how many unnamed CPUs claims have there.

        Args:
            holders: Keys of the claims of bound pods, left out: the pods' requests count instead.
            summary: Is told of these claims.

        """
        found: dict[str, int] = {}
        for key, claim in self.objects.claims.items():
            node = self._node(claim)
            if node is None or key in holders or self._of_claim(claim) is not None:
                continue
            found[node] = found.get(node, 0) - (-_milli(claim) // 1000)
            summary.assume(
                "claims with CPUs that nobody names: no more are given out there",
                claim.identity.title,
            )
        return found

    def _of_claim(self, claim: KubeResourceClaim) -> CpuSet | None:
        """Return the CPUs that a claim has, or None if it has unnamed ones."""
        found: set[int] = set()
        for one in claim.devices:
            if one.driver != CPU_DRIVER:
                continue
            single = self.pools.by_key.get(one.key)
            if claim.allocation and one.key in self.pools.several_cpus:
                configs = configs_for_claim_request(claim.allocation.configs, one.request)
                try:
                    found |= cpus_of_claim_config(configs[0][1] if configs else {})
                except ValueError:
                    return None
            elif single is not None:
                found.add(single.device.minor)
            else:
                return None
        return frozenset(found)

    def _node(self, claim: KubeResourceClaim) -> str | None:
        """Return the node that a claim's CPUs are on, or None if it has none or that is unknown."""
        for one in claim.devices:
            if one.key in self.pools.several_cpus:
                return self.pools.several_cpus[one.key].node
            if one.driver == CPU_DRIVER and one.key in self.pools.by_key:
                return self.pools.by_key[one.key].node
        return None


def _milli(claim: KubeResourceClaim) -> int:
    return sum(one.capacity_milli.get(CPU_CAPACITY, 0) for one in claim.devices)


_DEVICES = ("status", "allocation", "devices")
_MEND = "correct it, or delete the allocation"


@dataclass(slots=True)
class CpuGroupClaimChecker:
    """The faults of claims that were given CPUs of devices of several CPUs.

    Attributes:
        owners: (Node, CPU) -> title of the claim that has it.
        taken_milli: Key of a device -> how many milli CPUs of it claims have.

    """

    pools: PublishedDevicesOfDump
    owners: dict[tuple[str, int], str] = field(default_factory=dict)
    taken_milli: dict[tuple[str, str, str], int] = field(default_factory=dict)

    def of(self, claim: KubeResourceClaim) -> Iterator[KubernetesObjectError]:
        """Yield the faults of one claim, given the claims that were checked before it."""
        if claim.allocation is None:
            return
        first: dict[str, str] = {}
        for i, one in enumerate(claim.allocation.devices):
            if one.key not in self.pools.several_cpus:
                continue
            configs = configs_for_claim_request(claim.allocation.configs, one.request)
            try:
                if configs and one.request in first:
                    raise KubernetesObjectError(
                        claim.identity.title,
                        (*_DEVICES, "results", i, "device"),
                        f"request {one.request} has {first[one.request]} already; CPUs that are "
                        "named are of one device a request: ask for more by another request",
                    )
                first[one.request] = one.device
                self._take(claim, i, one)
                self._hold(claim, i, one, configs)
            except KubernetesObjectError as error:
                yield error

    def _take(self, claim: KubeResourceClaim, i: int, one: ClaimAllocatedDevice) -> None:
        """Check that a claim has a whole number of CPUs, and no more than the device has left."""
        title, at = claim.identity.title, (*_DEVICES, "results", i, "consumedCapacity")
        milli = one.capacity_milli.get(CPU_CAPACITY)
        if milli is None:
            message = f"{CPU_CAPACITY} is missing: how many CPUs of {one.device} it has; {_MEND}"
            raise KubernetesObjectError(title, at, message)
        if milli <= 0 or milli % 1000:
            message = f"got {milli / 1000:g}; expected a whole number of CPUs, one or more; {_MEND}"
            raise KubernetesObjectError(title, (*at, CPU_CAPACITY), message)
        taken = self.taken_milli.get(one.key, 0) + milli
        self.taken_milli[one.key] = taken
        has_milli = self.pools.several_cpus[one.key].capacity_milli
        if taken > has_milli:
            message = (
                f"with it claims have {taken // 1000} CPUs of {one.device}, which has "
                f"{has_milli // 1000}; delete an allocation"
            )
            raise KubernetesObjectError(title, (*at, CPU_CAPACITY), message)

    def _hold(
        self,
        claim: KubeResourceClaim,
        i: int,
        one: ClaimAllocatedDevice,
        configs: list[tuple[int, Object]],
    ) -> None:
        """Check that the CPUs named are the device's, in the right number, and nobody else's."""
        title, device = claim.identity.title, self.pools.several_cpus[one.key]
        if not configs:
            return  # the driver chooses the CPUs itself
        (k, config), *others = configs
        at = (*_DEVICES, "config", k)
        if others:
            message = f"speaks of request {one.request}, as config[{k}] does; {_MEND}"
            raise KubernetesObjectError(title, (*_DEVICES, "config", others[0][0]), message)
        if config.get("source") == "FromClass":
            message = f"got 'FromClass'; the driver takes CPUs of FromClaim alone; {_MEND}"
            raise KubernetesObjectError(title, (*at, "source"), message)
        try:
            cpus = cpus_of_claim_config(config)
        except ValueError as error:
            raise KubernetesObjectError(title, (*at, *CPUSET), f"{error}; {_MEND}") from None
        milli = one.capacity_milli[CPU_CAPACITY]
        if 1000 * len(cpus) != milli:
            raise KubernetesObjectError(
                title,
                (*_DEVICES, "results", i, "consumedCapacity", CPU_CAPACITY),
                f"got {milli // 1000}; config[{k}] names {len(cpus)} CPUs, {format_cpu_list(cpus)}:"
                f" expected as many; {_MEND}",
            )
        if device.cpus and (beyond := cpus - device.cpus):
            raise KubernetesObjectError(
                title,
                (*at, *CPUSET),
                f"{cpu_ids_with_noun(beyond)}: {one.device} of Node {device.node} has "
                f"{format_cpu_list(device.cpus)}; {_MEND}",
            )
        if twice := {cpu for cpu in cpus if (device.node, cpu) in self.owners}:
            raise KubernetesObjectError(
                title,
                (*at, *CPUSET),
                f"{cpu_ids_with_noun(twice)} of Node {device.node} belongs to "
                f"{self.owners[device.node, min(twice)]} already; a CPU has one owner: delete "
                "one of the allocations",
            )
        self.owners.update(dict.fromkeys(((device.node, cpu) for cpu in cpus), title))
