"""Defaults of a scheduler at the command line: in files, beside dumps, shown and checked (C22)."""

import json
from pathlib import Path

from commands import Placer

INSTANCES = Path(__file__).parents[2] / "instances"
FILE = str(INSTANCES / "rules" / "defaults.yaml")
DUMP, OURS = (str(INSTANCES / "dumps" / name) for name in ("cluster.yaml", "defaults.yaml"))
FAST = ("--engine", "greedy", "--workers", "1")


def test_validate_says_them(placer: Placer) -> None:
    """
    Of an instance, and of a dump with the document beside it.
    """
    printed = placer("validate", FILE)
    said = "; by default CPU bind policy SpreadByPCPUs, exclusive policy PCPULevel, NUMA policy "
    assert said in printed.out
    printed = placer("validate", "--together", DUMP, OURS)
    assert "; by default CPU bind policy SpreadByPCPUs" in printed.out
    assert "by default" not in placer("validate", DUMP).out


def test_show_says_what_is_left_of_them(placer: Placer) -> None:
    """
    All of them of a cluster, and of a node those that it has no word about.
    """
    assert "NUMA strategy LeastAllocated" in placer("show", FILE).out
    out = placer("show", FILE, "--node", "says").out

    assert "by default exclusive policy PCPULevel" in out
    assert "LeastAllocated" not in out


def test_what_is_solved_under_defaults_is_verified_under_them(
    tmp_path: Path, placer: Placer
) -> None:
    """
    Beside a dump as in a file; without them the values of the tiers are others.
    """
    answer = str(tmp_path / "answer.json")
    placer("solve", DUMP, OURS, *FAST, "--output", answer)
    placer("verify", DUMP, OURS, answer)
    under = json.loads(placer("verify", DUMP, OURS, answer, "--format", "json").out)
    plain = json.loads(placer("verify", DUMP, answer, "--format", "json", code=1).out)

    assert "exclusivity.cores" in {tier["name"] for tier in under["tiers"]}
    assert "exclusivity.cores" not in {tier["name"] for tier in plain["tiers"]}


def test_a_dump_is_emitted_under_defaults(tmp_path: Path, placer: Placer) -> None:
    """
    The document beside it is no object of the cluster, and nothing is written of it.
    """
    folder = tmp_path / "out"
    assert "wrote" in placer("solve", DUMP, OURS, *FAST, "--emit", "annotations", str(folder)).err

    assert [file.name for file in folder.rglob("*.yaml")] == ["annotations.yaml"]
