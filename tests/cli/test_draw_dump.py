"""What stands for a node's system is drawn as such, and is no pod of the cluster."""

import json
from pathlib import Path

from claim_worlds import (
    GPU_DRIVER,
    claim,
    claiming,
    device_class,
    gpu_listed,
    request,
    resource_slice,
)
from commands import Placer
from kubernetes_worlds import node

DUMP = Path(__file__).parents[2] / "instances/dumps/cluster.yaml"


def test_a_cluster_has_the_pods_that_kubectl_tells_of(placer: Placer) -> None:
    """
    17 of them run; each node keeps some CPU beside them.
    """
    lines = placer("show", str(DUMP)).rows

    assert lines[0] == "cluster · 6 nodes · 17 running pods · 6 waiting"
    assert [line.split()[-1] for line in lines if line.startswith(("worker", "cp"))] == [
        *("2/110", "4/110", "4/110")
    ]


def test_a_dump_is_said_to_hold_as_many(placer: Placer) -> None:
    """
    What stands for the system of a node is counted nowhere.
    """
    said = placer("validate", str(DUMP)).out

    assert said.endswith("an instance of 6 nodes, 17 running pods, 6 waiting pods and 1 gang\n")


def test_a_node_says_what_it_keeps(placer: Placer) -> None:
    """
    Beside what pods ask for, out of the rest.
    """
    lines = placer("show", str(DUMP), "--node", "worker-1").rows

    assert any(line.startswith("CPU A") and line.endswith(" 3.2 of 15.8") for line in lines)
    assert "0.2 CPUs kept for the system" in lines
    assert not any("node-system" in line for line in lines)


def test_few_misfits_of_a_rule_are_told(tmp_path: Path, placer: Placer) -> None:
    """
    A large cluster may have hundreds that are alike.
    """
    running = "".join(f"- {{name: r{i}, node: a, requests: {{cpu: 2}}}}\n" for i in range(5))
    pinned = tmp_path / "a.yaml"
    pinned.write_text(
        "apiVersion: placer/v1\nkind: Instance\nnodes:\n- {name: a, machine: dgx-a100, "
        "numaPolicy: SingleNUMANode}\nrunning:\n" + running
    )

    text = placer("show", str(pinned)).out

    assert text.count("misfit: ") == 3
    assert "and 2 more misfits (rule bound-pool)" in text


def test_devices_that_a_claim_chooses_are_drawn_as_whole_ones(
    tmp_path: Path, placer: Placer
) -> None:
    """
    The pod has all of both, and nothing is left of them to others.
    """
    large = f"device.capacity['{GPU_DRIVER}'].memory.compareTo(quantity('40Gi')) >= 0"
    sizes = ("10Gi", "80Gi", "80Gi")
    gpus = [gpu_listed(i, capacity={"memory": {"value": size}}) for i, size in enumerate(sizes)]
    asked = claim("c", request("gpus", large, count=2))
    items = [node(), resource_slice("n1", gpus), device_class(), asked, claiming()]
    dump, answer = tmp_path / "dump.json", tmp_path / "answer.json"
    dump.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    limits = ["--workers", "1", "--work-limit", "5", "--seed", "0"]

    command = ["solve", str(dump), *limits, "--output", str(answer)]
    row = next(line for line in placer(*command).out.splitlines() if line.startswith("p "))
    assert row.split()[-1] == "1-2"

    shown = ["show", str(dump), "--placement", str(answer), "--node", "n1"]
    assert "left of" not in placer(*shown).out
