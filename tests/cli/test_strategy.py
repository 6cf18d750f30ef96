"""``--strategy``: the last tier that a person asks for, named in every answer."""

import json
from pathlib import Path

import pytest

from placer_cli.app import main
from placer_cli.exits import Exit

FILE = str(Path(__file__).parents[2] / "instances" / "rules" / "strategies.yaml")
FAST = ("--engine", "greedy", "--workers", "1")


def test_the_table_and_the_finding_name_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    What solve wrote by a strategy of its own is verified by that one.
    """
    answer = str(tmp_path / "answer.json")

    assert main(["solve", FILE, *FAST, "--strategy", "spread", "--output", answer]) == Exit.DONE
    solved = capsys.readouterr().out
    assert main(["verify", FILE, answer]) == Exit.DONE
    verified = capsys.readouterr().out

    for out in (solved, verified):
        assert "How good it is (strategy: spread)" in out
        assert "spread.pairs" in out
        assert "least-requested" not in out


def test_programs_find_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """
    Without the option it is the file's.
    """
    answer = tmp_path / "answer.json"
    main(["solve", FILE, *FAST, "--format", "json"])
    text = capsys.readouterr().out
    answer.write_text(text, encoding="utf-8")
    main(["verify", FILE, str(answer), "--format", "json"])
    verified = json.loads(capsys.readouterr().out)

    assert json.loads(text)["strategy"] == verified["strategy"] == "least-requested"
    assert verified["breaches"] == []


def test_an_unknown_one_is_refused_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    """
    One line, and exit code 2.
    """
    assert main(["solve", FILE, "--strategy", "most-balance"]) == Exit.BAD_INPUT

    assert capsys.readouterr().err == (
        "placer: --strategy: 'most-balance' is not one of 'usable', 'pack', 'spread', "
        "'least-requested', 'most-balanced', 'expected'; did you mean 'most-balanced'? "
        "(see placer solve --help)\n"
    )
