"""Random dumps for filters: a few nodes, pods that run, and one pod that waits.

Words that Placer and kube-scheduler are known to differ on are drawn, too, and each world says
which of them it has (`known_differences.WORDS`).
"""

from dataclasses import dataclass
from random import Random
from typing import Any

from claim_worlds import claim, claiming, device_class, gpu_listed, request, resource_slice
from e2e.storage_objects import (
    DRIVER,
    HOSTNAME,
    ZONE,
    csi_node,
    csi_volume,
    ephemeral,
    one_of,
    storage_class,
    volume,
    volume_claim,
    with_claim,
)
from kubernetes_worlds import Json, node, pod

ASKED = "default/p"

APPS = ("a", "b", "c")
ZONES = ("z1", "z2", "z3")
GPU = "nvidia.com/gpu"


@dataclass(frozen=True)
class World:
    """A random dump.

    Attributes:
        objects: The cluster; the pod `ASKED` waits.
        words: Words of `known_differences.WORDS` that it has, a cordon among them.

    """

    objects: tuple[Json, ...]
    words: frozenset[str]


def filter_world(draw: Random) -> World:
    """Return a small cluster in which one pod waits."""
    gpus = draw.random() < 0.3
    nodes = [_node(draw, f"n{i}", gpus) for i in range(draw.randrange(2, 6))]
    running = [_running(draw, f"r{i}", nodes, gpus) for i in range(draw.randrange(0, 9))]
    asked = _asked(draw, gpus)
    world = _World(draw, nodes, running, asked)
    if draw.random() < 0.5:
        draw.choice(
            (
                *(world.add_volume,) * 3,
                world.add_ports,
                world.add_namespaces,
                world.add_topology_keys,
                world.add_leaving,
                world.add_empty_selector,
                world.add_nominated,
                world.add_conditions,
                world.add_features,
                *(world.add_claim,) * 2,
            )
        )()
    objects = (*nodes, *world.running, world.asked, *world.others)
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
        required = "requiredDuringSchedulingIgnoredDuringExecution"
        found["spec"]["affinity"] = {"podAntiAffinity": {required: [_term(draw)]}}
    if draw.random() < 0.1:
        found["status"]["phase"] = draw.choice(("Succeeded", "Failed"))
    return found


def _asked(draw: Random, gpus: bool) -> Json:
    """Return the pod that waits, with one or two things that it asks of nodes and pods."""
    spec: Json = {}
    if draw.random() < 0.5:
        spec["tolerations"] = [_toleration(draw) for _ in range(draw.choice((1, 2)))]
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    affinity: Json = {}
    for wish in draw.sample(("selector", "node", "near", "apart", "spread", "spread"), 2):
        terms = {required: [_term(draw) for _ in range(draw.choice((1, 1, 2)))]}
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
    return {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}


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


def _containers(of: Json) -> list[Json]:
    return [*of["spec"]["containers"], *of["spec"].get("initContainers", [])]


class _World:
    """A world that gets one more word.

    Attributes:
        others: Objects that are neither nodes nor pods.
        words: Those that it got.

    """

    def __init__(self, draw: Random, nodes: list[Json], running: list[Json], asked: Json) -> None:
        self._draw = draw
        self._nodes = nodes
        self.running = running
        self.asked = asked
        self.others: list[Json] = []
        cordoned = any(one["spec"].get("unschedulable") for one in nodes)
        self.words = {"cordons and conditions"} if cordoned else set()

    def add_volume(self) -> None:
        """Add a volume, of any kind."""
        self.words.add("persistent volumes")
        draw = self._draw
        where = draw.choice(
            (
                None,
                one_of(HOSTNAME, draw.choice(self._nodes)["metadata"]["name"]),
                one_of(ZONE, draw.choice(ZONES)),
            )
        )
        self.asked["spec"].update(with_claim("c"))
        kind = draw.choice(("bound", "csi", "local", "zones", "missing", "ephemeral", "shared"))
        if kind in ("bound", "shared"):
            labels = {ZONE: draw.choice(("z1", "z1__z2"))} if draw.random() < 0.4 else {}
            mode = draw.choice(("ReadWriteOnce", "ReadWriteOncePod"))
            self.others += [
                volume("v", "c", where, labels=labels),
                volume_claim("c", "v", mode=mode),
            ]
            if kind == "shared" and self.running:
                holder = draw.choice(self.running)
                holder["spec"].update(with_claim("c"))
        elif kind == "csi":
            limits = [csi_node(one["metadata"]["name"], draw.choice((1, 2))) for one in self._nodes]
            self.others += [csi_volume("v", "c", where), volume_claim("c", "v"), *limits]
            for i, holder in enumerate(self.running[:3]):
                holder["metadata"]["namespace"] = "default"
                holder["spec"].update(with_claim(f"d{i}"))
                self.others += [csi_volume(f"w{i}", f"d{i}"), volume_claim(f"d{i}", f"w{i}")]
        elif kind == "local":
            mode = draw.choice(("WaitForFirstConsumer", "WaitForFirstConsumer", "Immediate"))
            sizes = draw.choice(("10Gi", "1Gi"))
            self.others += [storage_class(mode=mode), volume_claim("c")]
            self.others += [volume("v", where=where, storage=sizes)]
        elif kind == "zones":
            zones = draw.choice(([], ["z1"], ["z1", "z2"]))
            self.others += [storage_class("dynamic", DRIVER, zones=zones)]
            self.others += [volume_claim("c", of_class="dynamic")]
        elif kind == "ephemeral":
            self.asked["spec"].update(ephemeral())

    def add_ports(self) -> None:
        """Add host ports, of containers and sidecars."""
        self.words.add("host ports")
        for one in (*self.running, self.asked):
            if self._draw.random() < 0.7:
                port = {"containerPort": 80, "hostPort": self._draw.choice((80, 81))}
                address = self._draw.choice(({}, {"hostIP": "10.0.0.1"}, {"hostIP": "0.0.0.0"}))
                protocol = self._draw.choice(({}, {"protocol": "UDP"}))
                lists = [one["spec"]["containers"], one["spec"].get("initContainers", [])]
                there = self._draw.choice([some for some in lists if some])
                there[0]["ports"] = [port | address | protocol]

    def add_namespaces(self) -> None:
        """Add a selector of namespaces to each term."""
        self.words.add("namespaces")
        for name in ("default", "other"):
            labels = {"team": self._draw.choice(("x", "y"))}
            metadata = {"name": name, "labels": labels}
            self.others.append({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
        for one in (*self.running, self.asked):
            for kind in one["spec"].get("affinity", {}).values():
                for term in kind["requiredDuringSchedulingIgnoredDuringExecution"]:
                    if "topologyKey" in term:
                        chosen = self._draw.choice(({}, {"matchLabels": {"team": "x"}}))
                        term["namespaceSelector"] = chosen

    def add_topology_keys(self) -> None:
        """Take host names from nodes, or ask for a key that no node has."""
        self.words.add("topology keys")
        if self._draw.random() < 0.5:
            for one in self._nodes:
                if self._draw.random() < 0.5:
                    del one["metadata"]["labels"][HOSTNAME]
            return
        for one in (*self.running, self.asked):
            for kind in one["spec"].get("affinity", {}).values():
                for term in kind["requiredDuringSchedulingIgnoredDuringExecution"]:
                    if "topologyKey" in term and self._draw.random() < 0.5:
                        term["topologyKey"] = "node"

    def add_leaving(self) -> None:
        """Have some running pods being deleted."""
        self.words.add("pods being deleted")
        for one in self.running:
            if self._draw.random() < 0.5:
                one["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"

    def add_empty_selector(self) -> None:
        """Have the pod spread over all pods."""
        self.words.add("empty selectors")
        wanted = {"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}
        key = self._draw.choice((HOSTNAME, ZONE))
        self.asked["spec"]["topologySpreadConstraints"] = [{**wanted, "topologyKey": key}]

    def add_nominated(self) -> None:
        """Add a pod that waits for a node that was freed for it."""
        self.words.add("nominated pods")
        first = pod("first", {"cpu": self._draw.choice(("1", "2", "3"))})
        first["spec"]["priority"] = self._draw.choice((0, 10, -10))
        first["status"]["nominatedNodeName"] = self._draw.choice(self._nodes)["metadata"]["name"]
        self.others.append(first)

    def add_conditions(self) -> None:
        """Have nodes without a taint that are not ready, and pods that tolerate cordons."""
        self.words.add("cordons and conditions")
        for one in self._nodes:
            if self._draw.random() < 0.4:
                one["status"]["conditions"] = [{"type": "Ready", "status": "False"}]
        self.asked["spec"].setdefault("tolerations", []).append({"operator": "Exists"})

    def add_features(self) -> None:
        """Have some nodes declare features, ascending, and the pod need one."""
        self.words.add("declared features")
        users, restart = (
            "UserNamespacesHostNetworkSupport",
            "RestartAllContainersOnContainerExits",
        )
        for one in self._nodes:
            declared = [name for name in (restart, users) if self._draw.random() < 0.6]
            one["status"]["declaredFeatures"] = declared
        if self._draw.random() < 0.5:
            self.asked["spec"].update(hostNetwork=True, hostUsers=False)
        else:
            rule = {"action": "RestartAllContainers", "exitCodes": {"operator": "In"}}
            lists = [self.asked["spec"]["containers"], self.asked["spec"].get("initContainers", [])]
            there = self._draw.choice([some for some in lists if some])
            there[0]["restartPolicyRules"] = [rule]

    def add_claim(self) -> None:
        """Add drivers' devices, and a claim on some.

        To Placer the GPUs that a node counts and those that it lists are the same ones, so nodes
        do one or the other, and the pod asks for them once.
        """
        draw = self._draw
        for container in _containers(self.asked):
            for amounts in container["resources"].values():
                amounts.pop(GPU, None)
        self.others += [device_class(), device_class("any", "device.driver == 'gpu.nvidia.com'")]
        for one in self._nodes:
            if draw.random() < 0.6 and GPU not in one["status"]["allocatable"]:
                sizes = [
                    draw.choice(("80Gi", "80Gi", "10Gi")) for _ in range(draw.choice((1, 2, 4)))
                ]
                listed = [
                    gpu_listed(i, capacity={"memory": {"value": size}})
                    for i, size in enumerate(sizes)
                ]
                name = one["metadata"]["name"]
                self.others.append(resource_slice(name, listed))
        kind = draw.choice(("plain", "selected", "selected", "first", "shared", "extended"))
        asked = request("gpus", count=draw.choice((1, 2)))
        if kind == "selected":
            big = "device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('40Gi')) >= 0"
            asked = request("gpus", big)
        if kind == "first":
            either = [
                {"name": f"of{count}", "deviceClassName": "gpu", "count": count}
                for count in draw.sample((1, 2, 4, 8), 2)
            ]
            asked = {"name": "gpus", "firstAvailable": either}
        self.words.add("alternatives of claims" if kind == "first" else "claims")
        if kind == "extended":
            big = "device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('40Gi')) >= 0"
            self.others.append(device_class("big", big, extendedResourceName="example.com/big"))
            amounts = {"example.com/big": draw.choice(("1", "2"))}
            for listed in self.asked["spec"]["containers"][0]["resources"].values():
                listed.update(amounts)
            return
        self.others.append(claim("c", asked))
        if kind == "shared":
            self.others.append(claiming("q", {"c": "c"}))  # it comes after the pod that is asked
        spec = claiming("p")["spec"]
        self.asked["spec"]["resourceClaims"] = spec["resourceClaims"]
        self.asked["spec"]["containers"][0]["resources"]["claims"] = [{"name": "c"}]
