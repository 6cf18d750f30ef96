"""The edges of the rule about how many pods a node takes."""

from dataclasses import replace

from judge.hand import ALL_CPUS, Edge, node, put, world
from placer_models.pod import Container, Pod, PodSpec, Resources
from placer_models.policy import QosClass

TWO = replace(node(), max_pods=2)


def small(name: str) -> Pod:
    """Return a pod that asks for nothing."""
    return Pod(name, "default", PodSpec((Container("app", Resources()),), qos=QosClass.LS))


MAX_PODS_EDGES = {
    "max-pods: a node takes as many pods as it says": Edge(
        world(small("a"), small("b"), small("c"), nodes=[TWO]),
        good=[put("a", ALL_CPUS), put("b", ALL_CPUS)],
        bad=[put("a", ALL_CPUS), put("b", ALL_CPUS), put("c", ALL_CPUS)],
    ),
    "max-pods: running pods count, whatever they ask for": Edge(
        world(small("a"), small("b"), nodes=[TWO], running=[(small("r"), put("r"))]),
        good=put("a", ALL_CPUS),
        bad=[put("a", ALL_CPUS), put("b", ALL_CPUS)],
    ),
    "max-pods: nobody comes where more run than the node takes": Edge(
        world(
            small("a"),
            nodes=[replace(node(), max_pods=1)],
            running=[(small("r"), put("r")), (small("s"), put("s"))],
        ),
        good=[],
        bad=put("a", ALL_CPUS),
    ),
}
