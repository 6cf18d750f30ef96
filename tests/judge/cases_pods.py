"""The edges of the rules about pods, their nodes and their gangs."""

from judge.hand import ALL_CPUS, Edge, gang, node, pod, put, world
from placer_models.policy import QosClass

LS = QosClass.LS
TWO_NODES = (node("n"), node("m"))
IDLE = pod("a", qos=LS)
PAIR = (pod("a", qos=LS), pod("b", qos=LS))

POD_EDGES = {
    "known: a placed pod waits in the instance": Edge(
        world(IDLE), good=put("a", ALL_CPUS), bad=put("b", ALL_CPUS)
    ),
    "known: a running pod is not placed again": Edge(
        world(IDLE, running=[(pod("r", qos=LS), put("r", ALL_CPUS))]),
        good=put("a", ALL_CPUS),
        bad=[put("a", ALL_CPUS), put("r", ALL_CPUS)],
    ),
    "known: a pod is placed once": Edge(
        world(IDLE, nodes=TWO_NODES),
        good=put("a", ALL_CPUS),
        bad=[put("a", ALL_CPUS), put("a", ALL_CPUS, on="m")],
    ),
    "known: the node exists": Edge(
        world(IDLE, nodes=TWO_NODES),
        good=put("a", ALL_CPUS, on="m"),
        bad=put("a", ALL_CPUS, on="o"),
    ),
    "known: a member is placed under its gang's name": Edge(
        world(gang("g", *PAIR)), good=put("a", ALL_CPUS, gang="g"), bad=put("a", ALL_CPUS, gang="h")
    ),
    "known: a lone pod is placed under no gang's name": Edge(
        world(IDLE), good=put("a", ALL_CPUS), bad=put("a", ALL_CPUS, gang="a")
    ),
    "cordon: nothing new on a cordoned node, whatever runs there": Edge(
        world(
            IDLE,
            nodes=(node("n"), node("m", cordoned=True)),
            running=[(pod("r", qos=LS), put("r", ALL_CPUS, on="m"))],
        ),
        good=put("a", ALL_CPUS, on="n"),
        bad=put("a", ALL_CPUS, on="m"),
    ),
    "closed: nothing new on a closed node, whatever runs there": Edge(
        world(
            IDLE,
            nodes=(node("n"), node("m", closed=True)),
            running=[(pod("r", qos=LS), put("r", ALL_CPUS, on="m"))],
        ),
        good=put("a", ALL_CPUS, on="n"),
        bad=put("a", ALL_CPUS, on="m"),
    ),
    "node-selector: a label has the value asked for": Edge(
        world(
            pod("a", qos=LS, selector={"zone": "east"}),
            nodes=(
                node("n", labels={"zone": "east", "disk": "ssd"}),
                node("m", labels={"zone": "west"}),
            ),
        ),
        good=put("a", ALL_CPUS, on="n"),
        bad=put("a", ALL_CPUS, on="m"),
    ),
    "node-selector: each label asked for is there": Edge(
        world(
            pod("a", qos=LS, selector={"disk": "ssd", "zone": "east"}),
            nodes=(
                node("n", labels={"zone": "east", "disk": "ssd"}),
                node("m", labels={"zone": "east"}),
            ),
        ),
        good=put("a", ALL_CPUS, on="n"),
        bad=put("a", ALL_CPUS, on="m"),
    ),
}

GANG_EDGES = {
    "gang-minimum: a gang has its minimum": Edge(
        world(gang("g", *PAIR, pod("c", qos=LS), minimum=2)),
        good=[put("a", ALL_CPUS, gang="g"), put("c", ALL_CPUS, gang="g")],
        bad=put("c", ALL_CPUS, gang="g"),
    ),
    "gang-group: the gangs of a group run together": Edge(
        world(gang("g", PAIR[0]), gang("h", PAIR[1]), groups=[("g", "h")]),
        good=[put("a", ALL_CPUS, gang="g"), put("b", ALL_CPUS, gang="h")],
        bad=put("b", ALL_CPUS, gang="h"),
    ),
    "gang-group: or none of them does": Edge(
        world(gang("g", PAIR[0]), gang("h", PAIR[1]), pod("x", qos=LS), groups=[("g", "h")]),
        good=put("x", ALL_CPUS),
        bad=[put("x", ALL_CPUS), put("a", ALL_CPUS, gang="g")],
    ),
    "gather: a gang that gathers is on one node": Edge(
        world(gang("g", *PAIR, gather=True), nodes=TWO_NODES),
        good=[put("a", ALL_CPUS, on="m", gang="g"), put("b", ALL_CPUS, on="m", gang="g")],
        bad=[put("a", ALL_CPUS, on="n", gang="g"), put("b", ALL_CPUS, on="m", gang="g")],
    ),
}
