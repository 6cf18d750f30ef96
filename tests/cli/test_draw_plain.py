"""Nodes of which a cluster says nothing but amounts: columns and bars that people know."""

import json
from pathlib import Path

import pytest

from commands import Placer
from kubernetes_worlds import Json, node, pod

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


def test_solve_says_zone_cpus_memory_and_gpus(dump: str, placer: Placer) -> None:
    """
    No ids, no pool and no class where nobody tells of any.
    """
    lines = placer("solve", dump, "--engine", "greedy").rows

    assert "pod node zone CPU memory GPUs" in lines
    assert "notebook gpu-a eu-1a 1.5 8Gi 2" in lines
    assert "train gpu-b eu-1b 1.5 8Gi 8" in lines
    assert not any("pool of" in line or " LS" in line for line in lines)


def test_a_cluster_has_bars_of_what_is_asked_for(
    dump: str, placer: Placer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    CPU, memory, GPUs and pods, out of what the node has for pods.
    """
    monkeypatch.setenv("COLUMNS", "120")
    lines = placer("show", dump).rows

    assert "node zone CPU memory GPU pods" in lines
    said = next(line for line in lines if line.startswith("gpu-a"))
    assert said.split()[1] == "eu-1a"
    for part in ("██·················· 1.5/16", "AAAAAA·· 6/8", "█··················· 1/110"):
        assert part.replace("·" * 10, "") in said.replace("·" * 10, "")
    assert "A runs █ asked for · free" in lines


def test_a_node_has_a_bar_for_each_resource(dump: str, placer: Placer) -> None:
    """
    With the letters of its pods, and no boxes of an inside that nobody knows.
    """
    lines = placer("show", dump, "--node", "gpu-a").rows

    words = ("1.5 of 16", "8Gi of 64Gi", "6 of 8", "1 of 110")
    for name, said in zip(("CPU", "memory", "GPUs", "pods"), words, strict=True):
        bar = next(line for line in lines if line.startswith(f"{name} "))
        assert bar.endswith(said)
    assert "A runs running 1.5 8Gi 6" in lines
    assert not any("NUMA" in line for line in lines)


DOMAIN = "eu-central-1.compute.internal"
POD = "train-7f9c8d5b6-xk2lp"


@pytest.fixture
def clouds(tmp_path: Path) -> str:
    """Return the file of a dump with names as clouds and ReplicaSets make them."""
    items = [
        *(zoned(f"ip-10-0-112-{i}.{DOMAIN}", "eu-central-1a") for i in (37, 38)),
        *(asking(name, 8) for name in (POD, "train-7f9c8d5b6-b4tq9")),
    ]
    file = tmp_path / "clouds.json"
    file.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": items}))
    return str(file)


@pytest.mark.parametrize("width", [60, 80, 100, 140])
@pytest.mark.parametrize("command", ["solve", "show"])
def test_names_are_whole_or_broken_where_a_word_ends(
    command: str, width: int, clouds: str, placer: Placer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    A shared domain is said once before anything else goes; a line ends at no letter of a name.
    """
    monkeypatch.setenv("COLUMNS", str(width))
    text = placer(command, clouds, *(["--engine", "greedy"] if command == "solve" else [])).out

    if width >= 80:
        assert POD in text
        assert "eu-central-1a" in text
    whole = f"ip-10-0-112-37.{DOMAIN}" in text
    assert whole or ("ip-10-0-112-37.*" in text and f".* is .{DOMAIN}" in text)
    assert max(map(len, text.splitlines())) <= width
    pieces = {"train-7f9c8d5b6-", "xk2lp", "b4tq9", POD, "train-7f9c8d5b6-b4tq9"}
    words = [word for word in text.split() if "7f9c" in word or word in ("xk2lp", "b4tq9")]
    assert set(words) <= pieces


def test_two_domains_are_two_names(tmp_path: Path, placer: Placer) -> None:
    """
    A mark would stand for neither.
    """
    items = [zoned("a.east.example.internal", "z"), zoned("b.west.example.internal", "z")]
    file = tmp_path / "dump.json"
    file.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": items}))

    text = placer("show", str(file)).out

    assert ".*" not in text
    assert "a.east.example.internal" in text
