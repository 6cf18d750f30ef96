"""The edges of the pools where CPUs are in none of them (C5, C6)."""

from dataclasses import replace

from judge.hand import ALL_CPUS, Edge, node, pod, put, world
from placer_models.cluster import Node
from placer_models.cpuset import parse_cpu_list
from placer_models.policy import QosClass

LSE, LS, BE = QosClass.LSE, QosClass.LS, QosClass.BE


def keeping(unpooled: str, reserved: str = "") -> Node:
    """Return a node of CPUs 0 to 8 that keeps some of them out of the pools."""
    return replace(node(reserved=reserved), unpooled_cpus=parse_cpu_list(unpooled))


SYSTEM = keeping("0-1", reserved="0-1")
PINNED = [(pod("r", 2), put("r", "0-1"))]

UNPOOLED_EDGES = {
    "shared-pool: reserved CPUs that are for the system alone are not in the shared pool": Edge(
        world(pod("b", 7, qos=LS), nodes=[SYSTEM]),
        good=put("b", "2-8"),
        bad=put("b", ALL_CPUS, parts={"app": "2-8"}),
    ),
    "shared-pool: an LS pod needs a CPU that is not for the system alone": Edge(
        world(pod("a", 6), pod("b", qos=LS), nodes=[SYSTEM]),
        good=[put("a", "2-7"), put("b", "8")],
        bad=[put("a", "2-8"), put("b", "")],
        bad_world=world(pod("a", 7), pod("b", qos=LS), nodes=[SYSTEM]),
    ),
    "shared-pool: of CPUs that nobody owns any more LS pods have a share": Edge(
        world(pod("b", 9, qos=LS), nodes=[keeping("0-1")]),
        good=put("b", ALL_CPUS),
        bad=put("b", "2-8", parts={"app": ALL_CPUS}),
    ),
    "be-pool: reserved CPUs that are for the system alone are not in the BE pool": Edge(
        world(pod("b", 7, qos=BE), nodes=[SYSTEM]),
        good=put("b", "2-8"),
        bad=put("b", ALL_CPUS, parts={"app": "2-8"}),
    ),
    "be-pool: CPUs that a kubelet has pinned to a running pod are not in the BE pool": Edge(
        world(pod("b", 1, qos=BE), nodes=[keeping("0-1")], running=PINNED),
        good=put("b", "2-8"),
        bad=put("b", ALL_CPUS, parts={"app": "2-8"}),
    ),
    "be-pool: BE pods ask for no more than pinned CPUs leave": Edge(
        world(pod("b", 7, qos=BE), nodes=[keeping("0-1")], running=PINNED),
        good=put("b", "2-8"),
        bad_world=world(pod("b", 7.001, qos=BE), nodes=[keeping("0-1")], running=PINNED),
    ),
    "be-pool: a BE pod needs a CPU that is neither pinned nor an LSE pod's": Edge(
        world(pod("a", 6, qos=LSE), pod("b", qos=BE), nodes=[keeping("0-1")], running=PINNED),
        good=[put("a", "2-7"), put("b", "8")],
        bad=[put("a", "2-8"), put("b", "")],
        bad_world=world(
            pod("a", 7, qos=LSE), pod("b", qos=BE), nodes=[keeping("0-1")], running=PINNED
        ),
    ),
}
