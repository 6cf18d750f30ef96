"""The edges of the rule about ports of the node itself."""

from dataclasses import replace

from judge.hand import ALL_CPUS, Case, node, placed, put, world
from placer_models.host_ports import HostPort, Protocol
from placer_models.pod import Container, Pod, PodSpec, Resources
from placer_models.policy import QosClass

HERE, THERE = "10.0.0.7", "10.0.0.8"


def reached_at(name: str, *ports: HostPort) -> Pod:
    """Return a pod that asks for ports of its node, and for nothing else."""
    parts = (Container("app", Resources()),)
    return Pod(name, "default", PodSpec(parts, qos=QosClass.LS, host_ports=tuple(sorted(ports))))


def _case(what: str, one: HostPort, *others: HostPort, beside: HostPort) -> Case:
    """``one`` goes with ``beside`` on a node, and with none of the others."""
    pods = [reached_at("a", one), reached_at("b", beside), reached_at("c", *others)]
    return Case(
        "host-ports",
        what,
        world(*pods, nodes=[node()]),
        good=placed(put("a", ALL_CPUS), put("b", ALL_CPUS)),
        bad=placed(put("a", ALL_CPUS), put("c", ALL_CPUS)),
    )


HOST_PORTS_CASES = (
    _case("a port is had once", HostPort(80), HostPort(81), HostPort(80), beside=HostPort(443)),
    _case(
        "each protocol has ports of its own",
        HostPort(53),
        HostPort(53),
        beside=HostPort(53, Protocol.UDP),
    ),
    _case(
        "addresses have ports of their own",
        HostPort(80, ip=HERE),
        HostPort(80, ip=HERE),
        beside=HostPort(80, ip=THERE),
    ),
    _case(
        "all addresses are each of them",
        HostPort(80),
        HostPort(80, ip=HERE),
        beside=HostPort(81, ip=HERE),
    ),
    _case(
        "an address of IPv6 that stands for all is one like others",
        HostPort(80, ip="::"),
        HostPort(80),
        beside=HostPort(80, ip=HERE),
    ),
    Case(
        "host-ports",
        "running pods keep theirs",
        world(
            reached_at("a", HostPort(80, ip=HERE)),
            reached_at("b", HostPort(80, ip=THERE)),
            nodes=[node()],
            running=[(reached_at("r", HostPort(80, ip=HERE)), put("r"))],
        ),
        good=placed(put("b", ALL_CPUS)),
        bad=placed(put("a", ALL_CPUS)),
    ),
    Case(
        "host-ports",
        "running pods in each other's way are not blamed, and others may come",
        world(
            reached_at("a", HostPort(80)),
            reached_at("b", HostPort(81)),
            nodes=[node()],
            running=[
                (reached_at("r", HostPort(80)), put("r")),
                (reached_at("s", HostPort(80)), put("s")),
            ],
        ),
        good=placed(put("b", ALL_CPUS)),
        bad=placed(put("a", ALL_CPUS)),
    ),
    Case(
        "host-ports",
        "a pod is not in its own way",
        world(
            reached_at("a", HostPort(80), HostPort(80, ip=HERE)),
            reached_at("b", HostPort(80, ip=THERE)),
            nodes=[replace(node(), name="m"), node()],
        ),
        good=placed(put("a", ALL_CPUS)),
        bad=placed(put("a", ALL_CPUS), put("b", ALL_CPUS)),
    ),
)
"""Tiny instances whose pods ask for ports of their nodes."""
