"""The edges of the rules about pods that want to be together or apart."""

from dataclasses import replace

from judge.hand import ALL_CPUS, Case, node, placed, pod, put, world
from placer_models.affinity import AffinityTerm
from placer_models.cluster import Node
from placer_models.placement import PodPlacement
from placer_models.pod import Pod
from placer_models.policy import QosClass, Strength
from placer_models.selectors import LabelExpression, SelectorOperator

NODES = (node("n"), node("m"))
WITH_DB = AffinityTerm((("app", "db"),))
NOT_WITH_DB = AffinityTerm((("app", "db"),), apart=True)
WISH_NO_DB = replace(NOT_WITH_DB, strength=Strength.PREFERRED)


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

AFFINITY_CASES = (
    Case(
        "affinity",
        "one in the same zone is company, another zone is not",
        world(NEAR, DB, nodes=ZONES),
        good=placed(on("near", "n"), on("db", "m")),
        bad=placed(on("near", "n"), on("db", "o")),
    ),
    Case(
        "affinity",
        "a node of no zone has no company, not even on itself",
        world(NEAR, DB, nodes=ZONES),
        good=placed(on("near", "m"), on("db", "m")),
        bad=placed(on("near", "p"), on("db", "p")),
    ),
    Case(
        "affinity",
        "the first of its kind comes to some zone, wherever others are that are in none",
        world(BEGINNER, nodes=ZONES, running=[(OTHER_DB, on("other", "p"))]),
        good=placed(on("beginner", "o")),
        bad=placed(on("beginner", "p")),
    ),
    Case(
        "affinity",
        "a level of the network is a domain, too",
        world(app("near", "web", replace(WITH_DB, topology="rack")), DB, nodes=RACKS),
        good=placed(on("near", "n"), on("db", "m")),
        bad=placed(on("near", "n"), on("db", "o")),
    ),
    Case(
        "affinity",
        "pods of a namespace that is named are meant, and of every one",
        world(
            app("near", "web", replace(WITH_DB, namespaces=("team",))),
            nodes=NODES,
            running=[(STRANGER, replace(on("db", "n"), namespace="team"))],
        ),
        good=placed(on("near", "n")),
        bad=placed(on("near", "m")),
    ),
    Case(
        "anti-affinity",
        "nobody in the zone is meant; who is in none is in nobody's way",
        world(FAR, DB, nodes=ZONES),
        good=placed(on("far", "p"), on("db", "p")),
        bad=placed(on("far", "n"), on("db", "m")),
    ),
    Case(
        "anti-affinity",
        "a running pod keeps others off its zone",
        world(DB, nodes=ZONES, running=[(FAR, on("far", "n"))]),
        good=placed(on("db", "o")),
        bad=placed(on("db", "m")),
    ),
    Case(
        "anti-affinity",
        "expressions say whom it means",
        world(app("shy", "db", NO_WEB), app("web", "web"), app("db", "db"), nodes=NODES),
        good=placed(on("shy", "n"), on("db", "n"), on("web", "m")),
        bad=placed(on("shy", "n"), on("db", "m"), on("web", "n")),
    ),
    Case(
        "affinity",
        "a pod that is meant is on the node",
        world(WEB, DB, nodes=NODES),
        good=placed(on("web", "n"), on("db", "n")),
        bad=placed(on("web", "n"), on("db", "m")),
    ),
    Case(
        "affinity",
        "it may be one that runs",
        world(WEB, nodes=NODES, running=[(DB, on("db", "m"))]),
        good=placed(on("web", "m")),
        bad=placed(on("web", "n")),
    ),
    Case(
        "affinity",
        "pods of other namespaces are not meant",
        world(WEB, DB, nodes=NODES),
        good=placed(on("web", "n"), on("db", "n")),
        bad=placed(on("web", "n")),
        bad_world=world(
            WEB, nodes=NODES, running=[(STRANGER, replace(on("db", "n"), namespace="team"))]
        ),
    ),
    Case(
        "affinity",
        "the first of its kind needs nobody, while there is nobody else",
        world(FIRST, OTHER_DB, nodes=NODES),
        good=placed(on("first", "n")),
        bad=placed(on("first", "n"), on("other", "m")),
    ),
    Case(
        "affinity",
        "two of a kind are together, wherever that is",
        world(FIRST, SECOND, nodes=NODES),
        good=placed(on("first", "m"), on("second", "m")),
        bad=placed(on("first", "n"), on("second", "m")),
    ),
    Case(
        "anti-affinity",
        "no pod that is meant is on the node",
        world(SHY, DB, nodes=NODES),
        good=placed(on("shy", "n"), on("db", "m")),
        bad=placed(on("shy", "n"), on("db", "n")),
    ),
    Case(
        "anti-affinity",
        "nor one that runs",
        world(SHY, nodes=NODES, running=[(DB, on("db", "m"))]),
        good=placed(on("shy", "n")),
        bad=placed(on("shy", "m")),
    ),
    Case(
        "anti-affinity",
        "a running pod's binds who comes to it",
        world(DB, nodes=NODES, running=[(SHY, on("shy", "m"))]),
        good=placed(on("db", "n")),
        bad=placed(on("db", "m")),
    ),
    Case(
        "anti-affinity",
        "but neither whom it does not mean, nor whom it wants with it",
        world(app("a", "web"), nodes=NODES, running=[(SHY, on("shy", "n"))]),
        good=placed(on("a", "n")),
        bad=placed(on("db", "n")),
        bad_world=world(DB, nodes=NODES, running=[(SHY, on("shy", "n"))]),
    ),
    Case(
        "anti-affinity",
        "a running pod that requires one near binds nobody",
        world(DB, nodes=NODES, running=[(WEB, on("web", "n"))]),
        good=placed(on("db", "n")),
        bad=placed(on("db", "n")),
        bad_world=world(DB, nodes=NODES, running=[(SHY, on("shy", "n"))]),
    ),
    Case(
        "anti-affinity",
        "a pod that means its like is apart from it, not from itself",
        world(ALOOF, OTHER_DB, nodes=NODES),
        good=placed(on("aloof", "n"), on("other", "m")),
        bad=placed(on("aloof", "n"), on("other", "n")),
    ),
    Case(
        "anti-affinity",
        "what a running pod only prefers keeps nobody off",
        world(DB, nodes=NODES, running=[(app("r", "web", WISH_NO_DB), on("r", "m"))]),
        good=placed(on("db", "m")),
        bad=placed(on("db", "m")),
        bad_world=world(DB, nodes=NODES, running=[(app("r", "web", NOT_WITH_DB), on("r", "m"))]),
    ),
)
