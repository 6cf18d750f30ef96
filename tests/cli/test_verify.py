"""``placer verify``: the judge at the command line."""

import json
import re
from pathlib import Path

import pytest

from cli_samples import SMALL, written
from placer_cli.app import main
from placer_cli.exits import Exit


def placement(folder: Path, **changes: object) -> str:
    """Write a placement of the lone pod of SMALL; return its path."""
    pod = {
        "name": "web",
        "node": "gpu-0",
        "cpuset": "0-79",
        "containers": [{"name": "main", "cpuset": "0-79"}],
        "memory": {"0": 2**30},
    }
    tree = {"apiVersion": "placer/v1", "kind": "Placement", "pods": [pod | changes]}
    return written(folder, json.dumps(tree), "placement.json")


def test_what_solve_writes_has_no_breach(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    Solve, then verify: no breach, and the same tiers.
    """
    instance, answer = written(tmp_path, SMALL), str(tmp_path / "p.json")
    main(["solve", instance, "--workers", "1", "--work-limit", "5", "--output", answer])
    capsys.readouterr()

    code = main(["verify", instance, answer])

    out = capsys.readouterr().out
    assert code == Exit.DONE
    assert out.startswith("No breach of ")
    assert "3 of 3 pods placed." in out
    assert "usable" in out


def test_a_breach_is_named_and_ends_with_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    Memory of a NUMA node that does not exist breaks the rule `memory`.
    """
    code = main(["verify", written(tmp_path, SMALL), placement(tmp_path, memory={"7": 2**30})])

    out = capsys.readouterr().out
    assert code == Exit.NOT_ALL
    assert out.splitlines()[0] == "1 breach"
    assert re.search(r"^memory  gpu-0  .*NUMA node 7", out, re.MULTILINE)


def test_programs_get_breaches_and_tiers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    A breach has rule, subject and message; without one there are tiers.
    """
    instance = written(tmp_path, SMALL)
    main(["verify", instance, placement(tmp_path), "--format", "json"])
    good = json.loads(capsys.readouterr().out)
    main(["verify", instance, placement(tmp_path, node="gpu-7"), "--format", "json"])
    bad = json.loads(capsys.readouterr().out)

    assert good["breaches"] == []
    assert {"name", "unit", "sense", "value"} == set(good["tiers"][0])
    assert bad["tiers"] == []
    assert {"rule", "subject", "message"} == set(bad["breaches"][0])
    assert bad["breaches"][0]["rule"] == "known"
