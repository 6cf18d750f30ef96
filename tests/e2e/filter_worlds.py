"""Random dumps for filters: a few nodes, pods that run, and one pod that waits.

Each says which words it has beside those that every world may have (`world_words`).
"""

from dataclasses import dataclass
from random import Random
from typing import Any

from e2e.storage_objects import HOSTNAME, ZONE
from e2e.world_words import GPU, ZONES, WorldWords
from kubernetes_worlds import REQUIRED, Json, node, pod

ASKED = "default/p"

APPS = ("a", "b", "c")


@dataclass(frozen=True)
class World:
    """A random dump.

    Attributes:
        objects: The cluster; the pod `ASKED` waits.
        words: The words of `known_differences` that it has, a cordon among them.

    """

    objects: tuple[Json, ...]
    words: frozenset[str]


def filter_world(draw: Random) -> World:
    """Return a small cluster in which one pod waits."""
    gpus = draw.random() < 0.3
    nodes = [_node(draw, f"n{i}", gpus) for i in range(draw.randrange(2, 6))]
    running = [_running(draw, f"r{i}", nodes, gpus) for i in range(draw.randrange(0, 9))]
    asked = _asked(draw, gpus)
    world = WorldWords(draw, nodes, running, asked)
    if draw.random() < 0.7:
        world.add(draw.choice((1, 1, 1, 2, 3)))
    objects = (*world.nodes, *world.running, world.asked, *world.others)
    return World(objects, frozenset(world.words))


def _node(draw: Random, name: str, gpus: bool) -> Json:
    labels = {"disk": draw.choice(("ssd", "hdd")), "rank": str(draw.randrange(4))}
    if draw.random() < 0.85:
        labels[ZONE] = draw.choice(ZONES)
    amounts = {
        "cpu": draw.choice(("2", "4", "5500m", "8", "16")),
        "memory": draw.choice(("4Gi", "16Gi", "6000Mi")),
        "pods": draw.choice(("2", "4", "110", "110")),
    }
    if draw.random() < 0.3:
        amounts["ephemeral-storage"] = draw.choice(("1Gi", "20Gi"))
    if draw.random() < 0.3:
        amounts["example.com/token"] = draw.choice(("1", "3"))
    if gpus and draw.random() < 0.8:
        amounts[GPU] = draw.choice(("1", "4"))
    spec: Json = {"taints": [_taint(draw) for _ in range(draw.choice((0, 0, 0, 0, 1, 2)))]}
    if draw.random() < 0.1:
        spec["unschedulable"] = True
        spec["taints"].append({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"})
    return node(name, labels=labels, amounts=amounts, **spec)


def _taint(draw: Random) -> Json:
    value = draw.choice(({}, {"value": "x"}, {"value": "3"}))
    effect = draw.choice(("NoSchedule", "NoSchedule", "NoExecute", "PreferNoSchedule"))
    return {"key": draw.choice(("spot", "team")), "effect": effect, **value}


def _amounts(draw: Random, gpus: bool) -> dict[str, str]:
    asked = {}
    if draw.random() < 0.85:
        asked["cpu"] = draw.choice(("100m", "500m", "500m", "1500m", "3"))
    if draw.random() < 0.85:
        asked["memory"] = draw.choice(("100Mi", "100Mi", "1Gi", "3Gi"))
    if draw.random() < 0.1:
        asked["ephemeral-storage"] = draw.choice(("500Mi", "2Gi"))
    if draw.random() < 0.1:
        asked["example.com/token"] = draw.choice(("1", "2"))
    if gpus and draw.random() < 0.5:
        asked[GPU] = draw.choice(("1", "2"))
    return asked


def _pod(draw: Random, name: str, gpus: bool, **spec: Any) -> Json:
    amounts = _amounts(draw, gpus)
    limits = {key: value for key, value in amounts.items() if key in (GPU, "example.com/token")}
    labels = {"app": draw.choice(APPS), **({"rev": "1"} if draw.random() < 0.5 else {})}
    where = draw.choice(("default", "default", "other")) if name != "p" else "default"
    found = pod(name, amounts, limits=limits, labels=labels, namespace=where, **spec)
    if draw.random() < 0.15:
        asked = {"requests": {"cpu": draw.choice(("200m", "2")), "memory": "2Gi"}}
        first: Json = {"name": "first", "resources": asked}
        if draw.random() < 0.5:
            first["restartPolicy"] = "Always"
        found["spec"]["initContainers"] = [first]
    if draw.random() < 0.1:
        found["spec"]["overhead"] = {"cpu": "250m", "memory": "128Mi"}
    if draw.random() < 0.1:
        found["spec"]["containers"].append({"name": "second", "resources": {"requests": amounts}})
    return found


def _running(draw: Random, name: str, nodes: list[Json], gpus: bool) -> Json:
    where = draw.choice(nodes)
    gpus = gpus and GPU in where["status"]["allocatable"]
    found = _pod(draw, name, gpus, nodeName=where["metadata"]["name"])
    if draw.random() < 0.1:
        found["spec"]["affinity"] = {"podAntiAffinity": {REQUIRED: [_term(draw)]}}
    if draw.random() < 0.1:
        found["status"]["phase"] = draw.choice(("Succeeded", "Failed"))
    return found


def _asked(draw: Random, gpus: bool) -> Json:
    """Return the pod that waits, with one or two things that it asks of nodes and pods."""
    spec: Json = {}
    if draw.random() < 0.5:
        spec["tolerations"] = [_toleration(draw) for _ in range(draw.choice((1, 2)))]
    affinity: Json = {}
    for wish in draw.sample(("selector", "node", "near", "apart", "spread", "spread"), 2):
        terms = {REQUIRED: [_term(draw) for _ in range(draw.choice((1, 1, 2)))]}
        if wish == "selector" and draw.random() < 0.5:
            spec["nodeSelector"] = {"disk": draw.choice(("ssd", "hdd"))}
        elif wish == "node":
            affinity["nodeAffinity"] = _node_affinity(draw)
        elif wish == "near" and draw.random() < 0.5:
            affinity["podAffinity"] = terms
        elif wish == "apart":
            affinity["podAntiAffinity"] = terms
        elif wish == "spread":
            spread = [_spread(draw) for _ in range(draw.choice((1, 1, 2)))]
            by_key = {one["topologyKey"]: one for one in spread}
            spec["topologySpreadConstraints"] = list(by_key.values())
    if affinity:
        spec["affinity"] = affinity
    return _pod(draw, "p", gpus, **spec)


def _toleration(draw: Random) -> Json:
    effect = draw.choice(({}, {"effect": "NoSchedule"}, {"effect": "NoExecute"}))
    key = {"key": draw.choice(("spot", "team"))}
    return {
        **draw.choice(
            (
                {**key, "operator": "Exists"},
                {**key, "operator": "Exists"},
                {**key, "operator": "Equal", "value": "x"},
                {**key, "value": "x"},
                {"operator": "Exists"},
            )
        ),
        **effect,
    }


def _node_affinity(draw: Random) -> Json:
    def expression() -> Json:
        return draw.choice(
            (
                {"key": "disk", "operator": "In", "values": ["ssd"]},
                {"key": "disk", "operator": "NotIn", "values": ["ssd", "nvme"]},
                {"key": ZONE, "operator": "Exists"},
                {"key": ZONE, "operator": "DoesNotExist"},
                {"key": ZONE, "operator": "In", "values": ["z1", "z2"]},
                {"key": "rank", "operator": "Gt", "values": ["1"]},
                {"key": "rank", "operator": "Lt", "values": ["2"]},
                {"key": "none", "operator": "NotIn", "values": ["x"]},
            )
        )

    terms: list[Json] = []
    for _ in range(draw.choice((1, 1, 2))):
        term: Json = {"matchExpressions": [expression() for _ in range(draw.choice((1, 2)))]}
        if draw.random() < 0.2:
            field = {"key": "metadata.name", "operator": draw.choice(("In", "NotIn"))}
            term["matchFields"] = [{**field, "values": ["n0"]}]
        terms.append(term)
    return {REQUIRED: {"nodeSelectorTerms": terms}}


def _selector(draw: Random) -> Json:
    values = draw.sample(APPS, 2)
    return draw.choice(
        (
            {"matchLabels": {"app": draw.choice(APPS)}},
            {"matchLabels": {"app": draw.choice(APPS)}},
            {"matchExpressions": [{"key": "app", "operator": "In", "values": values}]},
            {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": values}]},
            {"matchExpressions": [{"key": "rev", "operator": "Exists"}]},
        )
    )


def _term(draw: Random) -> Json:
    term = {"labelSelector": _selector(draw), "topologyKey": draw.choice((HOSTNAME, ZONE))}
    if draw.random() < 0.3:
        term["namespaces"] = draw.choice((["other"], ["default", "other"]))
    return term


def _spread(draw: Random) -> Json:
    found: Json = {
        "maxSkew": draw.choice((1, 1, 2)),
        "topologyKey": draw.choice((HOSTNAME, ZONE, ZONE)),
        "whenUnsatisfiable": draw.choice(("DoNotSchedule",) * 3 + ("ScheduleAnyway",)),
        "labelSelector": _selector(draw),
    }
    if found["whenUnsatisfiable"] == "DoNotSchedule" and draw.random() < 0.2:
        found["minDomains"] = draw.choice((2, 4))
    if draw.random() < 0.2:
        found["nodeAffinityPolicy"] = draw.choice(("Ignore", "Honor"))
    if draw.random() < 0.3:
        found["nodeTaintsPolicy"] = draw.choice(("Ignore", "Honor"))
    if draw.random() < 0.15:
        found["matchLabelKeys"] = ["rev"]
    return found
