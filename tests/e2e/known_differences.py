"""Known differences: small clusters where Placer and kube-scheduler do not agree yet, as data.

Each row is one word of Kubernetes in a cluster of two or three nodes, and one pod ``default/p``
that waits. `kube_scheduler` is what kube-scheduler's filters say of it, and `placer` what Placer
says while that is still to be mended. Where Placer is stricter on purpose, `on_purpose` is what it
is to say, with the reason.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from claim_worlds import claim, claiming, device_class, gpu_listed, request, resource_slice
from e2e.storage_objects import (
    DRIVER,
    HOSTNAME,
    ZONE,
    attachment,
    capacity,
    csi_driver,
    csi_node,
    csi_volume,
    ephemeral,
    one_of,
    storage_class,
    volume,
    volume_claim,
    with_claim,
)
from kubernetes_worlds import REQUIRED, Json, device, node, pod, spreading

ASKED = "default/p"


@dataclass(frozen=True)
class Row:
    """One word in a small cluster.

    Attributes:
        word: The word of Kubernetes that it is about, in `WORDS` while it is to be mended.
        name: The case.
        objects: The cluster.
        kube_scheduler: Nodes that kube-scheduler's filters leave, by their names.
        placer: Nodes that Placer offers as long as it is not mended.
        on_purpose: Nodes that Placer is to offer where it is stricter on purpose, and the reason.

    """

    word: str
    name: str
    objects: tuple[Json, ...]
    kube_scheduler: str
    placer: str | None = None
    on_purpose: tuple[str, str] | None = None

    @property
    def theirs(self) -> frozenset[str]:
        """What kube-scheduler's filters leave."""
        return frozenset(self.kube_scheduler.split())

    @property
    def wanted(self) -> frozenset[str]:
        """What Placer is to offer."""
        return self.theirs if self.on_purpose is None else frozenset(self.on_purpose[0].split())

    @property
    def ours(self) -> frozenset[str]:
        """What Placer offers today."""
        return self.wanted if self.placer is None else frozenset(self.placer.split())


WORDS: Mapping[str, str] = {}
"""Words whose rules are still to be mended -> the item of the plan that mends them."""


def rows() -> Iterator[Row]:
    """Yield all rows."""
    yield from _volumes()
    yield from _attaching()
    yield from _ports()
    yield from _namespaces()
    yield from _topology_keys()
    yield from _spread()
    yield from _nominated()
    yield from _claims()
    yield from _declared_features()
    yield from _bad_objects()
    yield from _conditions()


def two_nodes(**more: Any) -> tuple[Json, Json]:
    """Return two nodes in a zone each."""
    return node("n1", labels={ZONE: "z1"}, **more), node("n2", labels={ZONE: "z2"}, **more)


def _volumes() -> Iterator[Row]:
    word, nodes = "persistent volumes", two_nodes()
    asked = pod(**with_claim("c"))
    bound = volume_claim("c", "v")
    on_n2 = volume("v", "c", one_of(HOSTNAME, "n2"))
    dynamic = storage_class("dynamic", DRIVER)
    wanted = volume_claim("c", of_class="dynamic")

    def row(name: str, *objects: Json, kube: str) -> Row:
        return Row(word, name, (*nodes, *objects), kube)

    yield row("a volume on one node", on_n2, bound, asked, kube="n2")
    for key in (ZONE, "failure-domain.beta.kubernetes.io/zone"):
        there = volume("v", "c", labels={key: "z2"})
        old = tuple(
            {
                **one,
                "metadata": {**one["metadata"], "labels": {**one["metadata"]["labels"], key: z}},
            }
            for one, z in zip(nodes, ("z1", "z2"), strict=True)
        )
        yield Row(word, f"a volume labelled {key}", (*old, there, bound, asked), "n2")
    several = volume("v", "c", labels={ZONE: "z2__z3"})
    yield row("a volume in one of two zones", several, bound, asked, kube="n2")
    class_in_z2 = storage_class("dynamic", DRIVER, zones=["z2"])
    yield row("a class for one zone", class_in_z2, wanted, asked, kube="n2")
    yield row("a claim that any node serves", dynamic, wanted, asked, kube="n1 n2")
    free = volume("v", where=one_of(HOSTNAME, "n2"))
    unbound = volume_claim("c")
    local = storage_class()
    yield row("a free local volume", local, free, unbound, asked, kube="n2")
    small = volume("v", where=one_of(HOSTNAME, "n2"), storage="1Gi")
    yield row("a local volume too small", local, small, unbound, asked, kube="")
    yield row("a claim that is not there", asked, kube="")
    lost = volume_claim("c", "v", phase="Lost")
    yield row("a claim that is lost", lost, asked, kube="")
    now = storage_class(mode="Immediate")
    yield row("a claim bound at once", now, unbound, asked, kube="")
    leaving = volume_claim("c", "v", deletionTimestamp="2026-01-01T00:00:00Z", finalizers=["a/b"])
    yield row("a claim being deleted", on_n2, leaving, asked, kube="")
    only = volume_claim("c", "v", mode="ReadWriteOncePod")
    holder = pod("r", nodeName="n1", **with_claim("c"))
    anywhere = volume("v", "c")
    yield row("a claim of one pod, held", anywhere, only, holder, asked, kube="")
    yield row("an ephemeral volume, not made", pod(**ephemeral()), kube="")
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "uid-p", "controller": True}
    made = volume_claim("p-data", "v", ownerReferences=[owner])
    there = volume("v", "p-data", one_of(HOSTNAME, "n2"))
    yield row("an ephemeral volume, made", there, made, pod(**ephemeral()), kube="n2")
    disk = {"volumes": [{"name": "d", "gcePersistentDisk": {"pdName": "d"}}]}
    other = pod("r", nodeName="n1", **disk)
    yield row("a disk of one node, in use", other, pod(**disk), kube="n2")


def _attaching() -> Iterator[Row]:
    word, nodes = "persistent volumes", two_nodes()
    asked, bound = pod(**with_claim("c")), volume_claim("c", "v")
    attached = (
        csi_volume("w", "d"),
        volume_claim("d", "w"),
        pod("r", nodeName="n1", **with_claim("d")),
    )
    limits = csi_node("n1", 1), csi_node("n2", 1)
    found = (*nodes, *attached, *limits, csi_volume("v", "c"), bound, asked)
    yield Row(word, "a node that attaches no more", found, "n2")
    shared = pod("r", nodeName="n1", **with_claim("c"))
    found = (*nodes, shared, *limits, csi_volume("v", "c"), bound, asked)
    why = "A node's amount of a driver is the same for all pods, whatever they share"
    yield Row(word, "a volume that the node has", found, "n1 n2", on_purpose=("n2", why))
    lingers = attachment("a", "w", "n1")
    found = (*nodes, lingers, csi_volume("w", "d"), *limits, csi_volume("v", "c"), bound, asked)
    yield Row(word, "a volume that is attached still", found, "n2")
    dynamic = storage_class("dynamic", DRIVER)
    chosen = {"volume.kubernetes.io/selected-node": "n2"}
    decided = volume_claim("c", of_class="dynamic", annotations=chosen)
    yield Row(word, "a node that is selected", (*nodes, dynamic, decided, asked), "n2")
    wanted = volume_claim("c", of_class="dynamic")
    tells = csi_driver(storageCapacity=True)
    room = capacity("a", "z1", "1Gi"), capacity("b", "z2", "100Gi")
    found = (*nodes, tells, *room, dynamic, wanted, asked)
    yield Row(word, "a zone without room to provision", found, "n2")


def _ports() -> Iterator[Row]:
    word, nodes = "host ports", two_nodes()

    def opening(name: str, kind: str = "containers", node: str = "", **port: Any) -> Json:
        found = pod(name, **({"nodeName": node} if node else {}))
        ports = [{"containerPort": 8080, "hostPort": 8080, **port}]
        main = found["spec"]["containers"][0]
        if kind == "containers":
            main["ports"] = ports
        else:
            sidecar = {**main, "name": "sidecar", "restartPolicy": "Always", "ports": ports}
            sidecar["resources"] = {"requests": {"cpu": "100m", "memory": "64Mi"}}
            found["spec"]["initContainers"] = [sidecar]
        return found

    def row(name: str, *objects: Json, kube: str) -> Row:
        return Row(word, name, (*nodes, *objects), kube)

    running, asked = opening("r", node="n1"), opening("p")
    yield row("a port in use", running, asked, kube="n2")
    yield row("a free port", asked, kube="n1 n2")
    udp = opening("p", protocol="UDP")
    yield row("a port of another protocol", running, udp, kube="n1 n2")
    named = opening("p", hostIP="10.0.0.1")
    yield row("a port of every address in use", running, named, kube="n2")
    other = opening("r", node="n1", hostIP="10.0.0.2")
    yield row("a port of another address", other, named, kube="n1 n2")
    sidecar = opening("p", "initContainers")
    yield row("a sidecar's port in use", running, sidecar, kube="n2")
    held = opening("r", "initContainers", "n1")
    yield row("a port that a sidecar has", held, asked, kube="n2")
    network = pod(hostNetwork=True)
    network["spec"]["containers"][0]["ports"] = [{"containerPort": 8080}]
    yield row("a port by the host's network", running, network, kube="n2")


def _affinity(kind: str, key: str = HOSTNAME, **term: Any) -> Json:
    wanted = {"labelSelector": {"matchLabels": {"app": "a"}}, "topologyKey": key, **term}
    return {kind: {REQUIRED: [wanted]}}


def _namespace(name: str, **labels: str) -> Json:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def _namespaces() -> Iterator[Row]:
    word, nodes = "namespaces", two_nodes()
    team = {"namespaceSelector": {"matchLabels": {"team": "x"}}}
    apart = pod(
        "r", namespace="other", nodeName="n1", affinity=_affinity("podAntiAffinity", **team)
    )
    asked = pod(labels={"app": "a"})
    spaces = _namespace("default", team="x"), _namespace("other", team="y")
    yield Row(word, "who runs selects my namespace", (*nodes, *spaces, apart, asked), "n2")
    spaces = _namespace("default", team="y"), _namespace("other", team="y")
    yield Row(word, "who runs selects another one", (*nodes, *spaces, apart, asked), "n1 n2")
    there = pod("r", namespace="other", nodeName="n1", labels={"app": "a"})
    spaces = _namespace("default"), _namespace("other", team="x")
    for kind, kube in (("podAffinity", "n1"), ("podAntiAffinity", "n2")):
        asked = pod(affinity=_affinity(kind, **team))
        name = f"{kind} to a selected namespace"
        yield Row(word, name, (*nodes, *spaces, there, asked), kube)
    kept = {"labelSelector": {"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}}
    asked = pod(affinity=_affinity("podAntiAffinity", namespaceSelector={}, **kept))
    some = tuple(node(f"n{i}", amounts={"cpu": "5500m"}, capacity={"cpu": "8"}) for i in (1, 2))
    yield Row(word, "nobody without a label anywhere", (*some, asked), "n1 n2")
    asked = pod(affinity=_affinity("podAffinity", namespaceSelector={}))
    yield Row(word, "podAffinity to all namespaces", (*nodes, *spaces, there, asked), "n1")


def _topology_keys() -> Iterator[Row]:
    word = "topology keys"
    there = pod("r", nodeName="n1", labels={"app": "a"})
    asked = pod(affinity=_affinity("podAffinity", "node"))
    yield Row(word, "podAffinity by a key `node`", (*two_nodes(), there, asked), "")
    asked = pod(affinity=_affinity("podAntiAffinity", "node"))
    yield Row(word, "podAntiAffinity by a key `node`", (*two_nodes(), there, asked), "n1 n2")
    bare = two_nodes()
    for one in bare:
        del one["metadata"]["labels"][HOSTNAME]
    asked = pod(affinity=_affinity("podAffinity"))
    yield Row(word, "podAffinity, no host name", (*bare, there, asked), "")
    asked = pod(affinity=_affinity("podAntiAffinity"))
    yield Row(word, "podAntiAffinity, no host name", (*bare, there, asked), "n1 n2")
    asked = pod(labels={"app": "a"}, **_spreading(HOSTNAME))
    yield Row(word, "spread, no host name", (*bare, asked), "")


def _spreading(key: str = ZONE, **constraint: Any) -> Json:
    return {"topologySpreadConstraints": [spreading("a", key, **constraint)]}


def _leaving(name: str, on: str, **more: Any) -> Json:
    found = pod(name, {"cpu": "100m"}, nodeName=on, **more)
    found["metadata"] |= {
        "deletionTimestamp": "2026-01-01T00:00:00Z",
        "deletionGracePeriodSeconds": 3600,
        "finalizers": ["example.com/held"],
    }
    return found


def _spread() -> Iterator[Row]:
    app = {"app": "a"}
    asked = pod(labels=app, **_spreading())
    nodes = two_nodes()
    dying = [_leaving(f"d{i}", "n1", labels=app) for i in range(2)]
    word = "pods being deleted"
    yield Row(word, "they are many on one node", (*nodes, *dying, asked), "n1 n2")
    stays = [pod(f"r{i}", {"cpu": "100m"}, nodeName="n1", labels=app) for i in range(2)]
    dying = [_leaving(f"d{i}", "n2", labels=app) for i in range(2)]
    found = (*nodes, *stays, *dying, asked)
    yield Row(word, "they hide how uneven it is", found, "n2")
    asked = pod(**_spreading(labelSelector={}))
    found = (*nodes, *stays, asked)
    yield Row("empty selectors", "spread over everybody", found, "n1 n2")


def _nominated() -> Iterator[Row]:
    nodes = two_nodes()
    kept = "n2", "a nominated pod keeps its room, also from pods that are more urgent"
    for name, priority, kube in (("as urgent", 0, "n2"), ("less urgent", -5, "n1 n2")):
        first = pod("first", {"cpu": "7"}, priority=priority)
        first["status"]["nominatedNodeName"] = "n1"
        yield Row(
            "nominated pods",
            f"one that is {name}",
            (*nodes, first, pod()),
            kube,
            on_purpose=kept if kube == "n1 n2" else None,
        )

    app = {"app": "a"}
    first = pod("first", {"cpu": "1"}, labels=app)
    first["status"]["nominatedNodeName"] = "n2"
    there = pod("r", {"cpu": "100m"}, nodeName="n1", labels=app)
    beside = pod(affinity=_affinity("podAffinity"))
    yield Row("nominated pods", "one that is no company yet", (*nodes, first, beside), "")
    apart = pod(affinity=_affinity("podAntiAffinity"))
    yield Row("nominated pods", "one to be apart from", (*nodes, first, apart), "n1")
    spread = pod(labels=app, **_spreading())
    yield Row("nominated pods", "one to be spread with", (*nodes, first, there, spread), "n2")
    other = pod("other", {"cpu": "100m"}, nodeName="n2", labels=app)
    found = (*nodes, first, there, other, spread)
    yield Row("nominated pods", "one more where it is even", found, "n1")
    everybody = pod(**_spreading(labelSelector={}))
    waits = "", "there is no word for a pod that counts only while its own node is looked at"
    found = (*nodes, first, everybody)
    yield Row("nominated pods", "spread over everybody", found, "n1", on_purpose=waits)
    second = pod("second", {"cpu": "1"}, labels=app)
    second["status"]["nominatedNodeName"] = "n1"
    found = (*nodes, first, second, there, spread)
    yield Row("nominated pods", "two to be spread with", found, "n2", on_purpose=waits)


def _claims() -> Iterator[Row]:
    word, nodes = "claims", two_nodes()

    def row(name: str, *objects: Json, kube: str) -> Row:
        return Row(word, name, (*nodes, device_class(), *objects), kube)

    on_n2 = resource_slice("n2")
    yield row("a GPU", on_n2, claim(), claiming(), kube="n2")
    user = claiming("q")
    yield row("a claim of two pods", on_n2, claim(), claiming(), user, kube="n2")
    gpu = {"deviceClassName": "gpu"}
    many = {"name": "many", "count": 8, **gpu}
    few = {"name": "few", "count": 1, **gpu}
    either = claim("c", {"name": "gpus", "firstAvailable": [many, few]})
    yield row("the second, as the first is nowhere", on_n2, either, claiming(), kube="n2")
    eight = resource_slice("n1", [gpu_listed(i) for i in range(8)])
    found = (*nodes, device_class(), eight, on_n2, either, claiming())
    yield Row(word, "the first alternative of each node", found, "n1 n2")
    every = claim("c", request("gpus", allocationMode="All"))
    found = (*nodes, device_class(), eight, on_n2, every, claiming())
    yield Row(word, "all GPUs of each node", found, "n1 n2")
    big = "device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('40Gi')) >= 0"
    small = gpu_listed(1, capacity={"memory": {"value": "10Gi"}})
    mixed = resource_slice("n2", [gpu_listed(0), small])
    chosen = claim("c", request("gpus", big))
    yield row("a selector that some meet", mixed, chosen, claiming(), kube="n2")
    named = device_class("extended", extendedResourceName="example.com/gpu")
    asked = pod(requests={"cpu": "1", "example.com/gpu": "1"}, limits={"example.com/gpu": "1"})
    yield row("an extended resource", on_n2, named, asked, kube="n2")
    yield row("a claim that is not there", on_n2, claiming(), kube="")


def _declared_features() -> Iterator[Row]:
    asked = pod()
    rule = {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [88]}}
    asked["spec"]["containers"][0] |= {"restartPolicy": "Never", "restartPolicyRules": [rule]}
    nodes = two_nodes()
    nodes[0]["status"]["declaredFeatures"] = ["UserNamespacesHostNetworkSupport"]
    nodes[1]["status"]["declaredFeatures"] = ["RestartAllContainersOnContainerExits"]
    yield Row("declared features", "one that a node declares", (*nodes, asked), "n2")
    asked = pod(hostNetwork=True, hostUsers=False)
    yield Row("declared features", "users of its own, network of the node", (*nodes, asked), "n1")


def _bad_objects() -> Iterator[Row]:
    word, nodes = "bad objects", two_nodes()
    stray = pod("r", nodeName="gone")
    yield Row(word, "a pod on a node that is gone", (*nodes, stray, pod()), "n1 n2")
    broken = node("n2", amounts={"cpu": "-4"})
    yield Row(word, "a node of -4 CPUs", (nodes[0], broken, pod()), "n1")
    broken = node("n2", annotations={"node.koordinator.sh/reservation": "{"})
    nothing = "n1", "a Node that cannot be read offers nothing"
    yield Row(
        word, "a node with a broken annotation", (nodes[0], broken, pod()), "n1 n2", None, nothing
    )
    given = {"scheduling.koordinator.sh/device-allocated": "{"}
    holder = pod("r", nodeName="n1", annotations=given)
    closed = "n2", "what it holds is not known, so nothing more comes to its node"
    found = (*nodes, holder, pod())
    yield Row(word, "a running pod with a broken annotation", found, "n1 n2", on_purpose=closed)


def _conditions() -> Iterator[Row]:
    word = "cordons and conditions"
    taint = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    cordoned = node("n2", unschedulable=True, taints=[taint])
    come = {"tolerations": [{"key": taint["key"], "operator": "Exists"}]}
    yield Row(word, "a cordon", (node(), cordoned, pod()), "n1")
    yield Row(word, "a cordon that is tolerated", (node(), cordoned, pod(**come)), "n1 n2")
    not_ready = node("n2", conditions=[{"type": "Ready", "status": "False"}])
    yield Row(word, "not ready, without a taint", (node(), not_ready, pod()), "n1 n2")
    plain = node("n2", amounts={"nvidia.com/gpu": "4"})
    listed = node("n1", amounts={"nvidia.com/gpu": "4"})
    asked = pod(requests={"cpu": "1", "nvidia.com/gpu": "1"}, limits={"nvidia.com/gpu": "1"})
    found = (listed, device("n1"), plain, asked)
    yield Row("plain GPUs", "beside a node with a Device", found, "n1 n2")
    found = (node(), plain, resource_slice("n1"), device_class(), asked)
    yield Row("plain GPUs", "beside a node with a driver's GPUs", found, "n2")
