"""Dresses tiny instances with pods that ask for ports of their nodes."""

from dataclasses import replace
from random import Random

from features.feature import Feature
from placer_models.cluster import Instance
from placer_models.host_ports import ANY_IP, HostPort, Protocol
from placer_models.pod import Pod, PodSpec

PORTS = (80, 80, 443)
IPS = (ANY_IP, ANY_IP, "10.0.0.7", "10.0.0.8", "::")


def with_host_ports(rng: Random, instance: Instance) -> Instance:
    """Let most pods ask for a port or two; running ones may be in each other's way."""
    dressed: dict[PodSpec, PodSpec] = {}

    def dress(pod: Pod) -> Pod:
        if pod.spec not in dressed:
            some = {_port(rng) for _ in range(rng.choice((0, 1, 1, 1, 2)))}
            dressed[pod.spec] = replace(pod.spec, host_ports=tuple(sorted(some)))
        return replace(pod, spec=dressed[pod.spec])

    return replace(
        instance,
        gangs=tuple(replace(g, pods=tuple(map(dress, g.pods))) for g in instance.gangs),
        running=tuple(replace(r, pod=dress(r.pod)) for r in instance.running),
    )


def _port(rng: Random) -> HostPort:
    protocol = rng.choice((Protocol.TCP, Protocol.TCP, Protocol.UDP))
    return HostPort(rng.choice(PORTS), protocol, rng.choice(IPS))


FEATURE = Feature("host_ports", with_host_ports)
