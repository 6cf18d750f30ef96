"""Defaults of a scheduler at the command line: in files, beside dumps, shown and checked (C22)."""

import json
from pathlib import Path

import pytest

from placer_cli.app import main
from placer_cli.exits import Exit

INSTANCES = Path(__file__).parents[2] / "instances"
FILE = str(INSTANCES / "rules" / "defaults.yaml")
DUMP, OURS = (str(INSTANCES / "dumps" / name) for name in ("cluster.yaml", "defaults.yaml"))
FAST = ("--engine", "greedy", "--workers", "1")


def test_validate_says_them(capsys: pytest.CaptureFixture[str]) -> None:
    """
    Of an instance, and of a dump with the document beside it.
    """
    assert main(["validate", FILE]) == Exit.DONE
    said = "; by default CPU bind policy SpreadByPCPUs, exclusive policy PCPULevel, NUMA policy "
    assert said in capsys.readouterr().out
    assert main(["validate", "--together", DUMP, OURS]) == Exit.DONE
    assert "; by default CPU bind policy SpreadByPCPUs" in capsys.readouterr().out
    assert main(["validate", DUMP]) == Exit.DONE
    assert "by default" not in capsys.readouterr().out


def test_show_says_what_is_left_of_them(capsys: pytest.CaptureFixture[str]) -> None:
    """
    All of them of a cluster, and of a node those that it has no word about.
    """
    assert main(["show", FILE]) == Exit.DONE
    assert "NUMA strategy LeastAllocated" in capsys.readouterr().out
    assert main(["show", FILE, "--node", "says"]) == Exit.DONE
    out = capsys.readouterr().out

    assert "by default exclusive policy PCPULevel" in out
    assert "LeastAllocated" not in out


def test_what_is_solved_under_defaults_is_verified_under_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    Beside a dump as in a file; without them the values of the tiers are others.
    """
    answer = str(tmp_path / "answer.json")
    assert main(["solve", DUMP, OURS, *FAST, "--output", answer]) == Exit.DONE
    assert main(["verify", DUMP, OURS, answer]) == Exit.DONE
    capsys.readouterr()
    assert main(["verify", DUMP, OURS, answer, "--format", "json"]) == Exit.DONE
    under = json.loads(capsys.readouterr().out)
    main(["verify", DUMP, answer, "--format", "json"])
    plain = json.loads(capsys.readouterr().out)

    assert "exclusivity.cores" in {tier["name"] for tier in under["tiers"]}
    assert "exclusivity.cores" not in {tier["name"] for tier in plain["tiers"]}


def test_a_dump_is_emitted_under_defaults(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    The document beside it is no object of the cluster, and nothing is written of it.
    """
    folder = tmp_path / "out"
    code = main(["solve", DUMP, OURS, *FAST, "--emit", "annotations", str(folder)])

    assert code == Exit.DONE
    assert "wrote" in capsys.readouterr().err
    assert [file.name for file in folder.rglob("*.yaml")] == ["annotations.yaml"]
