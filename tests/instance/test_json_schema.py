"""The JSON Schema takes what the reader takes, and refuses what it refuses."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from json_schemas import faults
from placer.load import load_instance
from placer_models.files.errors import InputError
from placer_models.files.part import json_schema
from placer_models.instance.schema import InstanceFile

EXAMPLES = sorted((Path(__file__).parents[2] / "instances").glob("*.yaml"))
HEAD = "apiVersion: placer/v1\nkind: Instance\n"


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    """Return the schema as it is printed."""
    return json_schema(InstanceFile)


def refused(text: str, schema: dict[str, Any]) -> list[str]:
    """Return what an editor underlines."""
    documents = [tree for tree in yaml.safe_load_all(text) if tree["kind"] == "Instance"]
    return [fault for tree in documents for fault in faults(tree, schema, schema["$defs"])]


def test_the_schema_names_every_field(schema: dict[str, Any]) -> None:
    """
    Editors complete and check by it.
    """
    assert set(schema["properties"]) == {
        "apiVersion", "kind", "metadata", "machines", "networkTopology", "nodes", "pods", "gangs",
        "gangGroups", "running", "runningGangs", "moveBudget", "strategy", "deviceChoice",
        "defaults", "demand",
    }  # fmt: skip
    assert schema["additionalProperties"] is False
    assert schema["$defs"]["InstanceNodePart"]["required"] == ["name", "machine"]


def test_every_example_keeps_the_schema(schema: dict[str, Any], sample: str) -> None:
    """
    No editor complains about a file that is fine.
    """
    assert len(EXAMPLES) >= 14
    for text in (sample, *(path.read_text(encoding="utf-8") for path in EXAMPLES)):
        assert refused(text, schema) == []


TAKEN = [
    "name: 7",
    "name: a, labels: {zone: no, rack: 12, spare: true, height: 1.5}",
    "name: a, reservedCpus: 3",
    "name: a, reservedCpus: 0-3",
    *(f"name: a, numaPolicy: {word}" for word in ("None", "BestEffort", "SingleNUMANode")),
    *(f"name: a, numaPolicy: {word}" for word in ("none", "best-effort", "restricted")),
    "name: a, numaPolicy: single-numa-node",
    "name: a, unhealthyDevices: {gpu: [2]}",
    "name: a, checkpointDevices: {gpu: [2]}",
]
POD = "name: p, qos: LSR, requests: {cpu: 2, memory: 2e9}"
TAKEN_PODS = [
    "name: 007",
    "name: p, requests: {cpu: 1.5, memory: 64Gi, gpu: 1}",
    f"{POD}, cpuBindPolicy: FullPCPUs",
    f"{POD}, cpuBindPolicy: {{required: FullPCPUs}}",
    f"{POD}, cpuExclusivePolicy: PCPULevel",
    f"{POD}, cpuExclusivePolicy: Default",
    f"{POD}, cpuExclusivePolicy: {{required: NUMANodeLevel}}",
    f"{POD}, numaPolicy: single-numa-node",
    f"{POD}, nodeSelector: {{zone: true}}",
    f"{POD}, limits: {{cpu: 2}}",
    "name: p, requests: {gpu: 1, rdma: 1}, jointAllocate: {deviceTypes: [gpu, rdma]}",
    "name: p, requests: {gpu: 1, rdma: 1}, jointAllocate: {deviceTypes: [gpu, rdma], "
    "requiredScope: SamePCIe}",
    "name: p, requests: {koordinator.sh/rdma: 1}, vfSelector: {rdma: {type: [a, b], kind: c}}",
    "name: p, requests: {koordinator.sh/rdma: 1}, vfSelector: {rdma: {}}",
]
REFUSED_NODES = [
    "name:",
    "name: a, labels:",
    "name: a, labels: {zone: }",
    "name: a, reservedCpus:",
    "name: a, numaPolicy:",
    "name: a, numaPolicy: strict",
    "name: a, cordoned:",
    "name: a, unhealthyDevices: {gpu: }",
    "name: a, checkpointDevices: [2]",
    "name: a, cordoned: 1",
    "nome: a",
]
REFUSED_PODS = [
    "name: p, qos:",
    "name: p, replicas:",
    "name: p, replicas: '3'",
    "name: p, containers:",
    "name: p, requests: {cpu: }",
    "name: p, requests: {cpu: true}",
    "name: p, cpuBindPolicy:",
    "name: p, cpuBindPolicy: {}",
    "name: p, cpuExclusivePolicy: {}",
    f"{POD}, cpuExclusivePolicy: {{required: PCPULevel, preferred: Default}}",
    f"{POD}, cpuExclusivePolicy: pcpu",
    f"{POD}, cpuBindPolicy: {{required: }}",
    f"{POD}, cpuBindPolicy: {{required: FullPCPUs, preferred: Default}}",
    "name: p, numaPolicy:",
    "name: p, nodeSelector: {zone: }",
    "name: p, requests: {gpu: 1}, jointAllocate: {deviceTypes: [gpu]}",
    "name: p, requests: {koordinator.sh/rdma: 1}, vfSelector: {rdma: {type: []}}",
    "name: p, requests: {gpu: 1, rdma: 1}, jointAllocate: {deviceTypes: [gpu, rdma], "
    "requiredScope: SamePCIe, preferredScope: SamePCIe}",
    "name: p, requests: {gpu: 1, rdma: 1}, jointAllocate: {requiredScope: SamePCIe}",
]


def texts(nodes: list[str], pods: list[str]) -> Iterator[str]:
    """Yield an instance for each way to write a node or a pod."""
    for node in nodes:
        yield f"{HEAD}nodes: [{{machine: dgx-a100, {node}}}]\n"
    for pod in pods:
        yield f"{HEAD}nodes: [{{machine: dgx-a100, name: a}}]\npods: [{{{pod}}}]\n"


@pytest.mark.parametrize("text", [*texts(TAKEN, TAKEN_PODS)])
def test_what_the_reader_takes_the_schema_takes(
    text: str, schema: dict[str, Any], read: Callable[..., object]
) -> None:
    """
    Every spelling: text without quotes, the kubelet's words, a policy without its strength.
    """
    read(text)

    assert refused(text, schema) == []


@pytest.mark.parametrize("text", [*texts(REFUSED_NODES, REFUSED_PODS)])
def test_what_the_schema_refuses_the_reader_refuses(
    text: str, schema: dict[str, Any], tmp_path: Path
) -> None:
    """
    A field without a value above all: an editor underlines it before anything is run.
    """
    path = tmp_path / "a.yaml"
    path.write_text(text, encoding="utf-8")

    assert refused(text, schema) != []
    with pytest.raises(InputError):
        load_instance([path])


def test_an_item_of_a_list_may_be_null(schema: dict[str, Any], read: Callable[..., object]) -> None:
    """
    A device on no NUMA node, behind no known switch.
    """
    devices = "[{type: gpu, count: 2, numaNodes: [null, 0], pcieSwitches: [a, null]}]"
    text = (
        f"{HEAD}machines: [{{name: b, numaNodes: [{{id: 0, cpus: 0-3}}], devices: {devices}}}]\n"
        "nodes: [{name: n, machine: b}]\n"
    )
    read(text)

    assert refused(text, schema) == []
