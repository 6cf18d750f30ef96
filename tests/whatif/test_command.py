"""``placer solve --what-if``: as it is and with changes, side by side.

The short answer is printed, and reasons of those alone for whom they are others.
"""

import json
from pathlib import Path

import pytest

from cli_samples import FOUR_CPUS, ONE_CORDONED, written
from commands import Placer
from placer_cli.app import main

CHANGES = """
apiVersion: placer/v1
kind: Changes
changes:
  - uncordon=b
  - scale=q:2
"""


@pytest.fixture
def cluster(tmp_path: Path) -> str:
    return written(tmp_path, ONE_CORDONED, "cluster.yaml")


def test_who_gains_a_place_is_said(cluster: str, placer: Placer) -> None:
    printed = placer("solve", cluster, "--what-if", "uncordon=b", "--engine", "greedy").out

    assert "What if uncordon=b?" in printed
    assert "1 pod gains a place." in printed
    assert "no place  b" in printed


def test_the_exit_code_is_that_of_the_answer_with_the_changes(cluster: str) -> None:
    assert main(["solve", cluster, "--what-if", "scale=q:3", "--engine", "greedy"]) == 1


def test_programs_get_both_answers(cluster: str, placer: Placer) -> None:
    arguments = ["solve", cluster, "--what-if", "uncordon=b", "--format", "json"]
    tree = json.loads(placer(*arguments, "--workers", "1").out)

    assert tree["changes"] == ["uncordon=b"]
    assert [one["node"] for one in tree["gained"]] == ["b"]
    assert (tree["lost"], tree["added"]) == ([], [])
    assert len(tree["before"]["pods"]), len(tree["after"]["pods"]) == (1, 2)


def test_many_changes_come_from_a_file(cluster: str, tmp_path: Path, placer: Placer) -> None:
    """
    All of them are one question.
    """
    file = tmp_path / "changes.yaml"
    file.write_text(CHANGES)

    arguments = ["solve", cluster, "--what-if", f"file={file}", "--engine", "greedy"]
    tree = json.loads(placer(*arguments, "--format", "json", code=1).out)
    assert tree["changes"] == ["uncordon=b", "scale=default/q:2"]
    assert [one["name"] for one in tree["added"]] == ["q-0"]


def test_faults_of_a_file_are_told_with_their_places(
    cluster: str, tmp_path: Path, placer: Placer
) -> None:
    file = tmp_path / "changes.yaml"
    file.write_text(CHANGES.replace("uncordon=b", "uncordn=b"))

    said = placer("solve", cluster, "--what-if", f"file={file}", code=2).err
    assert f"{file}:5: changes[0]: got 'uncordn=b'" in said
    assert "did you mean 'uncordon'?" in said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--what-if", "uncordon=x"], "--what-if uncordon=x: there is no node 'x'"),
        (["--what-if", "uncordon=a"], "is not cordoned"),
        (["--what-if", "nonsense"], "there is no change 'nonsense'"),
        (["--what-if", "cordon=a", "--what-if", "uncordon=a"], "contradict"),
        (["--what-if", "uncordon=b", "--output", "p.json"], "--what-if only asks"),
        (["--what-if", "file=none.yaml"], "none.yaml"),
    ],
)
def test_a_bad_question_is_one_line(
    cluster: str, arguments: list[str], said: str, placer: Placer
) -> None:
    error = placer("solve", cluster, *arguments, code=2).err

    assert said in error
    assert error.count("\n") == 1


def test_a_budget_of_moves_holds_for_any_instance(tmp_path: Path, placer: Placer) -> None:
    """
    The file has none; with one, a running pod makes room.
    """
    file = tmp_path / "cluster.yaml"
    file.write_text(
        ONE_CORDONED.replace(", cordoned: true", "").replace("{name: q, requests: {cpu: 3}}", "")
        .replace("cpu: 3", "cpu: 4").rstrip("- \n")
        + "\nrunning:\n  - {name: r, node: a, requests: {cpu: 1}}\n"
        "  - {name: s, node: b, requests: {cpu: 1}}\n"
    )  # fmt: skip

    placer("solve", str(file), "--workers", "1", code=1)
    printed = placer("solve", str(file), "--workers", "1", "--move-budget", "1")
    assert "1 running pod moved" in printed.out


CLUSTER = (
    FOUR_CPUS
    + """nodes:
  - {name: a, machine: small, labels: {zone: x}}
  - {name: b, machine: small, cordoned: true}
pods:
  - {name: p, requests: {cpu: 5}}
  - {name: q, requests: {cpu: 3}, nodeSelector: {zone: y}}
  - {name: r, requests: {cpu: 6}}
"""
)


@pytest.fixture
def three_wait(tmp_path: Path) -> str:
    return written(tmp_path, CLUSTER, "three_wait.yaml")


def test_reasons_that_stay_are_counted_alone(three_wait: str, placer: Placer) -> None:
    """
    With the node uncordoned other numbers of nodes keep all three off, by the same rules.
    """
    printed = placer("solve", three_wait, "--what-if", "uncordon=b", code=1).out

    assert "3 pods wait for the same reason as before (placer explain says why)" in printed
    assert "Without a place" not in printed


def test_who_asks_for_less_and_waits_still_is_told_why(three_wait: str, placer: Placer) -> None:
    printed = placer("solve", three_wait, "--what-if", "give-up=q:nodeSelector=zone", code=1).out
    assert "1 pod gains a place." in printed
    assert "2 pods wait for the same reason as before" in printed

    command = ["solve", three_wait, "--what-if", "ask-less=r:cpu=5"]
    _, told = placer(*command, code=1).out.split("Without a place, for another reason than before")
    assert "asks 5 CPUs" in told
    assert "\nr " in told
    assert "\np " not in told
    assert "2 more pods wait for the same reason as before" in told
