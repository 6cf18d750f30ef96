"""The edges of the rules about pods that want to be together or apart."""

from dataclasses import replace

from judge.hand import ALL_CPUS, Edge, at, node, pod, put, world
from placer_models.affinity import AffinityTerm
from placer_models.cluster import Node
from placer_models.placement import PodPlacement
from placer_models.pod import Pod
from placer_models.policy import QosClass, RequiredOrPreferred
from placer_models.selectors import LabelExpression, SelectorOperator

NODES = (node("n"), node("m"))
WITH_DB = AffinityTerm((("app", "db"),))
NOT_WITH_DB = AffinityTerm((("app", "db"),), apart=True)
WISH_NO_DB = replace(NOT_WITH_DB, strength=RequiredOrPreferred.PREFERRED)


def app(name: str, kind: str, *terms: AffinityTerm) -> Pod:
    """Return a pod that asks for no amounts."""
    return pod(name, qos=QosClass.LS, labels={"app": kind, "tier": "x"}, affinity=terms)


def on(name: str, where: str) -> PodPlacement:
    return put(name, ALL_CPUS, on=where)


def in_zone(name: str, zone: str) -> Node:
    return replace(node(name), labels=(("zone", zone),))


RACKS = tuple(replace(node(n), domains=(("rack", r),)) for n, r in ("nx", "mx", "oy"))
DB, OTHER_DB = app("db", "db"), app("other", "db")
STRANGER = replace(DB, name="db", namespace="team")
WEB = app("web", "web", WITH_DB)
SHY = app("shy", "web", NOT_WITH_DB)
FIRST, SECOND = app("first", "db", WITH_DB), app("second", "db", WITH_DB)
ALOOF = app("aloof", "db", NOT_WITH_DB)

SAME_ZONE, NOT_SAME_ZONE = replace(WITH_DB, topology="zone"), replace(NOT_WITH_DB, topology="zone")
ZONES = (in_zone("n", "a"), in_zone("m", "a"), in_zone("o", "b"), node("p"))
NEAR, FAR = app("near", "web", SAME_ZONE), app("far", "web", NOT_SAME_ZONE)
BEGINNER = app("beginner", "db", SAME_ZONE)
NO_WEB = AffinityTerm(
    (), apart=True, expressions=(LabelExpression("app", SelectorOperator.NOT_IN, ("db", "cache")),)
)

AFFINITY_EDGES = {
    "affinity: one in the same zone is company, another zone is not": Edge(
        world(NEAR, DB, nodes=ZONES), good=at(near="n", db="m"), bad=at(near="n", db="o")
    ),
    "affinity: a node of no zone has no company, not even on itself": Edge(
        world(NEAR, DB, nodes=ZONES), good=at(near="m", db="m"), bad=at(near="p", db="p")
    ),
    (
        "affinity: the first of its kind comes to some zone, wherever others are that are in none"
    ): Edge(
        world(BEGINNER, nodes=ZONES, running=[(OTHER_DB, on("other", "p"))]),
        good=at(beginner="o"),
        bad=at(beginner="p"),
    ),
    "affinity: a level of the network is a domain, too": Edge(
        world(app("near", "web", replace(WITH_DB, topology="rack")), DB, nodes=RACKS),
        good=at(near="n", db="m"),
        bad=at(near="n", db="o"),
    ),
    "affinity: pods of a namespace that is named are meant, and of every one": Edge(
        world(
            app("near", "web", replace(WITH_DB, namespaces=("team",))),
            nodes=NODES,
            running=[(STRANGER, replace(on("db", "n"), namespace="team"))],
        ),
        good=at(near="n"),
        bad=at(near="m"),
    ),
    "anti-affinity: nobody in the zone is meant; who is in none is in nobody's way": Edge(
        world(FAR, DB, nodes=ZONES), good=at(far="p", db="p"), bad=at(far="n", db="m")
    ),
    "anti-affinity: a running pod keeps others off its zone": Edge(
        world(DB, nodes=ZONES, running=[(FAR, on("far", "n"))]), good=at(db="o"), bad=at(db="m")
    ),
    "anti-affinity: expressions say whom it means": Edge(
        world(app("shy", "db", NO_WEB), app("web", "web"), app("db", "db"), nodes=NODES),
        good=at(shy="n", db="n", web="m"),
        bad=at(shy="n", db="m", web="n"),
    ),
    "affinity: a pod that is meant is on the node": Edge(
        world(WEB, DB, nodes=NODES), good=at(web="n", db="n"), bad=at(web="n", db="m")
    ),
    "affinity: it may be one that runs": Edge(
        world(WEB, nodes=NODES, running=[(DB, on("db", "m"))]), good=at(web="m"), bad=at(web="n")
    ),
    "affinity: pods of other namespaces are not meant": Edge(
        world(WEB, DB, nodes=NODES),
        good=at(web="n", db="n"),
        bad=at(web="n"),
        bad_world=world(
            WEB, nodes=NODES, running=[(STRANGER, replace(on("db", "n"), namespace="team"))]
        ),
    ),
    "affinity: the first of its kind needs nobody, while there is nobody else": Edge(
        world(FIRST, OTHER_DB, nodes=NODES), good=at(first="n"), bad=at(first="n", other="m")
    ),
    "affinity: two of a kind are together, wherever that is": Edge(
        world(FIRST, SECOND, nodes=NODES),
        good=at(first="m", second="m"),
        bad=at(first="n", second="m"),
    ),
    "anti-affinity: no pod that is meant is on the node": Edge(
        world(SHY, DB, nodes=NODES), good=at(shy="n", db="m"), bad=at(shy="n", db="n")
    ),
    "anti-affinity: nor one that runs": Edge(
        world(SHY, nodes=NODES, running=[(DB, on("db", "m"))]), good=at(shy="n"), bad=at(shy="m")
    ),
    "anti-affinity: a running pod's binds who comes to it": Edge(
        world(DB, nodes=NODES, running=[(SHY, on("shy", "m"))]), good=at(db="n"), bad=at(db="m")
    ),
    "anti-affinity: but neither whom it does not mean, nor whom it wants with it": Edge(
        world(app("a", "web"), nodes=NODES, running=[(SHY, on("shy", "n"))]),
        good=at(a="n"),
        bad=at(db="n"),
        bad_world=world(DB, nodes=NODES, running=[(SHY, on("shy", "n"))]),
    ),
    "anti-affinity: a running pod that requires one near binds nobody": Edge(
        world(DB, nodes=NODES, running=[(WEB, on("web", "n"))]),
        good=at(db="n"),
        bad_world=world(DB, nodes=NODES, running=[(SHY, on("shy", "n"))]),
    ),
    "anti-affinity: a pod that means its like is apart from it, not from itself": Edge(
        world(ALOOF, OTHER_DB, nodes=NODES),
        good=at(aloof="n", other="m"),
        bad=at(aloof="n", other="n"),
    ),
    "anti-affinity: what a running pod only prefers keeps nobody off": Edge(
        world(DB, nodes=NODES, running=[(app("r", "web", WISH_NO_DB), on("r", "m"))]),
        good=at(db="m"),
        bad_world=world(DB, nodes=NODES, running=[(app("r", "web", NOT_WITH_DB), on("r", "m"))]),
    ),
}
