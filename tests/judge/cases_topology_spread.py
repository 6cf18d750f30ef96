"""The edges of the rule about pods spread evenly over domains."""

from dataclasses import replace

from judge.cases_affinity import ZONES, in_zone, on
from judge.hand import Edge, at, node, pod, world
from placer_models.node_affinity import NodeAffinity, NodeTerm
from placer_models.pod import Pod
from placer_models.policy import QosClass, RequiredOrPreferred
from placer_models.selectors import LabelExpression, SelectorOperator
from placer_models.taints import Taint, TaintEffect, Toleration, TolerationOperator
from placer_models.topology_spread import SpreadConstraint

FULL = Taint("disk", "full", TaintEffect.NO_SCHEDULE)
EVENLY = SpreadConstraint("zone", labels=(("app", "web"),))


def web(name: str, *spread: SpreadConstraint, app: str = "web", **more: str) -> Pod:
    """Return a pod that asks for no amounts."""
    return replace(
        made := pod(name, qos=QosClass.LS, labels={"app": app}, selector=more),
        spec=replace(made.spec, spread=spread),
    )


def choosy(constraint: SpreadConstraint) -> Pod:
    """Return a pod that comes to zone a only."""
    in_a = NodeTerm((LabelExpression("zone", SelectorOperator.IN, ("a",)),))
    pod = web("choosy", constraint)
    return replace(pod, spec=replace(pod.spec, node_affinity=NodeAffinity((in_a,))))


def tolerant(name: str, constraint: SpreadConstraint) -> Pod:
    """Return a pod that minds no taint."""
    pod = web(name, constraint)
    every = Toleration(operator=TolerationOperator.EXISTS)
    return replace(pod, spec=replace(pod.spec, tolerations=(every,)))


A, B, C = (web(name, EVENLY) for name in "abc")
PLAIN = web("plain")
ONE_ON_N = [(web("r"), on("r", "n"))]
CORDONED = (*ZONES[:2], replace(ZONES[2], cordoned=True))
TAINTED = (*ZONES[:2], replace(ZONES[2], taints=(FULL,)))
BY_NODE = SpreadConstraint("node", labels=(("app", "web"),))
TWICE = (EVENLY, BY_NODE)
BY_RACK = SpreadConstraint("rack", labels=(("app", "web"),))
RACKED = (replace(node("n"), labels=(("rack", "x"), ("zone", "a"))), in_zone("m", "b"))
OF_DISKS = tuple(
    replace(each, labels=(("disk", "ssd"), ("placer:claimable", "disk"), ("zone", "a")))
    if each.name != "o"
    else each
    for each in ZONES
)
WISHED_RACKS = (EVENLY, replace(BY_RACK, strength=RequiredOrPreferred.PREFERRED))

TOPOLOGY_SPREAD_EDGES = {
    "topology-spread: no zone has two more than another": Edge(
        world(A, B, nodes=ZONES), good=at(a="n", b="o"), bad=at(a="n", b="m")
    ),
    "topology-spread: a larger skew allows more": Edge(
        world(*(web(name, replace(EVENLY, max_skew=2)) for name in "abc"), nodes=ZONES),
        good=at(a="n", b="m"),
        bad=at(a="n", b="m", c="m"),
    ),
    "topology-spread: running pods count": Edge(
        world(A, nodes=ZONES, running=ONE_ON_N), good=at(a="o"), bad=at(a="m")
    ),
    "topology-spread: pods that ask for nothing count, and bind nobody": Edge(
        world(A, PLAIN, web("other"), nodes=ZONES),
        good=at(plain="n", other="n"),
        bad=at(a="n", plain="n"),
    ),
    "topology-spread: a running pod that asks binds nobody": Edge(
        world(PLAIN, nodes=ZONES, running=[(A, on("a", "n"))]),
        good=at(plain="m"),
        bad=at(b="m"),
        bad_world=world(B, nodes=ZONES, running=[(A, on("a", "n"))]),
    ),
    "topology-spread: a node of no zone is not looked at, and takes none of them": Edge(
        world(A, PLAIN, nodes=ZONES), good=at(a="n", plain="p"), bad=at(a="p")
    ),
    "topology-spread: only nodes that the pod selects are looked at": Edge(
        world(web("a", EVENLY, zone="a"), nodes=ZONES, running=ONE_ON_N),
        good=at(a="m"),
        bad_world=world(
            web("a", replace(EVENLY, by_selector=False), zone="a"), nodes=ZONES, running=ONE_ON_N
        ),
    ),
    "topology-spread: a closed node counts, also where cordoned ones do not": Edge(
        world(
            web("a", replace(EVENLY, by_taints=True)),
            nodes=[replace(one, cordoned=one.name == "o") for one in ZONES],
            running=ONE_ON_N,
        ),
        good=at(a="n"),
        bad_world=world(
            web("a", replace(EVENLY, by_taints=True)),
            nodes=[replace(one, closed=one.name == "o") for one in ZONES],
            running=ONE_ON_N,
        ),
    ),
    (
        "topology-spread: a label that says what a node can give is none that "
        "the pod selects nodes by"
    ): Edge(
        world(web("a", EVENLY, **{"disk": "ssd"}), nodes=OF_DISKS, running=ONE_ON_N),
        good=at(a="m"),
        bad_world=world(
            web("a", EVENLY, **{"placer:claimable": "disk"}), nodes=OF_DISKS, running=ONE_ON_N
        ),
    ),
    "topology-spread: only nodes that its node affinity admits are looked at": Edge(
        world(choosy(EVENLY), nodes=ZONES, running=ONE_ON_N),
        good=at(choosy="m"),
        bad_world=world(choosy(replace(EVENLY, by_selector=False)), nodes=ZONES, running=ONE_ON_N),
    ),
    "topology-spread: with fewer zones than are wanted each may have so many as the skew": Edge(
        world(*(web(name, replace(EVENLY, min_domains=3)) for name in "abc"), nodes=ZONES),
        good=at(a="n", b="o"),
        bad=at(a="n", b="o", c="m"),
    ),
    "topology-spread: closed nodes count, but not to who honors taints": Edge(
        world(web("a", replace(EVENLY, by_taints=True)), nodes=CORDONED, running=ONE_ON_N),
        good=at(a="m"),
        bad_world=world(web("a", EVENLY), nodes=CORDONED, running=ONE_ON_N),
    ),
    (
        "topology-spread: nodes with taints that a pod does not tolerate "
        "count, but not to who honors taints"
    ): Edge(
        world(web("a", replace(EVENLY, by_taints=True)), nodes=TAINTED, running=ONE_ON_N),
        good=at(a="m"),
        bad_world=world(
            tolerant("a", replace(EVENLY, by_taints=True)), nodes=TAINTED, running=ONE_ON_N
        ),
    ),
    "topology-spread: each constraint is to be kept: over zones and over nodes": Edge(
        world(web("a", *TWICE), web("b", *TWICE), web("c", *TWICE), nodes=ZONES[:3]),
        good=at(a="n", b="o", c="m"),
        bad=at(a="n", b="o", c="n"),
        bad_world=world(
            web("a", *TWICE),
            web("b", *TWICE),
            web("c", *TWICE),
            nodes=ZONES[:3],
            running=[(web("r"), on("r", "o"))],
        ),
    ),
    "topology-spread: only nodes in a domain of every key are looked at": Edge(
        world(web("a", EVENLY, BY_RACK), web("b", EVENLY, BY_RACK), nodes=RACKED),
        good=at(a="n", b="n"),
        bad=at(a="n", b="m"),
    ),
    (
        "topology-spread: the keys of preferred constraints are asked of no "
        "node that a required one looks at"
    ): Edge(
        world(web("a", *WISHED_RACKS), web("b", *WISHED_RACKS), nodes=RACKED),
        good=at(a="n", b="m"),
        bad=at(a="n", b="n"),
    ),
    "topology-spread: pods of other namespaces do not count": Edge(
        world(
            A,
            nodes=ZONES,
            running=[
                (replace(PLAIN, namespace="team"), replace(on("plain", "n"), namespace="team"))
            ],
        ),
        good=at(a="m"),
        bad_world=world(A, nodes=ZONES, running=[(PLAIN, on("plain", "n"))]),
    ),
}
