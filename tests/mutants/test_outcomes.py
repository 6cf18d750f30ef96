"""The tool that tries mutants: what counts as a kill, and what as an error."""

from pathlib import Path

import pytest

from mutants.run import Outcome, Stage, outcome_told, row_of, run

FAILURE = "FAILED test_it.py::test_it - assert 1 == 2\n1 failed in 0.01s\n"


@pytest.mark.parametrize(
    ("exit_code", "stdout", "stderr", "row"),
    [
        (0, "3 passed in 0.01s\n", "", "SURVIVED"),
        (5, "3 deselected in 0.01s\n", "", "SURVIVED"),
        (1, FAILURE, "", "FAILED test_it.py::test_it"),
        (1, "ERROR test_it.py::test_it - KeyError: 1\n", "", "ERROR test_it.py::test_it"),
        (1, "", "No module named pytest\n", "ERROR in exit code 1: No module named pytest"),
        (2, "ERROR test_it.py\n!!! stopping\n", "", "ERROR in exit code 2: ERROR test_it.py"),
        (2, FAILURE, "", "ERROR in exit code 2: FAILED test_it.py::test_it"),
        (4, "no tests ran in 0.00s\n", "", "ERROR in exit code 4: no tests ran in 0.00s"),
        (-9, "", "", "ERROR in exit code -9"),
    ],
)
def test_only_a_failed_test_kills(exit_code: int, stdout: str, stderr: str, row: str) -> None:
    """
    Any other end of pytest is an error, and is told as one.
    """
    assert row_of(outcome_told(exit_code, stdout, stderr)) == row


@pytest.mark.check
@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("def test_it(): pass", None),
        ("def test_it(): assert False", Outcome(True, "FAILED tests/test_it.py::test_it")),
        ("import no_such_module", Outcome(False, "exit code 2: ERROR tests/test_it.py")),
        (None, Outcome(False, "exit code 4: ERROR: file or directory not found: tests/test_it.py")),
    ],
)
def test_pytest_says_so(source: str | None, expected: Outcome | None, tmp_path: Path) -> None:
    """
    Test files that pass, fail, cannot be read, or are not there.
    """
    (tmp_path / "tests").mkdir()
    if source is not None:
        (tmp_path / "tests" / "test_it.py").write_text(source, "utf-8")

    assert run(Stage("one", ("tests/test_it.py",)), tmp_path, timeout_s=60) == expected


@pytest.mark.check
def test_tests_that_do_not_end_kill_nothing(tmp_path: Path) -> None:
    """
    They may be slow for another reason than the mutant.
    """
    (tmp_path / "test_it.py").write_text("import time\ntime.sleep(60)\n", "utf-8")

    assert run(Stage("one", ("test_it.py",)), tmp_path, timeout_s=1) == (
        False,
        "nothing within 1 s",
    )
