"""A cluster for the whole way: 60 nodes of many kinds, what runs there, 300 pods that wait."""

from collections.abc import Iterator
from typing import Any

from claim_worlds import claim, device_class, gpu_listed, nic_listed, nics, request, resource_slice
from e2e.storage_objects import (
    DRIVER,
    HOSTNAME,
    ZONE,
    csi_node,
    csi_volume,
    one_of,
    storage_class,
    volume,
    volume_claim,
    with_claim,
)
from kubernetes_worlds import REQUIRED, Json, node, pod, spreading

GPU = "nvidia.com/gpu"
EXTENDED = "example.com/gpu"

NODES = 60

_BIG = "device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('40Gi')) >= 0"
_CORDON = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}


def cluster_objects() -> Iterator[Json]:
    """Yield what is there beside the pods."""
    for name, team in (("shop", "web"), ("ml", "ai")):
        metadata = {"name": name, "labels": {"team": team}}
        yield {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
    yield nics()
    yield device_class(extendedResourceName=EXTENDED)
    for i in range(NODES):
        yield from _node(i)
    for i in range(3):
        yield claim(f"nic-{i}", request("nics", of="nic", count=i + 1))
    yield from _gpu_claims()
    yield from _storage()


def _node(number: int) -> Iterator[Json]:
    """Yield a node: 8 have plain GPUs, 4 NICs of a driver, 8 GPUs of a driver, the others none."""
    name = f"n{number}"
    labels = {ZONE: f"z{number % 3}", "disk": "ssd" if number % 2 else "hdd"}
    amounts = {"cpu": "16", "memory": "64Gi", "ephemeral-storage": "100Gi"}
    spec: Json = {}
    if number < 8:
        amounts |= {GPU: "8"}
        spec = {"taints": [{"key": GPU, "value": "present", "effect": "NoSchedule"}]}
    elif number < 12:
        spec = {"taints": [{"key": "driver", "effect": "NoSchedule"}]}
        yield resource_slice(name, [nic_listed(i) for i in range(3)], driver="dra.net")
    elif number < 20:
        count = (8, 4, 1, 2)[number % 4]
        small = {"capacity": {"memory": {"value": "10Gi"}}}
        sizes = [small if i % 4 == 3 else {} for i in range(count)]
        yield resource_slice(name, [gpu_listed(i, **size) for i, size in enumerate(sizes)])
    elif number < 22:
        spec = {"unschedulable": True, "taints": [_CORDON]}
    elif number < 24:
        spec = {"taints": [{"key": "spot", "effect": "PreferNoSchedule"}]}
    elif number == 24:
        spec = {"conditions": [{"type": "Ready", "status": "False"}]}
    if number > 40:
        yield csi_node(name, 2)
    yield node(name, labels=labels, amounts=amounts, **spec)


def _gpu_claims() -> Iterator[Json]:
    for i in range(4):
        yield claim(f"big-{i}", request("gpus", _BIG))
    for i in range(5):
        several = {"name": "several", "deviceClassName": "gpu", "count": 6}
        few = {"name": "few", "deviceClassName": "gpu", "count": 1}
        yield claim(f"either-{i}", {"name": "gpus", "firstAvailable": [several, few]})
    yield claim("all-0", request("gpus", allocationMode="All"))
    yield claim("shared-0", request("gpus"))


def _storage() -> Iterator[Json]:
    """Yield volumes: in a zone, free ones of nodes, some to be provisioned, one of one pod."""
    yield storage_class()
    yield storage_class("dynamic", DRIVER, zones=["z1"])
    for i in range(6):
        yield csi_volume(f"disk-{i}", f"disk-{i}", one_of(ZONE, f"z{i % 3}"))
        yield volume_claim(f"disk-{i}", f"disk-{i}")
    for i in range(4):
        yield volume(f"local-{i}", where=one_of(HOSTNAME, f"n{30 + i}"))
        yield volume_claim(f"local-{i}")
        yield volume_claim(f"dynamic-{i}", of_class="dynamic")
    yield csi_volume("only", "only-0")
    yield volume_claim("only-0", "only", mode="ReadWriteOncePod")


def running_pods() -> Iterator[Json]:
    """Yield pods with the nodes on which they run."""
    for i in range(24, NODES):
        amounts = {"cpu": f"{i % 5 + 1}", "memory": f"{i % 4 + 1}Gi"}
        yield pod(f"web-{i}", amounts, namespace="shop", labels={"app": "web"}, nodeName=f"n{i}")
    for i in range(4):
        limits = {GPU: "4"}
        yield pod(
            f"train-{i}",
            {"cpu": "8", **limits},
            namespace="ml",
            limits=limits,
            tolerations=[{"operator": "Exists"}],
            nodeName=f"n{i}",
        )
    apart = _affinity("podAntiAffinity", "noisy", HOSTNAME, namespaces=["shop"])
    yield pod("quiet", namespace="ml", labels={"app": "quiet"}, nodeName="n29", affinity=apart)
    team = {"namespaceSelector": {"matchLabels": {"team": "web"}}}
    apart = _affinity("podAntiAffinity", "noisy", ZONE, **team)
    yield pod("silent", namespace="ml", labels={"app": "quiet"}, nodeName="n30", affinity=apart)


def leaving_pods() -> Iterator[Json]:
    """Yield running pods that are being deleted, and stay because somebody holds them."""
    for i in range(3):
        one = pod(f"gone-{i}", {"cpu": "100m"}, namespace="shop", labels={"app": "front"})
        one["metadata"]["finalizers"] = ["example.com/held"]
        one["spec"]["nodeName"] = f"n{25 + 3 * i}"
        yield one


def waiting_pods() -> Iterator[Json]:
    """Yield 300 pods."""
    over_zones = [spreading("front", ZONE)]
    yield from _several(45, "front", {"cpu": "500m"}, topologySpreadConstraints=over_zones)
    even = [spreading("even", HOSTNAME, nodeTaintsPolicy="Honor")]
    yield from _several(40, "even", {"cpu": "250m"}, topologySpreadConstraints=even)
    apart = _affinity("podAntiAffinity", "apart", HOSTNAME)
    yield from _several(20, "apart", {"cpu": "1"}, affinity=apart)
    near = _affinity("podAffinity", "web", ZONE)
    yield from _several(12, "near", {"cpu": "2"}, affinity=near)
    yield from _several(6, "noisy", {"cpu": "1"})
    ssd = [{"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}]
    only_ssd = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": ssd}}}
    yield from _several(12, "ssd", {"cpu": "3", "ephemeral-storage": "60Gi"}, affinity=only_ssd)
    yield from _several(10, "hdd", {"cpu": "1", "memory": "30Gi"}, nodeSelector={"disk": "hdd"})
    gpus = [{"key": GPU, "operator": "Exists", "effect": "NoSchedule"}]
    yield from _several(16, "gpu", {"cpu": "4", GPU: "4"}, tolerations=gpus)
    yield from _claiming()
    yield from _with_volumes()
    yield from _with_ports()
    for one in _several(6, "sidecar", {"cpu": "1"}):
        asked = {"requests": {"cpu": "500m", "memory": "256Mi"}}
        sidecar = {"name": "sidecar", "restartPolicy": "Always", "resources": asked}
        first = {"name": "first", "resources": {"requests": {"cpu": "5", "memory": "1Gi"}}}
        one["spec"]["initContainers"] = [sidecar, first]
        yield one
    here = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n20"]}]}
    there = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [here]}}}
    come = [{"key": _CORDON["key"], "operator": "Exists"}]
    yield from _several(2, "daemon", {"cpu": "1"}, affinity=there, tolerations=come)
    yield from _several(2, "gated", {"cpu": "1"}, schedulingGates=[{"name": "example.com/gate"}])
    yield from _several(38, "small", {})
    yield from _several(4, "huge", {"cpu": "20"})
    yield from _several(3, "lonely", {"cpu": "1"}, nodeSelector={"disk": "tape"})


def _claiming() -> Iterator[Json]:
    """Yield pods with devices of drivers, the last two without a claim yet."""
    for i in range(3):
        come = [{"key": "driver", "operator": "Exists"}]
        yield _with_device_claim(f"driver-{i}", f"nic-{i}", tolerations=come)
    for i in range(4):
        yield _with_device_claim(f"big-{i}", f"big-{i}")
    for i in range(5):
        yield _with_device_claim(f"either-{i}", f"either-{i}")
    yield _with_device_claim("all-0", "all-0")
    for i in range(2):
        yield _with_device_claim(f"shared-{i}", "shared-0")
    for i in range(2):
        amounts = {EXTENDED: "1"}
        yield pod(f"extended-{i}", {"cpu": "1", **amounts}, limits=amounts)


def _with_device_claim(name: str, of: str, **spec: Any) -> Json:
    found = pod(name, {"cpu": "2"}, **spec)
    found["spec"]["resourceClaims"] = [{"name": "c", "resourceClaimName": of}]
    found["spec"]["containers"][0]["resources"]["claims"] = [{"name": "c"}]
    return found


def _with_volumes() -> Iterator[Json]:
    """Yield pods with volumes; two want one that one pod can have, and two a claim that is none."""
    for kind, count in (("disk", 6), ("local", 4), ("dynamic", 4)):
        for i in range(count):
            yield pod(f"{kind}-{i}", {"cpu": "500m"}, **with_claim(f"{kind}-{i}"))
    for i in range(2):
        yield pod(f"only-{i}", {"cpu": "500m"}, **with_claim("only-0"))
        yield pod(f"none-{i}", {"cpu": "500m"}, **with_claim("none"))


def _with_ports() -> Iterator[Json]:
    """Yield pods with a port of the node: of every address, of one, of a sidecar, of the node."""
    for one in _several(36, "port", {"cpu": "250m"}):
        one["spec"]["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 8080}]
        yield one
    for one in _several(5, "address", {"cpu": "250m"}):
        named = {"containerPort": 80, "hostPort": 8080, "hostIP": "10.0.0.1"}
        one["spec"]["containers"][0]["ports"] = [named]
        yield one
    for one in _several(4, "beside", {"cpu": "250m"}):
        ports = [{"containerPort": 80, "hostPort": 8080, "protocol": "TCP"}]
        one["spec"]["initContainers"] = [
            {"name": "sidecar", "restartPolicy": "Always", "ports": ports}
        ]
        yield one
    for one in _several(4, "host", {"cpu": "250m"}, hostNetwork=True):
        one["spec"]["containers"][0]["ports"] = [{"containerPort": 8080, "hostPort": 8080}]
        yield one


def _several(count: int, app: str, amounts: dict[str, str], **spec: Any) -> Iterator[Json]:
    limits = {key: value for key, value in amounts.items() if key == GPU}
    for i in range(count):
        labels = {"app": app}
        yield pod(f"{app}-{i}", amounts, namespace="shop", labels=labels, limits=limits, **spec)


def _affinity(kind: str, app: str, key: str, **more: Any) -> Json:
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key, **more}
    return {kind: {REQUIRED: [term]}}
