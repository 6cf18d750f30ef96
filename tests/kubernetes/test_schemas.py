"""Objects that are written pass the schemas of the cluster that takes them (C14, D11)."""

import copy
import json
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml

from dump_worlds import dump_world, objects_of
from json_schemas import SchemaError, check_object
from kubernetes_worlds import device, pod, topology
from placer.kubernetes.dump import instance_of_cluster_objects, read_dump
from placer.kubernetes.emit.kinds import EmitKind, emitted_files
from placer.kubernetes.emit.placed_pods import placed_dump
from placer.kubernetes.emit.writer import object_file_text
from placer.kubernetes.objects import ClusterObjects
from placer.node.discover import discover_hardware, machine_from_inventory
from placer.node.discover.report import DiscoverOutputKind, discovered_machine_to_dict
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.files.errors import InputError
from placer_models.kubernetes.device import read_kube_koordinator_device
from placer_models.placement import PartlyPlaced, Placed

ASKED = {
    f"scheduling.koordinator.sh/{name}"
    for name in ("resource-spec", "numa-topology-spec", "device-allocate-hint")
}
"""Annotations by which a pod asks for something."""

SEEDS = range(6)

CHECKOUT = Path(__file__).parents[2]
DUMP = CHECKOUT / "instances/dumps/cluster.yaml"
HOST = CHECKOUT / "instances/dumps/gpu-host.xml"


def written(objects: ClusterObjects) -> list[Any]:
    """Return all that is written of what gets a place, as it stands in the files."""
    instance, _ = instance_of_cluster_objects(objects)
    answer = solve(instance, SolveOptions(Engine.GREEDY, 10, None, workers=1, seed=0))
    if not isinstance(answer, Placed | PartlyPlaced):
        return []
    dump = placed_dump(objects, instance, answer.placement)
    # YAML holds JSON as well.
    texts = [object_file_text(file) for file in emitted_files(dump, EmitKind)]
    return [one for text in texts for one in yaml.safe_load_all(text)]


@cache
def world(seed: int) -> list[Any]:
    """Return all that is written of a random cluster."""
    return written(objects_of(dump_world(Random(seed))))


def test_all_kinds_pass_the_schemas() -> None:
    """
    Of random clusters: bindings, patches, annotations and whole pods.
    """
    found = [one for seed in SEEDS for one in world(seed)]
    for one in found:
        check_object(one)
    kinds = [one["kind"] for one in found]

    assert kinds.count("Binding") > 10
    assert kinds.count("Pod") > 20


def test_all_kinds_say_the_same_of_a_pod() -> None:
    """
    Whichever of them a cluster is given, the pod ends up with the same annotations and node.
    """
    for seed in SEEDS:
        said: dict[str, list[Any]] = {}
        for one in world(seed):
            is_whole = "spec" in one or "target" in one
            node = one.get("target", {}).get("name") or one.get("spec", {}).get("nodeName")
            notes = one["metadata"].get("annotations", {})
            ours = {key: notes[key] for key in notes if key not in ASKED}
            said.setdefault(one["metadata"]["name"], []).append((ours, node if is_whole else None))
        for name, found in said.items():
            assert len({json.dumps(ours, sort_keys=True) for ours, _ in found}) == 1, name
            assert len({node for _, node in found if node}) == 1, name


def test_the_example_passes_the_schemas() -> None:
    """
    What is read of the example, and what is written of it.
    """
    objects = ClusterObjects(keeps_whole=True)
    read_dump([DUMP], objects)
    known = {"Pod", "Device", "NodeResourceTopology"}
    read = [one for one in yaml.safe_load(DUMP.read_text())["items"] if one["kind"] in known]
    for one in (*read, *written(objects)):
        check_object({key: value for key, value in one.items() if key != "status"})


@pytest.mark.parametrize(
    "kind", [DiscoverOutputKind.NODE_RESOURCE_TOPOLOGY, DiscoverOutputKind.DEVICE]
)
def test_what_discover_writes_passes_the_schemas(kind: DiscoverOutputKind) -> None:
    """
    Both objects of a node that Placer looked into itself.
    """
    check_object(
        discovered_machine_to_dict(machine_from_inventory(discover_hardware(HOST, [])), kind)
    )


def test_devices_that_are_written_are_read_again() -> None:
    """
    Who they are, where they are, and what they have.
    """
    found = machine_from_inventory(discover_hardware(HOST, []))

    part = read_kube_koordinator_device(
        discovered_machine_to_dict(found, DiscoverOutputKind.DEVICE)
    )

    assert part.identity.name == found.node().name
    for read, known in zip(part.devices, found.machine.devices, strict=True):
        for name in ("type", "minor", "id", "memory_bytes", "numa_node", "package", "bus_id"):
            assert getattr(read, name) == getattr(known, name)
        assert read.healthy == found.node().is_healthy(known)
        assert read.virtual_functions == known.virtual_functions
        assert read.pcie_switch == (known.pcie_switch or known.pcie_root)


def test_devices_that_are_known_by_number_alone_are_not_written(tmp_path: Path) -> None:
    """
    Zones of another agent's object tell how many there are, and not which.
    """
    zones = topology()
    amounts = {"capacity": "2", "allocatable": "2", "available": "2"}
    zones["zones"][0]["resources"].append({"name": "nvidia.com/gpu", **amounts})
    file = tmp_path / "topology.json"
    file.write_text(json.dumps(zones))
    found = machine_from_inventory(discover_hardware(file, []))

    with pytest.raises(InputError, match="gpu 0 has neither an id nor a bus id"):
        discovered_machine_to_dict(found, DiscoverOutputKind.DEVICE)


WRONG = [
    ("Pod", ["metadata", "annotations", "a"], 1),
    ("Pod", ["spec", "nodName"], "n1"),
    ("Pod", ["spec", "containers", 0, "resources", "requests", "cpu"], "2 CPUs"),
    ("Binding", ["target"], None),
    ("Binding", ["metadata", "resourceVersion"], 7),
    ("Device", ["spec", "devices", 0, "minor"], "0"),
    ("Device", ["spec", "devices", 0, "topology", "nodeID"], None),
    ("NodeResourceTopology", ["zones", 0, "resources", 0, "capacity"], "a lot"),
]


@pytest.mark.parametrize(("kind", "path", "value"), WRONG)
def test_the_schemas_refuse_what_is_wrong(kind: str, path: list[Any], value: object) -> None:
    """
    Else they would not show that anything is right.
    """
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "p", "resourceVersion": "7"},
        "target": {"kind": "Node", "name": "n1"},
    }
    whole = {"Pod": pod("p"), "Binding": binding, "Device": device()}
    found = copy.deepcopy(whole.get(kind, topology()))
    found.pop("status", None)
    check_object(found)
    *above, last = path
    part: Any = found
    for step in above:
        part = part[step]
    if value is None:
        del part[last]
    else:
        part[last] = value

    with pytest.raises(SchemaError):
        check_object(found)
