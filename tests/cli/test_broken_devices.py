"""The command tells of running pods on broken devices (D6)."""

import json
from pathlib import Path

import pytest

from cli_samples import written
from placer_cli.app import main
from placer_cli.exits import Exit

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
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    The device that somebody holds, and not the one that nobody does.
    """
    command, *options = words

    assert main([command, written(tmp_path, INSTANCE), *options]) == Exit.DONE
    shown = " ".join(capsys.readouterr().out.split())
    assert WORDS in shown
    assert "gpu 2 of node" not in shown


def test_verify_names_them_in_both_formats(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    They are no breach: the placement did not put them there.
    """
    instance = written(tmp_path, INSTANCE)
    placement = written(
        tmp_path, json.dumps({"apiVersion": "placer/v1", "kind": "Placement", "pods": []}), "p.json"
    )

    assert main(["verify", instance, placement]) == Exit.DONE
    assert WORDS in " ".join(capsys.readouterr().out.split())
    assert main(["verify", instance, placement, "--format", "json"]) == Exit.DONE
    assert json.loads(capsys.readouterr().out)["broken"] == [
        {"node": "n", "type": "gpu", "minor": 1, "pods": ["a", "b"]}
    ]
