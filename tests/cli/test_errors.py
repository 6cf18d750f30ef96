"""Every failure is one line on standard error, with the right exit code."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cli_samples import SMALL, written
from commands import Placer
from placer_cli.app import main
from placer_cli.exits import ExitCode

PLACER = [sys.executable, "-c", "import sys; from placer_cli.app import main; sys.exit(main())"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["solve"], "INSTANCE is missing: expected INSTANCE... (see placer solve --help)"),
        (["verify", "a.yaml"], "PLACEMENT is missing: expected INSTANCE... PLACEMENT (see"),
        (["sovle", "a"], "No such command 'sovle'. Did you mean 'solve'"),
        (["solve", "a", "--tme-limit", "3"], "--tme-limit; did you mean '--time-limit'? (see"),
        (["solve", "a", "--frobnicate"], "No such option: --frobnicate (see placer solve --help)"),
        (
            ["solve", "a", "--seed"],
            "Option '--seed' requires an argument (see placer solve --help)",
        ),
        (
            ["plan", "fit", "a", "--pod"],
            "'--pod' requires an argument (see placer plan fit --help)",
        ),
        (["solve", "a", "-x"], "No such option: -x (see placer solve --help)"),
        (["explain", "a", "--verbose"], "goes before the command: placer --verbose explain (see"),
        (["solve", "a", "--time-limit", "0"], "--time-limit is 0; it must be 0.001 or more"),
        (["solve", "a", "--time-limit", "nan"], "--time-limit is nan; it must be 10,000,000 or"),
        (["solve", "a", "--time-limit", "inf"], "--time-limit is inf; it must be 10,000,000 or"),
        (["solve", "a", "--time-limit", "1e8"], "--time-limit is 1e8; it must be 10,000,000 or"),
        (["solve", "a", "--time-limit", "soon"], "--time-limit is 'soon'; it must be a number"),
        (["solve", "a", "--work-limit", "9" * 30], "; it must be 10,000,000 or less"),
        (["solve", "a", "--workers", "1025"], "--workers is 1025; it must be 1,024 or less"),
        (["solve", "a", "--workers", "two"], "--workers is 'two'; it must be a whole number"),
        (["solve", "a", "--seed", "-1"], "--seed is -1; it must be 0 or more"),
        (["solve", "a", "--seed", "2147483648"], "2147483648; it must be 2,147,483,647 or less"),
        (["solve", "a", "--format", "xml"], "'xml' is not one of 'table', 'json', 'yaml'"),
        (["solve", "nowhere.yaml"], "nowhere.yaml: "),
        (["solve", "."], ".: "),
        (["verify", "nowhere.yaml", "p.json"], "nowhere.yaml: "),
        (["validate", "nowhere.yaml"], "nowhere.yaml: "),
        (["show", "."], ".: "),
    ],
)
def test_bad_usage_and_missing_files_end_with_two(
    arguments: list[str], words: str, placer: Placer
) -> None:
    """
    One line that names the value, nothing on standard output, no traceback.
    """
    captured = placer(*arguments, code=ExitCode.BAD_INPUT)

    assert captured.err.startswith("placer: ")
    assert words in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""


@pytest.mark.parametrize(
    ("command", "typed", "meant"),
    [
        ("solve", "--seconds", "--time-limit"),
        ("solve", "--SECONDS=3", "--time-limit"),
        ("solve", "--secnds", "--time-limit"),
        ("solve", "--timeout", "--time-limit"),
        ("solve", "--time_limit", "--time-limit"),
        ("explain", "--time-limit", "--seconds"),
        ("plan buy", "--timeout", "--seconds"),
        ("plan buy", "--threads", "--workers"),
        ("plan fit", "--workers", "--processes"),
        ("solve", "--json", "--format json"),
        ("solve", "--out", "--output"),
        ("examples", "--output", "--to"),
        ("solve", "--sede", "--seed"),
        ("solve", "--policy", "--strategy"),
    ],
)
def test_an_unknown_option_is_answered_with_the_one_that_is_meant(
    command: str, typed: str, meant: str, placer: Placer
) -> None:
    """
    By what it means, whatever another option is called, and else by its letters.
    """
    printed = placer(*command.split(), "a.yaml", typed, code=ExitCode.BAD_INPUT)

    name = typed.partition("=")[0]
    said = f"placer: No such option: {name}; did you mean '{meant}'? (see placer {command} --help)"
    assert printed.err == f"{said}\n"


def test_the_ends_of_the_ranges_are_allowed(tmp_path: Path) -> None:
    """
    The largest seed and limits do not upset the search.
    """
    largest = "--seed 2147483647 --time-limit 10000000 --work-limit 10000000 --workers 1"

    assert main(["solve", written(tmp_path, SMALL), *largest.split()]) == ExitCode.DONE


@pytest.mark.parametrize("arguments", [[], ["queue"], ["slots"]])
def test_no_command_at_all_gets_the_help(arguments: list[str], placer: Placer) -> None:
    """
    Who types `placer` alone learns what there is; it counts as wrong usage still.
    """
    err = placer(*arguments, code=ExitCode.BAD_INPUT).err

    assert err.startswith("Usage: placer")
    assert "Commands:\n" in err


def test_a_file_that_may_not_be_read(tmp_path: Path, placer: Placer) -> None:
    """
    A file without read permission is named.
    """
    file = written(tmp_path, SMALL)
    Path(file).chmod(0)
    if os.access(file, os.R_OK):
        pytest.skip("this user may read every file, as root may")

    assert f"'{file}' is not readable" in placer("solve", file, code=ExitCode.BAD_INPUT).err


def test_each_bad_file_is_named_and_the_good_ones_pass(tmp_path: Path, placer: Placer) -> None:
    """
    `validate` looks at all files; one bad one is enough for exit code 2.
    """
    good = written(tmp_path, SMALL)
    bad = written(tmp_path, SMALL.replace("machine:", "mashine: x, machine:"), "bad.yaml")

    captured = placer("validate", good, bad, good, code=ExitCode.BAD_INPUT)

    assert captured.out.count("an instance of 2 nodes, 0 running pods, 3 waiting pods") == 2
    assert captured.err.startswith(f"placer: {bad}:5: nodes[0].mashine: ")
    assert captured.err.count("\n") == 1


def test_files_of_one_instance_are_validated_together(tmp_path: Path, placer: Placer) -> None:
    """
    With --together files are read as solve reads them.
    """
    head = "apiVersion: placer/v1\nkind: Instance\n"
    nodes = written(tmp_path, head + "nodes: [{name: a, machine: dgx-2}]\n", "nodes.yaml")
    pods = written(tmp_path, head + "pods: [{name: p, requests: {gpu: 16}}]\n", "pods.yaml")

    printed = placer("validate", "--together", nodes, pods)
    assert "an instance of 1 node, 0 running pods, 1 waiting pod" in printed.out


def test_a_defect_of_ours_is_called_one(
    tmp_path: Path, placer: Placer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    An unexpected exception names itself and asks for a report; a traceback is on demand.
    """

    def broken(*_: object) -> None:
        raise ZeroDivisionError("no nodes")

    monkeypatch.setattr("placer.search.solver.solve", broken)
    file = written(tmp_path, SMALL)

    printed = placer("solve", file, code=ExitCode.DEFECT)
    assert printed.err.startswith(
        "placer: ZeroDivisionError: no nodes: this is a defect of placer, please report it"
    )
    monkeypatch.setenv("PLACER_DEBUG", "1")
    assert "Traceback" in placer("solve", file, code=ExitCode.DEFECT).err


def test_a_reader_that_goes_away_ends_the_command_quietly() -> None:
    """
    `placer machines | head -1` prints one line and no complaint.
    """
    command = f"{' '.join(map(_quoted, [*PLACER, 'show', 'mi300a-cpx']))} | head -1"

    run = subprocess.run(
        ["bash", "-c", f"{command}; echo ${{PIPESTATUS[0]}}"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert run.stderr == ""
    assert len(run.stdout.splitlines()) == 2
    assert run.stdout.splitlines()[1] in (str(int(ExitCode.BROKEN_PIPE)), "0")


@pytest.mark.parametrize(
    ("closed", "code", "words"),
    [
        (">&-", ExitCode.BAD_INPUT, "placer: standard output is closed; give it a place"),
        ("<&- >&-", ExitCode.BAD_INPUT, "placer: standard output is closed; give it a place"),
        ("2>&-", ExitCode.DONE, ""),
        ("<&-", ExitCode.DONE, "read in "),
    ],
)
def test_a_closed_stream_is_no_defect(
    closed: str, code: ExitCode, words: str, tmp_path: Path
) -> None:
    """
    Without standard output there is one line; the other two streams may be missing.
    """
    command = [*PLACER, "solve", written(tmp_path, SMALL), "--engine", "greedy"]

    run = subprocess.run(
        ["bash", "-c", f"{' '.join(map(_quoted, command))} {closed}"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert run.returncode == code
    assert run.stderr.startswith(words)
    assert run.stderr.count("\n") == (1 if words else 0)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_said() -> None:
    """
    What cannot be printed is not lost in silence.
    """
    with Path("/dev/full").open("w") as full:
        run = subprocess.run(
            [*PLACER, "machines"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )

    assert run.returncode == ExitCode.BAD_INPUT
    assert run.stderr == "placer: output: No space left on device\n"


def _quoted(word: str) -> str:
    return f"'{word}'"
