"""The edges of the rule about ports of the node itself."""

from dataclasses import replace

from judge.hand import ALL_CPUS, Edge, node, put, world
from placer_models.host_ports import HostPort, PortProtocol
from placer_models.pod import Container, Pod, PodSpec, Resources
from placer_models.policy import QosClass

HERE, THERE = "10.0.0.7", "10.0.0.8"


def reached_at(name: str, *ports: HostPort) -> Pod:
    """Return a pod that asks for ports of its node, and for nothing else."""
    parts = (Container("app", Resources()),)
    return Pod(name, "default", PodSpec(parts, qos=QosClass.LS, host_ports=tuple(sorted(ports))))


def _edge(one: HostPort, *others: HostPort, beside: HostPort) -> Edge:
    """``one`` goes with ``beside`` on a node, and with none of the others."""
    pods = [reached_at("a", one), reached_at("b", beside), reached_at("c", *others)]
    return Edge(
        world(*pods, nodes=[node()]),
        good=[put("a", ALL_CPUS), put("b", ALL_CPUS)],
        bad=[put("a", ALL_CPUS), put("c", ALL_CPUS)],
    )


HOST_PORTS_EDGES = {
    "host-ports: a port is had once": _edge(
        HostPort(80), HostPort(81), HostPort(80), beside=HostPort(443)
    ),
    "host-ports: each protocol has ports of its own": _edge(
        HostPort(53), HostPort(53), beside=HostPort(53, PortProtocol.UDP)
    ),
    "host-ports: addresses have ports of their own": _edge(
        HostPort(80, ip=HERE), HostPort(80, ip=HERE), beside=HostPort(80, ip=THERE)
    ),
    "host-ports: all addresses are each of them": _edge(
        HostPort(80), HostPort(80, ip=HERE), beside=HostPort(81, ip=HERE)
    ),
    "host-ports: an address of IPv6 that stands for all is one like others": _edge(
        HostPort(80, ip="::"), HostPort(80), beside=HostPort(80, ip=HERE)
    ),
    "host-ports: running pods keep theirs": Edge(
        world(
            reached_at("a", HostPort(80, ip=HERE)),
            reached_at("b", HostPort(80, ip=THERE)),
            nodes=[node()],
            running=[(reached_at("r", HostPort(80, ip=HERE)), put("r"))],
        ),
        good=put("b", ALL_CPUS),
        bad=put("a", ALL_CPUS),
    ),
    "host-ports: running pods in each other's way are not blamed, and others may come": Edge(
        world(
            reached_at("a", HostPort(80)),
            reached_at("b", HostPort(81)),
            nodes=[node()],
            running=[
                (reached_at("r", HostPort(80)), put("r")),
                (reached_at("s", HostPort(80)), put("s")),
            ],
        ),
        good=put("b", ALL_CPUS),
        bad=put("a", ALL_CPUS),
    ),
    "host-ports: a pod is not in its own way": Edge(
        world(
            reached_at("a", HostPort(80), HostPort(80, ip=HERE)),
            reached_at("b", HostPort(80, ip=THERE)),
            nodes=[replace(node(), name="m"), node()],
        ),
        good=put("a", ALL_CPUS),
        bad=[put("a", ALL_CPUS), put("b", ALL_CPUS)],
    ),
}
"""Tiny instances whose pods ask for ports of their nodes."""
