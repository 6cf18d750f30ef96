"""CPUs that ResourceClaims were given by dra-driver-cpu, as far as they are named (D12)."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from placer.kubernetes.device_pools import DevicePools
from placer.kubernetes.objects import Objects
from placer.kubernetes.summary import DumpSummary
from placer_models.cpuset import CpuSet
from placer_models.kubernetes.cpu_config import cpu_configs_for_request, cpus_of_claim_config
from placer_models.kubernetes.listed_devices import CPU_CAPACITY, CPU_DRIVER
from placer_models.kubernetes.pod import KubePod
from placer_models.kubernetes.resource_claim import ClaimPart
from placer_models.placement import NamespacedName


@dataclass(slots=True)
class ClaimedCpus:
    """The CPUs that the allocated claims of a cluster hold."""

    objects: Objects
    pools: DevicePools

    def of_pod(self, part: KubePod) -> CpuSet | None:
        """Return the CPUs that a bound pod has by claims, or None if it has unnamed ones."""
        found: set[int] = set()
        for claim in self._claims(part):
            cpus = self._of_claim(claim)
            if cpus is None:
                return None
            found |= cpus
        return frozenset(found)

    def milli_of_pod(self, part: KubePod) -> int:
        """Return how many milli CPUs a bound pod's claims have of devices of several CPUs."""
        return sum(map(_milli, self._claims(part)))

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

    def _claims(self, part: KubePod) -> Iterator[ClaimPart]:
        for one in part.claims:
            claim = self.objects.claims.get((part.identity.namespace, one.claim))
            if claim is not None:
                yield claim

    def _of_claim(self, claim: ClaimPart) -> CpuSet | None:
        """Return the CPUs that a claim has, or None if it has unnamed ones."""
        found: set[int] = set()
        for one in claim.allocation.devices if claim.allocation else ():
            if one.driver != CPU_DRIVER:
                continue
            single = self.pools.by_key.get(one.key)
            if claim.allocation and one.key in self.pools.several_cpus:
                configs = cpu_configs_for_request(claim.allocation.configs, one.request)
                try:
                    found |= cpus_of_claim_config(configs[0][1] if configs else {})
                except ValueError:
                    return None
            elif single is not None:
                found.add(single.device.minor)
            else:
                return None
        return frozenset(found)

    def _node(self, claim: ClaimPart) -> str | None:
        """Return the node that a claim's CPUs are on, or None if it has none or that is unknown."""
        for one in claim.allocation.devices if claim.allocation else ():
            if one.key in self.pools.several_cpus:
                return self.pools.several_cpus[one.key].node
            if one.driver == CPU_DRIVER and one.key in self.pools.by_key:
                return self.pools.by_key[one.key].node
        return None


def _milli(claim: ClaimPart) -> int:
    given = claim.allocation.devices if claim.allocation else ()
    return sum(one.capacity_milli.get(CPU_CAPACITY, 0) for one in given)
