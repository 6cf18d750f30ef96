"""The edges of the rules about pods, their nodes and their gangs."""

from judge.hand import ALL_CPUS, Case, gang, node, placed, pod, put, world
from placer_models.policy import QosClass

LS = QosClass.LS
TWO_NODES = (node("n"), node("m"))
IDLE = pod("a", qos=LS)
PAIR = (pod("a", qos=LS), pod("b", qos=LS))

POD_CASES = (
    Case(
        "known",
        "a placed pod waits in the instance",
        world(IDLE),
        good=placed(put("a", ALL_CPUS)),
        bad=placed(put("b", ALL_CPUS)),
    ),
    Case(
        "known",
        "a running pod is not placed again",
        world(IDLE, running=[(pod("r", qos=LS), put("r", ALL_CPUS))]),
        good=placed(put("a", ALL_CPUS)),
        bad=placed(put("a", ALL_CPUS), put("r", ALL_CPUS)),
    ),
    Case(
        "known",
        "a pod is placed once",
        world(IDLE, nodes=TWO_NODES),
        good=placed(put("a", ALL_CPUS)),
        bad=placed(put("a", ALL_CPUS), put("a", ALL_CPUS, on="m")),
    ),
    Case(
        "known",
        "the node exists",
        world(IDLE, nodes=TWO_NODES),
        good=placed(put("a", ALL_CPUS, on="m")),
        bad=placed(put("a", ALL_CPUS, on="o")),
    ),
    Case(
        "known",
        "a member is placed under its gang's name",
        world(gang("g", *PAIR)),
        good=placed(put("a", ALL_CPUS, gang="g")),
        bad=placed(put("a", ALL_CPUS, gang="h")),
    ),
    Case(
        "known",
        "a lone pod is placed under no gang's name",
        world(IDLE),
        good=placed(put("a", ALL_CPUS)),
        bad=placed(put("a", ALL_CPUS, gang="a")),
    ),
    Case(
        "cordon",
        "nothing new on a cordoned node, whatever runs there",
        world(
            IDLE,
            nodes=(node("n"), node("m", cordoned=True)),
            running=[(pod("r", qos=LS), put("r", ALL_CPUS, on="m"))],
        ),
        good=placed(put("a", ALL_CPUS, on="n")),
        bad=placed(put("a", ALL_CPUS, on="m")),
    ),
    Case(
        "closed",
        "nothing new on a closed node, whatever runs there",
        world(
            IDLE,
            nodes=(node("n"), node("m", closed=True)),
            running=[(pod("r", qos=LS), put("r", ALL_CPUS, on="m"))],
        ),
        good=placed(put("a", ALL_CPUS, on="n")),
        bad=placed(put("a", ALL_CPUS, on="m")),
    ),
    Case(
        "node-selector",
        "a label has the value asked for",
        world(
            pod("a", qos=LS, selector={"zone": "east"}),
            nodes=(
                node("n", labels={"zone": "east", "disk": "ssd"}),
                node("m", labels={"zone": "west"}),
            ),
        ),
        good=placed(put("a", ALL_CPUS, on="n")),
        bad=placed(put("a", ALL_CPUS, on="m")),
    ),
    Case(
        "node-selector",
        "each label asked for is there",
        world(
            pod("a", qos=LS, selector={"disk": "ssd", "zone": "east"}),
            nodes=(
                node("n", labels={"zone": "east", "disk": "ssd"}),
                node("m", labels={"zone": "east"}),
            ),
        ),
        good=placed(put("a", ALL_CPUS, on="n")),
        bad=placed(put("a", ALL_CPUS, on="m")),
    ),
)

GANG_CASES = (
    Case(
        "gang-minimum",
        "a gang has its minimum",
        world(gang("g", *PAIR, pod("c", qos=LS), minimum=2)),
        good=placed(put("a", ALL_CPUS, gang="g"), put("c", ALL_CPUS, gang="g")),
        bad=placed(put("c", ALL_CPUS, gang="g")),
    ),
    Case(
        "gang-group",
        "the gangs of a group run together",
        world(gang("g", PAIR[0]), gang("h", PAIR[1]), groups=[("g", "h")]),
        good=placed(put("a", ALL_CPUS, gang="g"), put("b", ALL_CPUS, gang="h")),
        bad=placed(put("b", ALL_CPUS, gang="h")),
    ),
    Case(
        "gang-group",
        "or none of them does",
        world(gang("g", PAIR[0]), gang("h", PAIR[1]), pod("x", qos=LS), groups=[("g", "h")]),
        good=placed(put("x", ALL_CPUS)),
        bad=placed(put("x", ALL_CPUS), put("a", ALL_CPUS, gang="g")),
    ),
    Case(
        "gather",
        "a gang that gathers is on one node",
        world(gang("g", *PAIR, gather=True), nodes=TWO_NODES),
        good=placed(put("a", ALL_CPUS, on="m", gang="g"), put("b", ALL_CPUS, on="m", gang="g")),
        bad=placed(put("a", ALL_CPUS, on="n", gang="g"), put("b", ALL_CPUS, on="m", gang="g")),
    ),
)
