"""Alternatives of a request (``firstAvailable``): on each node the first that it can serve."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from placer.kubernetes.device_matches import ClaimRequestMatchesByNode
from placer.kubernetes.device_pools import PublishedNodeDevice
from placer.kubernetes.objects import ClusterObjects
from placer.kubernetes.pod_claims import ResolvedClaimRequest
from placer_models.kubernetes.listed_devices import SEVERAL_CPUS


class ClaimAlternativeChooser:
    """Chooses among alternatives, node by node."""

    def __init__(self, objects: ClusterObjects) -> None:
        self._allocated = frozenset(
            device.key for claim in objects.claims.values() for device in claim.devices
        )
        self._merged: dict[frozenset[tuple[str, int]], ClaimRequestMatchesByNode] = {}

    def groups(
        self, tried: Sequence[ResolvedClaimRequest], *, apart: bool
    ) -> tuple[ResolvedClaimRequest, ...]:
        """Return what is taken, each for other nodes: what is best on any node comes first.

        Where the devices that alternatives ask for are of one type and as many, they are taken
        as one request, whichever is the first on a node.

        Args:
            tried: The alternatives that can be expressed, the best first.
            apart: Whether something else depends on which of them is taken.

        """
        left = self._first_of_nodes(tried)
        found = []
        for best in tried:
            alike = {
                name: given
                for name, given in left.items()
                if given is best
                or (not apart and (given.type, given.count) == (best.type, best.count))
            }
            if any(given is best for given in alike.values()):
                found.append(replace(best, match=self._match(alike), on_node=alike))
                left = {name: given for name, given in left.items() if name not in alike}
        return tuple(found)

    def by_count(self, given: ResolvedClaimRequest) -> tuple[ResolvedClaimRequest, ...]:
        """Return a request for all devices of a node, each for nodes that have as many."""
        if given.request.count is not None or given.type in SEVERAL_CPUS:
            return (given,)
        by_count: dict[int, dict[str, ResolvedClaimRequest]] = {}
        for name, devices in given.match.nodes.items():
            by_count.setdefault(len(devices), {})[name] = given
        if len(by_count) < 2:
            return (given,)
        return tuple(
            replace(given, count=count, match=self._match(nodes))
            for count, nodes in sorted(by_count.items())
        )

    def _first_of_nodes(
        self, tried: Sequence[ResolvedClaimRequest]
    ) -> Mapping[str, ResolvedClaimRequest]:
        """Return for each node the first alternative that it can serve.

        If none can serve any of them now, those count that could if nobody held devices.
        """
        tests: tuple[Callable[[PublishedNodeDevice], bool], ...] = (
            lambda one: one.device.healthy and one.key not in self._allocated,
            lambda one: one.device.healthy,
        )
        for is_there in tests:
            found: dict[str, ResolvedClaimRequest] = {}
            for given in tried:
                for name, devices in given.match.nodes.items():
                    if _serves(given, devices, is_there):
                        found.setdefault(name, given)
            if found:
                return found
        return {}

    def _match(self, alike: Mapping[str, ResolvedClaimRequest]) -> ClaimRequestMatchesByNode:
        """Return the devices of all nodes; equal ones are one object, as for single requests."""
        key = frozenset((name, id(given.match)) for name, given in alike.items())
        if key not in self._merged:
            nodes = {name: given.match.nodes[name] for name, given in alike.items()}
            chosen = frozenset(name for name, given in alike.items() if name in given.match.chosen)
            self._merged[key] = ClaimRequestMatchesByNode(nodes, chosen)
        return self._merged[key]


def _serves(
    given: ResolvedClaimRequest,
    devices: Sequence[PublishedNodeDevice],
    is_there: Callable[[PublishedNodeDevice], bool],
) -> bool:
    there = sum(map(is_there, devices))
    if given.type in SEVERAL_CPUS:
        return there > 0  # how many of their CPUs are free is counted elsewhere
    return there == len(devices) if given.request.count is None else there >= given.count
