"""The edges of the rules about pods that are together or apart inside a node (C18)."""

from dataclasses import replace

from judge.hand import ALL_CPUS, Edge, node, pod, put, world
from placer_models.affinity import AffinityTerm, InNodeAffinityLevel
from placer_models.pod import Pod
from placer_models.policy import BindPolicy, QosClass, RequiredOrPreferred

CORE, NUMA = InNodeAffinityLevel.CORE, InNodeAffinityLevel.NUMA
DB = (("app", "db"),)
BY_DB = AffinityTerm(DB, level=CORE)
NEAR_DB = AffinityTerm(DB, level=NUMA)
OFF_DB = AffinityTerm(DB, apart=True, level=CORE)
FAR_FROM_DB = AffinityTerm(DB, apart=True, level=NUMA)
NODES = (node("n"), node("m"))


def owner(name: str, cpu: int, app: str, *terms: AffinityTerm) -> Pod:
    """Return a pod that owns CPUs, whichever way they are bound."""
    spread = BindPolicy.SPREAD_BY_PCPUS
    return pod(name, cpu, bind=spread, labels={"app": app}, affinity=terms)


def wish(term: AffinityTerm) -> AffinityTerm:
    return replace(term, strength=RequiredOrPreferred.PREFERRED)


ONE_DB, TWO_DB = owner("db", 1, "db"), owner("db", 2, "db")
LS_DB = pod("db", 1, qos=QosClass.LS, labels={"app": "db"})

IN_NODE_AFFINITY_EDGES = {
    "affinity: a pod that is meant has the other CPU of the core": Edge(
        world(owner("a", 1, "web", BY_DB), ONE_DB),
        good=[put("a", "0"), put("db", "1")],
        bad=[put("a", "0"), put("db", "2")],
    ),
    "affinity: on every core of the pod, not on one of two": Edge(
        world(owner("a", 2, "web", BY_DB), TWO_DB),
        good=[put("a", "0,2"), put("db", "1,3")],
        bad=[put("a", "0,2"), put("db", "1,4")],
    ),
    "affinity: several pods may keep it company": Edge(
        world(owner("a", 2, "web", BY_DB), ONE_DB, owner("other", 1, "db")),
        good=[put("a", "0,2"), put("db", "1"), put("other", "3")],
        bad=[put("a", "0,2"), put("db", "1"), put("other", "5")],
    ),
    "affinity: a running pod is company, on the core where it is": Edge(
        world(owner("a", 1, "web", BY_DB), running=[(TWO_DB, put("db", "0,4"))]),
        good=put("a", "5"),
        bad=put("a", "3"),
    ),
    "affinity: a pod without CPUs of its own is not meant inside a node": Edge(
        world(owner("a", 1, "web", NEAR_DB), ONE_DB),
        good=[put("a", "0"), put("db", "1")],
        bad=[put("a", "0"), put("db", "1-8")],
        bad_world=world(owner("a", 1, "web", NEAR_DB), LS_DB),
    ),
    "affinity: a pod that is meant owns CPUs of each NUMA node of the pod's": Edge(
        world(owner("a", 2, "web", NEAR_DB), ONE_DB),
        good=[put("a", "0,2"), put("db", "3")],
        bad=[put("a", "0,4"), put("db", "3")],
    ),
    "affinity: CPUs of no NUMA node are shared with nobody": Edge(
        world(owner("a", 1, "web", NEAR_DB), TWO_DB),
        good=[put("a", "1"), put("db", "0,8")],
        bad=[put("a", "8"), put("db", "0,4")],
    ),
    "affinity: the first of its kind needs nobody, while no other owns CPUs anywhere": Edge(
        world(owner("a", 2, "db", BY_DB), nodes=NODES, running=[(LS_DB, put("db", ALL_CPUS))]),
        good=put("a", "0,2"),
        bad_world=world(
            owner("a", 2, "db", BY_DB), nodes=NODES, running=[(ONE_DB, put("db", "0", on="m"))]
        ),
    ),
    "affinity: what running pods want of each other is not asked any more": Edge(
        world(ONE_DB, running=[(owner("r", 1, "web", BY_DB), put("r", "0"))]),
        good=put("db", "2"),
        bad=[put("a", "2"), put("db", "4")],
        bad_world=world(owner("a", 1, "web", BY_DB), ONE_DB),
    ),
    "anti-affinity: no pod that is meant is on a core of the pod's": Edge(
        world(owner("a", 1, "web", OFF_DB), ONE_DB),
        good=[put("a", "0"), put("db", "2")],
        bad=[put("a", "0"), put("db", "1")],
    ),
    "anti-affinity: nor on a NUMA node of the pod's": Edge(
        world(owner("a", 1, "web", FAR_FROM_DB), ONE_DB),
        good=[put("a", "0"), put("db", "4")],
        bad=[put("a", "0"), put("db", "2")],
    ),
    "anti-affinity: CPUs of no NUMA node are no place to meet": Edge(
        world(owner("a", 2, "web", FAR_FROM_DB), ONE_DB),
        good=[put("a", "0,2"), put("db", "8")],
        bad=[put("a", "0,8"), put("db", "2")],
    ),
    "anti-affinity: a running pod's binds who comes to its cores": Edge(
        world(ONE_DB, running=[(owner("r", 1, "web", OFF_DB), put("r", "0"))]),
        good=put("db", "2"),
        bad=put("db", "1"),
    ),
    "anti-affinity: what a running pod only prefers keeps nobody off its cores": Edge(
        world(ONE_DB, running=[(owner("r", 1, "web", wish(OFF_DB)), put("r", "0"))]),
        good=put("db", "1"),
        bad_world=world(ONE_DB, running=[(owner("r", 1, "web", OFF_DB), put("r", "0"))]),
    ),
    "anti-affinity: a pod that means its like keeps it off its NUMA nodes, not itself": Edge(
        world(owner("a", 2, "db", FAR_FROM_DB), ONE_DB),
        good=[put("a", "0,2"), put("db", "4")],
        bad=[put("a", "0,4"), put("db", "6")],
    ),
}
