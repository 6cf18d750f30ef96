"""The edges of the rules about levels of the network."""

from judge.hand import ALL_CPUS, Case, gang, node, placed, pod, put, world
from placer_models.cluster import Instance
from placer_models.network import GatherOrSpread, LevelRule
from placer_models.placement import Placement
from placer_models.policy import QosClass

NODES = (
    node("a", domains={"rack": "r1", "block": "x"}),
    node("b", domains={"rack": "r1", "block": "x"}),
    node("c", domains={"rack": "r2", "block": "x"}),
    node("d"),
    node("e"),
)
MEMBERS = tuple(pod(f"m{i}", qos=QosClass.LS) for i in range(4))


def asking(*rules: LevelRule) -> Instance:
    """Return a gang of four, each node in a rack but the last two."""
    return world(gang("g", *MEMBERS, levels=rules), nodes=NODES)


def on(*names: str) -> Placement:
    """Place members on nodes, in turn."""
    return placed(*(put(f"m{i}", ALL_CPUS, on=name, gang="g") for i, name in enumerate(names)))


NETWORK_CASES = (
    Case(
        "domain",
        "a gang that gathers in a rack is where racks are",
        asking(LevelRule("rack", GatherOrSpread.GATHER)),
        good=on("c"),
        bad=on("d"),
    ),
    Case(
        "domain",
        "so is one that spreads, on every node",
        asking(LevelRule("rack", GatherOrSpread.SPREAD, count=1)),
        good=on("a", "c"),
        bad=on("a", "d"),
    ),
    Case(
        "gather",
        "members are in one rack",
        asking(LevelRule("rack", GatherOrSpread.GATHER)),
        good=on("a", "b"),
        bad=on("a", "b", "c"),
    ),
    Case(
        "gather",
        "each of several levels counts",
        asking(LevelRule("block", GatherOrSpread.GATHER), LevelRule("rack", GatherOrSpread.GATHER)),
        good=on("b", "b"),
        bad=on("b", "c"),
    ),
    Case(
        "spread",
        "at most two members a rack",
        asking(LevelRule("rack", GatherOrSpread.SPREAD, count=2)),
        good=on("a", "b", "c", "c"),
        bad=on("a", "b", "b", "c"),
    ),
    Case(
        "spread",
        "every node is a domain of its own",
        asking(LevelRule("node", GatherOrSpread.SPREAD, count=1)),
        good=on("a", "b", "d"),
        bad=on("a", "d", "d"),
    ),
    Case(
        "multiples",
        "members come to a rack in pairs",
        asking(LevelRule("rack", GatherOrSpread.MULTIPLES, count=2)),
        good=on("a", "b", "c", "c"),
        bad=on("a", "b", "b", "c"),
    ),
)
