"""Dresses tiny instances with pods that ask for ports of their nodes."""

from dataclasses import replace
from random import Random

from features.feature import Feature, with_specs
from placer_models.cluster import Instance
from placer_models.host_ports import ANY_IP, HostPort, PortProtocol
from placer_models.pod import PodSpec

PORTS = (80, 80, 443)
IPS = (ANY_IP, ANY_IP, "10.0.0.7", "10.0.0.8", "::")


def with_host_ports(rng: Random, instance: Instance) -> Instance:
    """Let most pods ask for a port or two; running ones may be in each other's way."""

    def dressed(spec: PodSpec) -> PodSpec:
        some = {_port(rng) for _ in range(rng.choice((0, 1, 1, 1, 2)))}
        return replace(spec, host_ports=tuple(sorted(some)))

    return with_specs(instance, dressed)


def _port(rng: Random) -> HostPort:
    protocol = rng.choice((PortProtocol.TCP, PortProtocol.TCP, PortProtocol.UDP))
    return HostPort(rng.choice(PORTS), protocol, rng.choice(IPS))


FEATURE = Feature("host_ports", with_host_ports)
