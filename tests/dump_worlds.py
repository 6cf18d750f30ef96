"""Random dumps of small clusters, and what becomes of one when its pods are bound."""

import copy
import json
from collections.abc import Iterable
from dataclasses import replace
from random import Random
from typing import Any

import yaml

from kubernetes_dumps import gathered
from kubernetes_worlds import GROUP, Json, device, gpu, node, pod, pod_group, topology
from placer.kubernetes.dump import instance_of_cluster_objects
from placer.kubernetes.emit.kinds import EmitKind, emitted_files
from placer.kubernetes.emit.placed_pods import placed_dump
from placer.kubernetes.emit.writer import object_file_text
from placer.kubernetes.objects import ClusterObjects
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance, RunningPod
from placer_models.placement import PartlyPlaced, Placed, Placement

NUMA_POLICIES = ("BestEffort", "Restricted", "SingleNUMANode")
KOORDINATOR = "scheduling.koordinator.sh"


def objects_of(found: Iterable[Json]) -> ClusterObjects:
    """Return the objects as they are read from one file."""
    return gathered(found, ClusterObjects(keeps_whole=True))


def solved(
    objects: Iterable[Json], engine: Engine = Engine.GREEDY, *, whole: bool = False
) -> tuple[Instance, Placement]:
    """Return the cluster of these objects, and what is placed there: all, or something at least."""
    instance, _ = instance_of_cluster_objects(objects_of(objects))
    answer = solve(instance, SolveOptions(engine, 10, None, workers=1, seed=0))
    assert isinstance(answer, Placed if whole else Placed | PartlyPlaced)
    return instance, answer.placement


def files_of(
    objects: Iterable[Json], instance: Instance, placement: Placement, *kinds: EmitKind
) -> dict[str, Any]:
    """Return path -> what stands in the file, of those that a cluster is told by."""
    dump = placed_dump(objects_of(objects), instance, placement)
    files = emitted_files(dump, kinds)
    return {file.path: yaml.safe_load(object_file_text(file)) for file in files}


def dump_world(draw: Random) -> list[Json]:
    """Return the objects of a small cluster in which some pods wait."""
    objects = [one for i in range(draw.choice((1, 2, 2, 3))) for one in _node(draw, f"n{i}")]
    for i in range(draw.randrange(2, 7)):
        objects += _pods(draw, f"p{i}")
    return objects


def _node(draw: Random, name: str) -> list[Json]:
    labels = {}
    if draw.random() < 0.4:
        labels["node.koordinator.sh/numa-topology-policy"] = draw.choice(NUMA_POLICIES)
    if draw.random() < 0.2:
        policy = draw.choice(("FullPCPUsOnly", "SpreadByPCPUs"))
        labels["node.koordinator.sh/cpu-bind-policy"] = policy
    amounts: Json = {"example.com/token": "3"}
    if draw.random() < 0.3:
        amounts["cpu"] = "7500m"
    kind = draw.choice(("plain", "numa", "numa", "gpu", "gpu", "gpu"))
    if kind == "plain":
        return [node(name, labels=labels, amounts=amounts, capacity={"cpu": "8"})]
    pages = draw.random() < 0.3
    if pages:
        amounts["hugepages-2Mi"] = "64Mi"
    found = topology(name)
    for zone in found["zones"] if pages else ():
        size = {"capacity": "32Mi", "allocatable": "32Mi", "available": "32Mi"}
        zone["resources"].append({"name": "hugepages-2Mi", **size})
    if draw.random() < 0.2:
        found["topologyPolicies"] = [draw.choice(("SingleNUMANodePodLevel", "Restricted"))]
    capacity = {**amounts, "cpu": "8", "memory": "16Gi"}
    objects = [node(name, labels=labels, amounts=amounts, capacity=capacity), found]
    if kind == "gpu":
        nics = [_nic(minor) for minor in range(2)]
        objects.append(device(name, [*(gpu(minor) for minor in range(4)), *nics]))
    return objects


def _nic(minor: int) -> Json:
    functions = [{"minor": i, "busID": f"0000:{minor}0:00.{i + 1}"} for i in range(2)]
    return {
        "type": "rdma",
        "id": f"0000:{minor}0:00.0",
        "minor": minor,
        "health": True,
        "resources": {"koordinator.sh/rdma": "100"},
        "topology": {"socketID": 0, "nodeID": minor, "pcieID": f"pci0000:{minor}0"},
        "vfGroups": [{"labels": {"type": "general"}, "vfs": functions}],
    }


def _pods(draw: Random, name: str) -> list[Json]:
    """Return a pod, or the pods of a gang with their PodGroup."""
    if draw.random() < 0.75:
        return [_pod(draw, name, {})]
    count = draw.choice((2, 3))
    group = pod_group(name, draw.randrange(1, count + 1))
    model = _pod(draw, name, {GROUP: name})
    members = [copy.deepcopy(model) for _ in range(count)]
    for i, member in enumerate(members):
        member["metadata"] |= {"name": f"{name}-{i}", "uid": f"uid-{name}-{i}"}
    return [group, *members]


def _pod(draw: Random, name: str, labels: dict[str, str]) -> Json:
    notes: dict[str, object] = {}
    amounts = {"cpu": draw.choice(("500m", "1", "2", "3")), "memory": draw.choice(("1Gi", "3Gi"))}
    qos = draw.choice(("", "", "LSR", "LSE", "BE"))
    if qos:
        labels = {**labels, "koordinator.sh/qosClass": qos}
    if qos in ("LSR", "LSE"):
        amounts["cpu"] = draw.choice(("1", "2", "2", "4"))
        if draw.random() < 0.5:
            policy = draw.choice(("FullPCPUs", "SpreadByPCPUs"))
            notes[f"{KOORDINATOR}/resource-spec"] = {"preferredCPUBindPolicy": policy}
    elif not qos and draw.random() < 0.2:
        notes[f"{KOORDINATOR}/resource-spec"] = {"requiredCPUBindPolicy": "ConstrainedBurst"}
    if draw.random() < 0.2:
        policy = {"numaTopologyPolicy": draw.choice(NUMA_POLICIES)}
        notes[f"{KOORDINATOR}/numa-topology-spec"] = policy
    amounts |= _devices(draw, notes)
    if draw.random() < 0.2:
        amounts["hugepages-2Mi"] = draw.choice(("4Mi", "20Mi"))
    if draw.random() < 0.2:
        amounts["example.com/token"] = "1"
    found = pod(name, amounts, limits=amounts, labels=labels, annotations=notes)
    if draw.random() < 0.2:
        aside = {"name": "aside", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}
        found["spec"]["containers"].append(aside)
    elif draw.random() < 0.1:
        first = {"name": "first", "resources": {"requests": {"cpu": "1", "memory": "2Gi"}}}
        found["spec"]["initContainers"] = [first]
    return found


def _devices(draw: Random, notes: dict[str, object]) -> dict[str, str]:
    asked = draw.choice(
        (
            *({},) * 5,
            {"nvidia.com/gpu": "1"},
            {"nvidia.com/gpu": "2"},
            {"koordinator.sh/gpu": "50"},
            {"koordinator.sh/gpu-core": "30", "koordinator.sh/gpu-memory": "5Gi"},
            {"koordinator.sh/gpu.shared": "2", "koordinator.sh/gpu-memory-ratio": "80"},
            {"koordinator.sh/rdma": "50"},
            {"koordinator.sh/rdma": "100"},
            {"nvidia.com/gpu": "1", "koordinator.sh/rdma": "100"},
        )
    )
    if "koordinator.sh/rdma" in asked and draw.random() < 0.5:
        hint: Json = {"allocateStrategy": draw.choice(("ApplyForAll", "RequestsAsCount"))}
        if draw.random() < 0.5:
            hint = {"vfSelector": {"matchLabels": {"type": "general"}}}
        notes[f"{KOORDINATOR}/device-allocate-hint"] = {"rdma": hint}
    return dict(asked)


def with_placed(instance: Instance, placement: Placement) -> Instance:
    """Return the instance in which what was placed runs, and nobody waits."""
    pods = {pod.key: pod for gang in instance.gangs for pod in gang.pods}
    new = [RunningPod(pods[place.key], place) for place in placement.pods]
    return replace(instance, gangs=(), groups=(), running=(*instance.running, *new))


def after_binding(found: Iterable[Json], instance: Instance, placement: Placement) -> list[Json]:
    """Return what a cluster holds once it has taken the Bindings of a placement."""
    found = list(found)
    dump = placed_dump(objects_of(found), instance, placement)
    bound: dict[tuple[str, str], Any] = {
        (one["metadata"]["name"], one["metadata"]["namespace"]): one
        for file in emitted_files(dump, [EmitKind.BINDINGS])
        for one in json.loads(json.dumps(file.objects))
    }
    after = []
    for one in copy.deepcopy(found):
        metadata = one["metadata"]
        binding = bound.get((metadata["name"], metadata.get("namespace", "default")))
        if one["kind"] == "Pod" and binding is not None:
            assert binding["metadata"].get("uid", "") == metadata.get("uid", "")
            metadata["annotations"] |= binding["metadata"].get("annotations", {})
            one["spec"]["nodeName"] = binding["target"]["name"]
            one["status"]["phase"] = "Running"
        after.append(one)
    return after
