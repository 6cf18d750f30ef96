"""Moves of running pods at the command line."""

import json
from pathlib import Path

import pytest

from commands import Placer
from placer_cli.app import main
from placer_cli.exits import ExitCode

INSTANCES = Path(__file__).parents[2] / "instances"
MOVES = str(INSTANCES / "rules" / "moves.yaml")
MISFIT = str(INSTANCES / "moving-misfit.yaml")


@pytest.fixture
def solved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    """Return the file of the example's answer, and what was printed."""
    file = str(tmp_path / "p.json")
    assert main(["solve", MOVES, "--workers", "1", "--output", file]) == ExitCode.DONE
    return file, capsys.readouterr().out


def test_an_answer_says_who_moves_from_where_to_where(solved: tuple[str, str]) -> None:
    """
    In the verdict, and as a table with a row for each.
    """
    file, out = solved
    moves = json.loads(Path(file).read_text(encoding="utf-8"))["moves"]

    assert out.startswith("1 of 1 pod placed, 2 running pods moved; optimal.")
    table = out.split("Running pods that move")[1].split("How good it is")[0]
    for move in moves:
        row = next(line.split() for line in table.splitlines() if line.startswith(move["name"]))
        assert row[:3] == [move["name"], move["from"], move["to"]]


def test_moves_are_verified(solved: tuple[str, str], placer: Placer, tmp_path: Path) -> None:
    """
    As the answer says them: no breach. With one left out of 'moves': a false claim.
    """
    file, _ = solved
    assert "1 of 1 pod placed, 2 running pods moved." in placer("verify", MOVES, file).out
    tree = json.loads(Path(file).read_text(encoding="utf-8"))
    short = tmp_path / "short.json"
    short.write_text(json.dumps({**tree, "moves": tree["moves"][1:]}), encoding="utf-8")

    command = ["verify", MOVES, str(short), "--format", "json"]
    (breach,) = json.loads(placer(*command, code=ExitCode.NOT_ALL).out)["breaches"]

    assert (breach["rule"], breach["subject"]) == ("claims", tree["moves"][0]["name"])


def test_a_move_says_which_rule_it_mends(tmp_path: Path, placer: Placer) -> None:
    """
    In the table and in the file, which is verified; after it the pod is no misfit any more.
    """
    file = tmp_path / "p.json"
    printed = placer("solve", MISFIT, "--workers", "1", "--output", str(file))
    assert "eval  old   new  cpu-allocatable" in printed.out
    tree = json.loads(file.read_text(encoding="utf-8"))
    assert [move["mends"] for move in tree["moves"]] == [["cpu-allocatable"]]
    placer("verify", MISFIT, str(file))

    drawn = placer("show", MISFIT, "--placement", str(file)).out

    assert "misfit: pod 'web'" in drawn
    assert "misfit: pod 'eval'" not in drawn


def test_a_false_claim_of_what_a_move_mends_is_found(tmp_path: Path, placer: Placer) -> None:
    """
    It names what is claimed, and what the pod breaks where it is.
    """
    file = tmp_path / "p.json"
    placer("solve", MISFIT, "--workers", "1", "--output", str(file))
    tree = json.loads(file.read_text(encoding="utf-8"))
    tree["moves"][0]["mends"] = []
    file.write_text(json.dumps(tree), encoding="utf-8")

    command = ["verify", MISFIT, str(file), "--format", "json"]
    (breach,) = json.loads(placer(*command, code=ExitCode.NOT_ALL).out)["breaches"]

    assert breach["message"] == (
        "the file claims that the move mends no rule, but where the pod is it breaks "
        "cpu-allocatable"
    )


def test_a_cluster_is_drawn_after_its_moves(solved: tuple[str, str], placer: Placer) -> None:
    """
    The node that was emptied holds the pod that waited, on all of its GPUs, and nobody else.
    """
    file, _ = solved
    tree = json.loads(Path(file).read_text(encoding="utf-8"))
    emptied = next(pod["node"] for pod in tree["pods"] if pod["name"] == "train")

    out = placer("show", MOVES, "--placement", file).out

    row = next(line.split() for line in out.splitlines() if line.startswith(emptied))
    assert row[-1] == "1"
    assert len(set(row[-2])) == 1
    assert "6 running pods" in out
    assert "1 of 1 pod placed" in out
