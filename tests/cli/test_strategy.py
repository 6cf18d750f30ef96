"""``--strategy``: the last tier that a person asks for, named in every answer."""

import json
from pathlib import Path

from commands import Placer
from placer_cli.exits import ExitCode

FILE = str(Path(__file__).parents[2] / "instances" / "rules" / "strategies.yaml")
FAST = ("--engine", "greedy", "--workers", "1")


def test_the_table_and_the_finding_name_it(tmp_path: Path, placer: Placer) -> None:
    """
    What solve wrote by a strategy of its own is verified by that one.
    """
    answer = str(tmp_path / "answer.json")

    solved = placer("solve", FILE, *FAST, "--strategy", "spread", "--output", answer).out
    verified = placer("verify", FILE, answer).out

    for out in (solved, verified):
        assert "How good it is (strategy: spread)" in out
        assert "spread.pairs" in out
        assert "least-requested" not in out


def test_programs_find_it(tmp_path: Path, placer: Placer) -> None:
    """
    Without the option it is the file's.
    """
    answer = tmp_path / "answer.json"
    text = placer("solve", FILE, *FAST, "--format", "json").out
    answer.write_text(text, encoding="utf-8")
    verified = json.loads(placer("verify", FILE, str(answer), "--format", "json").out)

    assert json.loads(text)["strategy"] == verified["strategy"] == "least-requested"
    assert verified["breaches"] == []


def test_an_unknown_one_is_refused_with_the_nearest(placer: Placer) -> None:
    """
    One line, and exit code 2.
    """
    printed = placer("solve", FILE, "--strategy", "most-balance", code=ExitCode.BAD_INPUT)

    assert printed.err == (
        "placer: --strategy: 'most-balance' is not one of 'usable', 'pack', 'spread', "
        "'least-requested', 'most-balanced', 'expected'; did you mean 'most-balanced'? "
        "(see placer solve --help)\n"
    )
