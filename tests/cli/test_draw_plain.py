"""Nodes of which a cluster says nothing but amounts: columns and bars that people know."""

import json
from pathlib import Path

import pytest

from kubernetes_worlds import Json, node, pod
from placer_cli.app import main
from placer_cli.exits import Exit

EIGHT = {"cpu": "16", "memory": "64Gi", "pods": "110", "nvidia.com/gpu": "8"}


def zoned(name: str, zone: str) -> Json:
    """Return a node in a zone that has eight GPUs."""
    return node(name, labels={"topology.kubernetes.io/zone": zone}, amounts=EIGHT)


def asking(name: str, gpus: int, **more: object) -> Json:
    """Return a pod that asks for 1.5 CPUs, 8 GiB and GPUs."""
    return pod(name, {"cpu": "1500m", "memory": "8Gi", "nvidia.com/gpu": str(gpus)}, **more)


@pytest.fixture
def dump(tmp_path: Path) -> str:
    """Return the file of a dump of two nodes without topologies; one pod runs, two wait."""
    items = [
        zoned("gpu-a", "eu-1a"),
        zoned("gpu-b", "eu-1b"),
        asking("runs", 6, nodeName="gpu-a"),
        asking("notebook", 2),
        asking("train", 8),
    ]
    file = tmp_path / "dump.json"
    file.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": items}))
    return str(file)


def rows(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Return the lines of what was printed, with single blanks."""
    return [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]


def test_solve_says_zone_cpus_memory_and_gpus(
    dump: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    No ids, no pool and no class where nobody tells of any.
    """
    assert main(["solve", dump, "--engine", "greedy"]) == Exit.DONE

    lines = rows(capsys)
    assert "pod node zone CPU memory GPUs" in lines
    assert "notebook gpu-a eu-1a 1.5 8Gi 2" in lines
    assert "train gpu-b eu-1b 1.5 8Gi 8" in lines
    assert not any("pool of" in line or " LS" in line for line in lines)


def test_a_cluster_has_bars_of_what_is_asked_for(
    dump: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    CPU, memory, GPUs and pods, out of what the node has for pods.
    """
    monkeypatch.setenv("COLUMNS", "120")
    assert main(["show", dump]) == Exit.DONE

    lines = rows(capsys)
    assert "node zone CPU memory GPU pods" in lines
    said = next(line for line in lines if line.startswith("gpu-a"))
    assert said.split()[1] == "eu-1a"
    for part in ("██·················· 1.5/16", "AAAAAA·· 6/8", "█··················· 1/110"):
        assert part.replace("·" * 10, "") in said.replace("·" * 10, "")
    assert "A runs █ asked for · free" in lines


def test_a_node_has_a_bar_for_each_resource(dump: str, capsys: pytest.CaptureFixture[str]) -> None:
    """
    With the letters of its pods, and no boxes of an inside that nobody knows.
    """
    assert main(["show", dump, "--node", "gpu-a"]) == Exit.DONE

    lines = rows(capsys)
    words = ("1.5 of 16", "8Gi of 64Gi", "6 of 8", "1 of 110")
    for name, said in zip(("CPU", "memory", "GPUs", "pods"), words, strict=True):
        bar = next(line for line in lines if line.startswith(f"{name} "))
        assert bar.endswith(said)
    assert "A runs running 1.5 8Gi 6" in lines
    assert not any("NUMA" in line for line in lines)
