"""A cluster for the whole way: 20 nodes of several kinds, what runs there, 60 pods that wait."""

from collections.abc import Iterator
from typing import Any

from claim_worlds import claim, nic_listed, nics, request, resource_slice
from e2e.storage_objects import HOSTNAME, ZONE
from kubernetes_worlds import Json, node, pod

GPU = "nvidia.com/gpu"

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def cluster_objects() -> Iterator[Json]:
    """Yield what is there beside the pods."""
    for name, team in (("shop", "web"), ("ml", "ai")):
        metadata = {"name": name, "labels": {"team": team}}
        yield {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
    yield nics()
    for i in range(20):
        yield from _node(i)
    for i in range(3):
        yield claim(f"nic-{i}", request("nics", of="nic", count=i + 1))


def _node(number: int) -> Iterator[Json]:
    """Yield a node: 4 have plain GPUs, 2 have NICs of a driver, 14 have none."""
    name = f"n{number}"
    labels = {ZONE: f"z{number % 3}", "disk": "ssd" if number % 2 else "hdd"}
    amounts = {"cpu": "16", "memory": "64Gi", "ephemeral-storage": "100Gi"}
    spec: Json = {}
    if number < 4:
        amounts |= {GPU: "8"}
        spec = {"taints": [{"key": GPU, "value": "present", "effect": "NoSchedule"}]}
    elif number < 6:
        spec = {"taints": [{"key": "driver", "effect": "NoSchedule"}]}
        yield resource_slice(name, [nic_listed(i) for i in range(3)], driver="dra.net")
    elif number == 6:
        taint = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
        spec = {"unschedulable": True, "taints": [taint]}
    elif number == 7:
        spec = {"taints": [{"key": "spot", "effect": "PreferNoSchedule"}]}
    yield node(name, labels=labels, amounts=amounts, **spec)


def running_pods() -> Iterator[Json]:
    """Yield pods with the nodes on which they run."""
    for i in range(8, 20):
        amounts = {"cpu": f"{i % 5 + 1}", "memory": f"{i % 4 + 1}Gi"}
        yield pod(f"web-{i}", amounts, namespace="shop", labels={"app": "web"}, nodeName=f"n{i}")
    for i in range(2):
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
    yield pod("quiet", namespace="ml", labels={"app": "quiet"}, nodeName="n9", affinity=apart)


def waiting_pods() -> Iterator[Json]:
    """Yield 60 pods."""
    yield from _several(12, "front", {"cpu": "500m"}, topologySpreadConstraints=[_spread("front")])
    even = [_spread("even", HOSTNAME, nodeTaintsPolicy="Honor")]
    yield from _several(9, "even", {"cpu": "250m"}, topologySpreadConstraints=even)
    apart = _affinity("podAntiAffinity", "apart", HOSTNAME)
    yield from _several(6, "apart", {"cpu": "1"}, affinity=apart)
    near = _affinity("podAffinity", "web", ZONE)
    yield from _several(4, "near", {"cpu": "2"}, affinity=near)
    yield from _several(3, "noisy", {"cpu": "1"})
    ssd = [{"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}]
    only_ssd = {"nodeAffinity": {_REQUIRED: {"nodeSelectorTerms": ssd}}}
    yield from _several(4, "ssd", {"cpu": "3", "ephemeral-storage": "60Gi"}, affinity=only_ssd)
    yield from _several(3, "hdd", {"cpu": "1", "memory": "30Gi"}, nodeSelector={"disk": "hdd"})
    gpus = [{"key": GPU, "operator": "Exists", "effect": "NoSchedule"}]
    yield from _several(7, "gpu", {"cpu": "4", GPU: "4"}, tolerations=gpus)
    for i in range(3):
        (user,) = _several(1, f"driver-{i}", {"cpu": "2"}, tolerations=[{"key": "driver"}])
        user["spec"]["tolerations"][0]["operator"] = "Exists"
        user["spec"]["resourceClaims"] = [{"name": "c", "resourceClaimName": f"nic-{i}"}]
        user["spec"]["containers"][0]["resources"]["claims"] = [{"name": "c"}]
        user["metadata"]["namespace"] = "default"
        yield user
    for one in _several(3, "sidecar", {"cpu": "1"}):
        asked = {"requests": {"cpu": "500m", "memory": "256Mi"}}
        sidecar = {"name": "sidecar", "restartPolicy": "Always", "resources": asked}
        first = {"name": "first", "resources": {"requests": {"cpu": "5", "memory": "1Gi"}}}
        one["spec"]["initContainers"] = [sidecar, first]
        yield one
    yield from _several(2, "small", {})
    yield from _several(2, "huge", {"cpu": "20"})
    yield from _several(2, "lonely", {"cpu": "1"}, nodeSelector={"disk": "tape"})


def _several(count: int, app: str, amounts: dict[str, str], **spec: Any) -> Iterator[Json]:
    limits = {key: value for key, value in amounts.items() if key == GPU}
    for i in range(count):
        labels = {"app": app}
        yield pod(f"{app}-{i}", amounts, namespace="shop", labels=labels, limits=limits, **spec)


def _affinity(kind: str, app: str, key: str, **more: Any) -> Json:
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key, **more}
    return {kind: {_REQUIRED: [term]}}


def _spread(app: str, key: str = ZONE, **more: Any) -> Json:
    return {
        "maxSkew": 1,
        "topologyKey": key,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": app}},
        **more,
    }
