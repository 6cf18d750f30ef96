"""Faults of claims that were given CPUs as dra-driver-cpu would never give them."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from placer.kubernetes.device_pools import DevicePools
from placer_models.cpuset import format_cpu_list
from placer_models.files.errors import cpus_with_noun
from placer_models.kubernetes.cpu_config import (
    CPUSET,
    cpu_configs_for_request,
    cpus_of_claim_config,
)
from placer_models.kubernetes.listed_devices import CPU_CAPACITY
from placer_models.kubernetes.object_fields import Object, ObjectError
from placer_models.kubernetes.resource_claim import AllocatedDevice, ClaimPart

_DEVICES = ("status", "allocation", "devices")
_MEND = "correct it, or delete the allocation"


@dataclass(slots=True)
class CpuClaimFaults:
    """The faults of claims that were given CPUs of devices of several CPUs.

    Attributes:
        owners: (Node, CPU) -> title of the claim that has it.
        taken_milli: Key of a device -> how many milli CPUs of it claims have.

    """

    pools: DevicePools
    owners: dict[tuple[str, int], str] = field(default_factory=dict)
    taken_milli: dict[tuple[str, str, str], int] = field(default_factory=dict)

    def of(self, claim: ClaimPart) -> Iterator[ObjectError]:
        """Yield the faults of one claim, given the claims that were checked before it."""
        if claim.allocation is None:
            return
        first: dict[str, str] = {}
        for i, one in enumerate(claim.allocation.devices):
            if one.key not in self.pools.several_cpus:
                continue
            configs = cpu_configs_for_request(claim.allocation.configs, one.request)
            try:
                if configs and one.request in first:
                    raise ObjectError(
                        claim.identity.title,
                        (*_DEVICES, "results", i, "device"),
                        f"request {one.request} has {first[one.request]} already; CPUs that are "
                        "named are of one device a request: ask for more by another request",
                    )
                first[one.request] = one.device
                self._take(claim, i, one)
                self._hold(claim, i, one, configs)
            except ObjectError as error:
                yield error

    def _take(self, claim: ClaimPart, i: int, one: AllocatedDevice) -> None:
        """Check that a claim has a whole number of CPUs, and no more than the device has left."""
        title, at = claim.identity.title, (*_DEVICES, "results", i, "consumedCapacity")
        milli = one.capacity_milli.get(CPU_CAPACITY)
        if milli is None:
            message = f"{CPU_CAPACITY} is missing: how many CPUs of {one.device} it has; {_MEND}"
            raise ObjectError(title, at, message)
        if milli <= 0 or milli % 1000:
            message = f"got {milli / 1000:g}; expected a whole number of CPUs, one or more; {_MEND}"
            raise ObjectError(title, (*at, CPU_CAPACITY), message)
        taken = self.taken_milli.get(one.key, 0) + milli
        self.taken_milli[one.key] = taken
        has_milli = self.pools.several_cpus[one.key].capacity_milli
        if taken > has_milli:
            message = (
                f"with it claims have {taken // 1000} CPUs of {one.device}, which has "
                f"{has_milli // 1000}; delete an allocation"
            )
            raise ObjectError(title, (*at, CPU_CAPACITY), message)

    def _hold(
        self, claim: ClaimPart, i: int, one: AllocatedDevice, configs: list[tuple[int, Object]]
    ) -> None:
        """Check that the CPUs named are the device's, in the right number, and nobody else's."""
        title, device = claim.identity.title, self.pools.several_cpus[one.key]
        if not configs:
            return  # the driver chooses the CPUs itself
        (k, config), *others = configs
        at = (*_DEVICES, "config", k)
        if others:
            message = f"speaks of request {one.request}, as config[{k}] does; {_MEND}"
            raise ObjectError(title, (*_DEVICES, "config", others[0][0]), message)
        if config.get("source") == "FromClass":
            message = f"got 'FromClass'; the driver takes CPUs of FromClaim alone; {_MEND}"
            raise ObjectError(title, (*at, "source"), message)
        try:
            cpus = cpus_of_claim_config(config)
        except ValueError as error:
            raise ObjectError(title, (*at, *CPUSET), f"{error}; {_MEND}") from None
        milli = one.capacity_milli[CPU_CAPACITY]
        if 1000 * len(cpus) != milli:
            raise ObjectError(
                title,
                (*_DEVICES, "results", i, "consumedCapacity", CPU_CAPACITY),
                f"got {milli // 1000}; config[{k}] names {len(cpus)} CPUs, {format_cpu_list(cpus)}:"
                f" expected as many; {_MEND}",
            )
        if device.cpus and (beyond := cpus - device.cpus):
            raise ObjectError(
                title,
                (*at, *CPUSET),
                f"{cpus_with_noun(beyond)}: {one.device} of Node {device.node} has "
                f"{format_cpu_list(device.cpus)}; {_MEND}",
            )
        if twice := {cpu for cpu in cpus if (device.node, cpu) in self.owners}:
            raise ObjectError(
                title,
                (*at, *CPUSET),
                f"{cpus_with_noun(twice)} of Node {device.node} belongs to "
                f"{self.owners[device.node, min(twice)]} already; a CPU has one owner: delete "
                "one of the allocations",
            )
        self.owners.update(dict.fromkeys(((device.node, cpu) for cpu in cpus), title))
