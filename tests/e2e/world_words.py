"""Words of random dumps: volumes, ports, namespaces, claims and others, one or some at a time."""

from random import Random

from claim_worlds import (
    allocated,
    claim,
    claiming,
    device_class,
    gpu_listed,
    request,
    resource_slice,
)
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
from kubernetes_worlds import REQUIRED, Json, device, node, pod

ZONES = ("z1", "z2", "z3")
GPU = "nvidia.com/gpu"


def _containers(of: Json) -> list[Json]:
    return [*of["spec"]["containers"], *of["spec"].get("initContainers", [])]


class WorldWords:
    """A world that gets one more word.

    Attributes:
        others: Objects that are neither nodes nor pods.
        words: Those that it got.

    """

    def __init__(self, draw: Random, nodes: list[Json], running: list[Json], asked: Json) -> None:
        self._draw = draw
        self.nodes = nodes
        self.running = running
        self.asked = asked
        self.others: list[Json] = []
        cordoned = any(one["spec"].get("unschedulable") for one in nodes)
        self.words = {"cordons and conditions"} if cordoned else set()

    def add(self, number: int) -> None:
        """Add some words."""
        every = {
            self.add_volume: 6,
            self.add_ports: 2,
            self.add_namespaces: 2,
            self.add_topology_keys: 2,
            self.add_leaving: 2,
            self.add_empty_selector: 1,
            self.add_nominated: 1,
            self.add_conditions: 1,
            self.add_features: 1,
            self.add_claim: 3,
            self.add_bad_object: 1,
            self.add_plain_gpus: 1,
        }
        words = self._draw.choices(list(every), list(every.values()), k=number)
        for add in dict.fromkeys(words):
            add()

    def add_volume(self) -> None:
        """Add a volume, of any kind."""
        self.words.add("persistent volumes")
        self.asked["spec"].update(with_claim("c"))
        self._draw.choice(
            (
                self._bound_volume,
                self._shared_volume,
                self._labelled_volume,
                self._attached_volume,
                self._local_volume,
                self._zones,
                self._capacity,
                self._selected_node,
                self._no_volume,
                self._ephemeral_volume,
                self._disk,
            )
        )()

    def _where(self) -> Json | None:
        draw = self._draw
        return draw.choice(
            (
                None,
                one_of(HOSTNAME, draw.choice(self.nodes)["metadata"]["name"]),
                one_of(ZONE, draw.choice(ZONES)),
                one_of(ZONE, *draw.sample(ZONES, 2)),
            )
        )

    def _bound_volume(self) -> None:
        mode = self._draw.choice(("ReadWriteOnce", "ReadWriteOncePod"))
        self.others += [volume("v", "c", self._where()), volume_claim("c", "v", mode=mode)]

    def _shared_volume(self) -> None:
        self._bound_volume()
        for holder in self.running[:1]:
            holder["metadata"]["namespace"] = self._draw.choice(("default", "other"))
            holder["spec"].update(with_claim("c"))

    def _labelled_volume(self) -> None:
        key = self._draw.choice((ZONE, "failure-domain.beta.kubernetes.io/zone"))
        for one in self.nodes:
            if key != ZONE and ZONE in one["metadata"]["labels"]:
                one["metadata"]["labels"][key] = one["metadata"]["labels"][ZONE]
        labels = {key: self._draw.choice(("z1", "z1__z2"))}
        self.others += [volume("v", "c", labels=labels), volume_claim("c", "v")]

    def _attached_volume(self) -> None:
        draw = self._draw
        limits = [csi_node(one["metadata"]["name"], draw.choice((1, 2))) for one in self.nodes]
        self.others += [csi_volume("v", "c", self._where()), volume_claim("c", "v"), *limits]
        for i, holder in enumerate(self.running[:3]):
            holder["metadata"]["namespace"] = "default"
            holder["spec"].update(with_claim(f"d{i}"))
            self.others += [csi_volume(f"w{i}", f"d{i}"), volume_claim(f"d{i}", f"w{i}")]
        if draw.random() < 0.4:
            name = draw.choice(self.nodes)["metadata"]["name"]
            self.others += [csi_volume("x", "e"), volume_claim("e", "x")]
            self.others.append(attachment("a", "x", name))

    def _local_volume(self) -> None:
        mode = self._draw.choice(("WaitForFirstConsumer", "WaitForFirstConsumer", "Immediate"))
        self.others += [storage_class(mode=mode), volume_claim("c")]
        for i in range(self._draw.choice((1, 2))):
            size = self._draw.choice(("10Gi", "1Gi"))
            self.others.append(volume(f"v{i}", where=self._where(), storage=size))
        if self._draw.random() < 0.4:
            self.others.append(pod("also", {"cpu": "100m"}, **with_claim("c")))

    def _zones(self) -> None:
        zones = self._draw.choice(([], ["z1"], ["z1", "z2"]))
        self.others += [storage_class("dynamic", DRIVER, zones=zones)]
        self.others += [volume_claim("c", of_class="dynamic")]

    def _capacity(self) -> None:
        self._zones()
        self.others.append(csi_driver(storageCapacity=self._draw.random() < 0.8))
        for i, zone in enumerate(ZONES):
            if self._draw.random() < 0.8:
                self.others.append(capacity(f"s{i}", zone, self._draw.choice(("1Gi", "100Gi"))))

    def _selected_node(self) -> None:
        chosen = {
            "volume.kubernetes.io/selected-node": self._draw.choice(self.nodes)["metadata"]["name"]
        }
        self.others += [storage_class("dynamic", DRIVER)]
        self.others += [volume_claim("c", of_class="dynamic", annotations=chosen)]

    def _no_volume(self) -> None:
        now = {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["a/b"]}
        self.others += self._draw.choice(
            (
                [],
                [volume_claim("c", "v", phase="Lost")],
                [volume_claim("c", "v")],
                [volume("v", "c"), volume_claim("c", "v", **now)],
                [volume("v", "other"), volume_claim("c", "v")],
            )
        )

    def _ephemeral_volume(self) -> None:
        self.asked["spec"].update(ephemeral())
        owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "controller": True}
        uid = self._draw.choice(("uid-p", "uid-p", "another"))
        if self._draw.random() < 0.7:
            made = volume_claim("p-data", "v", ownerReferences=[{**owner, "uid": uid}])
            self.others += [volume("v", "p-data", self._where()), made]

    def _disk(self) -> None:
        disk = {"volumes": [{"name": "d", "gcePersistentDisk": {"pdName": "d"}}]}
        self.asked["spec"].update(disk)
        for holder in self.running:
            if self._draw.random() < 0.3:
                holder["spec"].update(disk)

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
            elif self._draw.random() < 0.5:
                one["spec"]["hostNetwork"] = True
                one["spec"]["containers"][0]["ports"] = [{"containerPort": 80}]

    def add_namespaces(self) -> None:
        """Have more pods keep away from others, and add a selector of namespaces to each term."""
        self.words.add("namespaces")
        apart = {
            "labelSelector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]},
            "topologyKey": HOSTNAME,
        }
        for one in self.running:
            if self._draw.random() < 0.4:
                affinity = one["spec"].setdefault("affinity", {})
                affinity.setdefault("podAntiAffinity", {REQUIRED: [dict(apart)]})
        for name in ("default", "other"):
            labels = {"team": self._draw.choice(("x", "y"))}
            metadata = {"name": name, "labels": labels}
            if self._draw.random() < 0.15:
                self.words.add("namespaces that nobody tells of")
                continue
            self.others.append({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
        for one in (*self.running, self.asked):
            for kind in one["spec"].get("affinity", {}).values():
                for term in kind[REQUIRED]:
                    if "topologyKey" in term:
                        chosen = self._draw.choice(({}, {"matchLabels": {"team": "x"}}))
                        term["namespaceSelector"] = chosen

    def add_topology_keys(self) -> None:
        """Take host names from nodes, or ask for a key that no node has."""
        self.words.add("topology keys")
        if self._draw.random() < 0.5:
            for one in self.nodes:
                if self._draw.random() < 0.5:
                    del one["metadata"]["labels"][HOSTNAME]
            return
        for one in (*self.running, self.asked):
            for kind in one["spec"].get("affinity", {}).values():
                for term in kind[REQUIRED]:
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
        first["status"]["nominatedNodeName"] = self._draw.choice(self.nodes)["metadata"]["name"]
        self.others.append(first)

    def add_conditions(self) -> None:
        """Have nodes without a taint that are not ready, and pods that tolerate cordons."""
        self.words.add("cordons and conditions")
        for one in self.nodes:
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
        for one in self.nodes:
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
            for kind in ("requests", "limits"):
                container["resources"].get(kind, {}).pop(GPU, None)
        self.others += [device_class(), device_class("any", "device.driver == 'gpu.nvidia.com'")]
        for one in self.nodes:
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
        kind = draw.choice(
            ("plain", "all", "selected", "selected", "first", "first", "shared", "extended", "had")
        )
        asked = request("gpus", count=draw.choice((1, 2)))
        big = "device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('40Gi')) >= 0"
        if kind == "all":
            asked = request("gpus", allocationMode="All")
        if kind == "selected":
            asked = request("gpus", big)
        if kind == "first":
            either = [
                {
                    "name": f"of{count}",
                    "deviceClassName": draw.choice(("gpu", "big")),
                    "count": count,
                }
                for count in draw.sample((1, 2, 4, 8), draw.choice((2, 2, 3)))
            ]
            self.others.append(device_class("big", big))
            asked = {"name": "gpus", "firstAvailable": either}
        self.words.add("claims")
        if kind == "extended":
            self.others.append(device_class("big", big, extendedResourceName="example.com/big"))
            amounts = {"example.com/big": draw.choice(("1", "2"))}
            for kind in ("requests", "limits"):
                self.asked["spec"]["containers"][0]["resources"][kind].update(amounts)
            return
        listed = [one["spec"]["nodeName"] for one in self.others if one["kind"] == "ResourceSlice"]
        if kind == "had" and listed:
            status = allocated("gpu-0", node=draw.choice(listed))
            self.others.append(claim("c", asked, status=status))
        else:
            self.others.append(claim("c", asked))
            if listed and draw.random() < 0.4:
                where = draw.choice(listed)
                self.others.append(claim("held", status=allocated("gpu-0", node=where)))
        if kind == "shared":
            self.others.append(claiming("q", {"c": "c"}))  # it comes after the pod that is asked
        spec = claiming("p")["spec"]
        self.asked["spec"]["resourceClaims"] = spec["resourceClaims"]
        self.asked["spec"]["containers"][0]["resources"]["claims"] = [{"name": "c"}]

    def add_bad_object(self) -> None:
        """Add an object that cannot be read, or one on a node that is gone."""
        self.words.add("bad objects")
        draw = self._draw
        kind = draw.choice(("gone", "node", "node", "pod", "pod"))
        broken = {"scheduling.koordinator.sh/device-allocated": "{"}
        if kind == "gone":
            self.running.append(pod("stray", nodeName="gone"))
        elif kind == "node":
            one = draw.choice(self.nodes)
            one["metadata"]["annotations"] = {"node.koordinator.sh/reservation": "{"}
        elif self.running:
            draw.choice(self.running)["metadata"]["annotations"] = broken

    def add_plain_gpus(self) -> None:
        """Add a node with a Device object, beside those that only count their GPUs."""
        self.words.add("plain GPUs")
        draw = self._draw
        amounts = {"cpu": "8", "memory": "16Gi", "pods": "110", GPU: "4"}
        self.nodes.append(node("listed", amounts=amounts))
        self.others.append(device("listed"))
        of = self.asked["spec"]["containers"][0]["resources"]
        of["requests"][GPU] = of["limits"][GPU] = draw.choice(("1", "2"))
