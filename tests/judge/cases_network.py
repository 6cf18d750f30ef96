"""The edges of the rules about levels of the network."""

from judge.hand import ALL_CPUS, Edge, gang, node, pod, put, world
from placer_models.cluster import Instance
from placer_models.network import GangNetworkLevelRule, GangNetworkLevelRuleKind
from placer_models.placement import PodPlacement
from placer_models.policy import QosClass

NODES = (
    node("a", domains={"rack": "r1", "block": "x"}),
    node("b", domains={"rack": "r1", "block": "x"}),
    node("c", domains={"rack": "r2", "block": "x"}),
    node("d"),
    node("e"),
)
MEMBERS = tuple(pod(f"m{i}", qos=QosClass.LS) for i in range(4))


def asking(*rules: GangNetworkLevelRule) -> Instance:
    """Return a gang of four, each node in a rack but the last two."""
    return world(gang("g", *MEMBERS, levels=rules), nodes=NODES)


def on(*names: str) -> tuple[PodPlacement, ...]:
    """Place members on nodes, in turn."""
    return tuple(put(f"m{i}", ALL_CPUS, on=name, gang="g") for i, name in enumerate(names))


NETWORK_EDGES = {
    "domain: a gang that gathers in a rack is where racks are": Edge(
        asking(GangNetworkLevelRule("rack", GangNetworkLevelRuleKind.GATHER)),
        good=on("c"),
        bad=on("d"),
    ),
    "domain: so is one that spreads, on every node": Edge(
        asking(GangNetworkLevelRule("rack", GangNetworkLevelRuleKind.SPREAD, count=1)),
        good=on("a", "c"),
        bad=on("a", "d"),
    ),
    "gather: members are in one rack": Edge(
        asking(GangNetworkLevelRule("rack", GangNetworkLevelRuleKind.GATHER)),
        good=on("a", "b"),
        bad=on("a", "b", "c"),
    ),
    "gather: each of several levels counts": Edge(
        asking(
            GangNetworkLevelRule("block", GangNetworkLevelRuleKind.GATHER),
            GangNetworkLevelRule("rack", GangNetworkLevelRuleKind.GATHER),
        ),
        good=on("b", "b"),
        bad=on("b", "c"),
    ),
    "spread: at most two members a rack": Edge(
        asking(GangNetworkLevelRule("rack", GangNetworkLevelRuleKind.SPREAD, count=2)),
        good=on("a", "b", "c", "c"),
        bad=on("a", "b", "b", "c"),
    ),
    "spread: every node is a domain of its own": Edge(
        asking(GangNetworkLevelRule("node", GangNetworkLevelRuleKind.SPREAD, count=1)),
        good=on("a", "b", "d"),
        bad=on("a", "d", "d"),
    ),
    "multiples: members come to a rack in pairs": Edge(
        asking(GangNetworkLevelRule("rack", GangNetworkLevelRuleKind.MULTIPLES, count=2)),
        good=on("a", "b", "c", "c"),
        bad=on("a", "b", "b", "c"),
    ),
}
