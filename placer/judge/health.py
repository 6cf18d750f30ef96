"""Running pods that hold broken devices (D6).

This is not a rule: running pods are never blamed. It is for people who look at a cluster.
"""

from collections import defaultdict
from dataclasses import dataclass

from placer_models.cluster import Instance


@dataclass(frozen=True, slots=True)
class BrokenDeviceInUse:
    """A broken device, and the running pods that hold it or a share of it.

    Attributes:
        pods: Titles of the running pods, ascending.

    """

    node: str
    type: str
    minor: int
    pods: tuple[str, ...]

    @property
    def message(self) -> str:
        """What is wrong, in one line."""
        held = "holds" if len(self.pods) == 1 else "hold"
        return (
            f"{self.type} {self.minor} of node {self.node!r} is unhealthy, and "
            f"running {', '.join(self.pods)} {held} it"
        )


def broken_devices_held(instance: Instance) -> tuple[BrokenDeviceInUse, ...]:
    """Return the broken devices that running pods hold, in the order of the nodes."""
    holders: defaultdict[tuple[str, str, int], set[str]] = defaultdict(set)
    for runner in instance.running:
        for grant in runner.placement.devices:
            holders[runner.placement.node, grant.type, grant.minor].add(runner.pod.title)
    return tuple(
        BrokenDeviceInUse(node.name, device.type, device.minor, tuple(sorted(pods)))
        for node in instance.nodes
        for device in node.machine.devices
        if not node.is_healthy(device)
        and (device.type, device.minor) not in node.checkpoint_devices
        and (pods := holders.get((node.name, device.type, device.minor)))
    )
