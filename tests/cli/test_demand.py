"""``placer solve --demand FILE``: other expected pods, another node."""

import json
from pathlib import Path

import pytest

from commands import Placer
from placer_cli.exits import ExitCode

CHECKOUT = Path(__file__).parents[2]
EXPECTED = str(CHECKOUT / "instances" / "rules" / "expected.yaml")
WHOLE_NODES = "apiVersion: placer/v1\nkind: Demand\npods:\n  - {cpu: 60, gpus: 4}\n"


@pytest.fixture
def demand(tmp_path: Path) -> str:
    """A file by which only pods that want all of node B are expected."""
    path = tmp_path / "demand.yaml"
    path.write_text(WHOLE_NODES, encoding="utf-8")
    return str(path)


def test_the_file_of_expected_pods_goes_before_the_instance(demand: str, placer: Placer) -> None:
    """
    By the instance node A's CPUs are scarce; if pods of whole large nodes come, B is kept.
    """
    for more, node in ((), "B"), (("--demand", demand), "A"):
        arguments = ["solve", EXPECTED, "--engine", "greedy", "--format", "json", *more]
        (place,) = json.loads(placer(*arguments).out)["pods"]

        assert place["node"] == node


def test_verify_measures_by_the_same_pods(demand: str, tmp_path: Path, placer: Placer) -> None:
    """
    Without them the value of the tier is another one, which is a false claim.
    """
    answer, more = str(tmp_path / "answer.json"), ["--demand", demand]
    solving = ["solve", EXPECTED, "--engine", "greedy", "--output", answer, *more]
    placer(*solving)

    placer("verify", EXPECTED, answer, *more)
    assert "expected" in placer("verify", EXPECTED, answer, code=ExitCode.NOT_ALL).out


def test_a_bad_file_is_told_in_one_line(tmp_path: Path, placer: Placer) -> None:
    """
    With its name, line and field; nothing is solved.
    """
    bad = tmp_path / "bad.yaml"
    bad.write_text("apiVersion: placer/v1\nkind: Demand\npods: [{gpus: none}]\n", encoding="utf-8")

    printed = placer("solve", EXPECTED, "--demand", str(bad), code=ExitCode.BAD_INPUT)
    assert "bad.yaml:3: pods[0].gpus: got 'none'" in printed.err
