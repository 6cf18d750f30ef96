"""The rule about ports of the node itself."""

from collections.abc import Iterator
from itertools import chain

from placer.judge.family import Finding, JudgedFamily
from placer.judge.scene import InstanceWithPlacement
from placer_models.host_ports import ANY_IP, HostPort


def host_ports_breaches(scene: InstanceWithPlacement) -> Iterator[Finding]:
    """No two pods of a node ask for the same port of it, on the same address or on all."""
    for judged in scene.entered:
        asking = [placed for placed in judged.placed_pods if placed.pod.spec.host_ports]
        for i, placed in enumerate(asking):
            # Running pods may be in each other's way: only a pod that comes is blamed.
            others = (other for other in asking[:i] if placed.new or other.new)
            theirs = chain.from_iterable(other.pod.spec.host_ports for other in others)
            taken = sorted({port for port in theirs if _clash(port, placed.pod.spec.host_ports)})
            if taken:
                yield Finding(
                    judged.node.name,
                    f"several pods of node {judged.node.name!r} ask for its port "
                    f"{', '.join(map(str, taken))}, {placed.pod.title!r} among them",
                )


def _clash(port: HostPort, wanted: tuple[HostPort, ...]) -> bool:
    return any(
        (port.port, port.protocol) == (other.port, other.protocol)
        and (port.ip == other.ip or ANY_IP in (port.ip, other.ip))
        for other in wanted
    )


JUDGED = JudgedFamily(rules={"host-ports": host_ports_breaches})
