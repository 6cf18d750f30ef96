"""The command tells of running pods on broken devices (D6)."""

import json
from pathlib import Path

import pytest

from cli_samples import written
from commands import Placer
from placer.load import load_instance
from placer_cli.exits import ExitCode
from placer_models.instance.nodes import node_to_dict

INSTANCE = """
apiVersion: placer/v1
kind: Instance
machines:
  - name: box
    numaNodes: [{id: 0, memory: 8Gi, cpus: 0-3}]
    devices: [{type: gpu, count: 3, memory: 16Gi}]
nodes: [{name: n, machine: box, unhealthyDevices: {gpu: [1, 2]}}]
running:
  - {name: a, node: n, requests: {koordinator.sh/gpu: 50}, devices: {gpu: [1]}}
  - {name: b, node: n, requests: {koordinator.sh/gpu: 50}, devices: {gpu: [1]}}
  - {name: c, node: n, requests: {gpu: 1}, devices: {gpu: [0]}}
"""
WORDS = "gpu 1 of node 'n' is unhealthy, and running a, b hold it"


@pytest.mark.parametrize("words", [["validate"], ["show"], ["show", "--node", "n"]])
def test_running_pods_on_a_broken_device_are_named(
    words: list[str], tmp_path: Path, placer: Placer
) -> None:
    """
    The device that somebody holds, and not the one that nobody does.
    """
    command, *options = words

    shown = placer(command, written(tmp_path, INSTANCE), *options).flat
    assert WORDS in shown
    assert "gpu 2 of node" not in shown


def test_verify_names_them_in_both_formats(tmp_path: Path, placer: Placer) -> None:
    """
    They are no breach: the placement did not put them there.
    """
    instance = written(tmp_path, INSTANCE)
    placement = written(
        tmp_path, json.dumps({"apiVersion": "placer/v1", "kind": "Placement", "pods": []}), "p.json"
    )

    assert WORDS in placer("verify", instance, placement).flat
    printed = placer("verify", instance, placement, "--format", "json")
    assert json.loads(printed.out)["broken"] == [
        {"node": "n", "type": "gpu", "minor": 1, "pods": ["a", "b"]}
    ]


KEPT = """
apiVersion: placer/v1
kind: Instance
machines:
  - name: box
    numaNodes: [{id: 0, memory: 8Gi, cpus: 0-3}]
    devices: [{type: gpu, count: 3, memory: 16Gi}]
nodes:
  - {name: n, machine: box, unhealthyDevices: {gpu: [0]}, checkpointDevices: {gpu: [0, 1]}}
  - {name: m, machine: box, unhealthyDevices: {gpu: [0, 1]}}
running: [{name: a, node: n, requests: {koordinator.sh/gpu: 50}, devices: {gpu: [1]}}]
pods: [{name: waits, requests: {gpu: 2}}]
"""


def test_devices_that_a_checkpoint_keeps_are_given_to_nobody_and_not_called_broken(
    tmp_path: Path, placer: Placer
) -> None:
    """
    The reason names the checkpoint, which kept one GPU: the other is broken (D12).
    """
    file = written(tmp_path, KEPT)
    command = ["solve", file, "--workers", "1", "--work-limit", "10"]
    shown = placer(*command, code=ExitCode.NOT_ALL).flat
    assert "never fits (2 of 2 nodes: device-count asks 2 gpu)" in shown
    assert "on 1 of 2 nodes a kubelet's checkpoint keeps 1 gpu from it" in shown

    shown = placer("show", file, "--node", "n").flat
    assert "unhealthy, or kept by a checkpoint" in shown
    assert "is unhealthy, and running" not in shown

    place = {
        **{"name": "waits", "namespace": "default", "node": "n", "cpuset": "0-3"},
        "devices": [{"type": "gpu", "minor": minor} for minor in (0, 1)],
    }
    document = {"apiVersion": "placer/v1", "kind": "Placement", "pods": [place]}
    placement = written(tmp_path, json.dumps(document), "p.json")
    shown = placer("verify", file, placement, code=ExitCode.NOT_ALL).flat
    assert "gpu 0 of node 'n', which is unhealthy; healthy are 2" in shown
    assert "gpu 1 of node 'n', which a kubelet's checkpoint keeps from it; healthy are 2" in shown


def test_devices_that_a_checkpoint_keeps_are_written_as_they_were_read(tmp_path: Path) -> None:
    """
    What is broken besides stays so.
    """
    (node, _) = load_instance([Path(written(tmp_path, KEPT))]).nodes
    assert node.unhealthy == {("gpu", 0), ("gpu", 1)}
    assert node.checkpoint_devices == {("gpu", 1)}
    text = node_to_dict(node, "box")
    assert (text["unhealthyDevices"], text["checkpointDevices"]) == ({"gpu": [0]}, {"gpu": [1]})


def test_a_checkpoint_keeps_devices_that_are_there(tmp_path: Path, placer: Placer) -> None:
    """
    Another is a slip of the pen.
    """
    wrong = KEPT.replace("checkpointDevices: {gpu: [0, 1]}", "checkpointDevices: {gpu: [0, 3]}")
    said = placer("validate", written(tmp_path, wrong), code=ExitCode.BAD_INPUT).err
    assert "checkpointDevices.gpu[1]: the machine box has no gpu 3; it has gpu 0-2" in said


def test_a_gang_hears_of_the_checkpoint_too(tmp_path: Path, placer: Placer) -> None:
    """
    Each member would fit by itself.
    """
    gang = "gangs: [{name: g, minimum: 2, pods: [{name: p, replicas: 2, requests: {gpu: 1}}]}]\n"
    file = written(tmp_path, KEPT.replace("pods: [{name: waits, requests: {gpu: 2}}]\n", gang))
    placer("solve", file, "--workers", "1", "--work-limit", "10")
    one = KEPT.replace("unhealthyDevices: {gpu: [0, 1]}", "unhealthyDevices: {gpu: [0, 1, 2]}")
    file = written(tmp_path, one.replace("pods: [{name: waits, requests: {gpu: 2}}]\n", gang))
    command = ["solve", file, "--workers", "1", "--work-limit", "10"]
    shown = placer(*command, code=ExitCode.NOT_ALL).flat
    assert "only 1 of 2 members of gang g fits on empty nodes (2 are needed)" in shown
    assert "on 1 of 2 nodes a kubelet's checkpoint keeps 1 gpu from it" in shown
