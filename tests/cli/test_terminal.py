"""What the command asks of the terminal, and what it does without one."""

import os
import re
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from cli_samples import SMALL, written
from commands import Placer
from placer_cli.progress import solving_spinner

PLACER = [sys.executable, "-c", "import sys; from placer_cli.app import main; sys.exit(main())"]
CHECKOUT = Path(__file__).parents[2]
COMMANDS = ("solve", "verify", "show", "validate", "schema", "machines")


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    clean = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")}
    return subprocess.run(
        [*PLACER, *arguments], env={**clean, **environment}, capture_output=True, check=False
    )


def test_no_color_means_no_colour() -> None:
    """
    A terminal gets colours, and with NO_COLOR none.
    """
    colourful = run("show", "dgx-2", FORCE_COLOR="1", TERM="xterm-256color").stdout
    plain = run("show", "dgx-2", FORCE_COLOR="1", TERM="xterm-256color", NO_COLOR="1").stdout

    assert b"\x1b[38;5;" in colourful
    assert b"\x1b[38;5;" not in plain


def test_a_pipe_gets_no_escapes() -> None:
    """
    Output that nobody looks at in a terminal is plain text.
    """
    assert b"\x1b" not in run("show", "dgx-2").stdout


@pytest.mark.parametrize("columns", ["40", "80", "200"])
def test_the_width_of_the_terminal_is_respected(columns: str) -> None:
    """
    Pictures are as wide as the terminal at most.
    """
    out = run("show", "summit", COLUMNS=columns).stdout.decode()

    assert max(map(len, out.splitlines())) <= int(columns)


def test_a_width_of_0_is_none() -> None:
    """
    As where a terminal does not know its size, a page is 80 columns wide.
    """
    assert run("show", "summit", COLUMNS="0").stdout == run("show", "summit").stdout != b""


def test_a_terminal_that_knows_ascii_only_gets_ascii() -> None:
    """
    Boxes and marks degrade; nothing fails to print.
    """
    done = run("show", "dgx-a100", PYTHONIOENCODING="ascii")

    assert done.returncode == 0
    assert b"oooo oooo oooo oooo  0-15" in done.stdout
    assert b"+- NUMA 0 128Gi" in done.stdout


def test_progress_is_for_terminals_only(tmp_path: Path, placer: Placer) -> None:
    """
    In a pipe, standard error has the time taken and nothing that moves.
    """
    err = placer("solve", written(tmp_path, SMALL), "--engine", "greedy").err

    assert re.fullmatch(r"read in [\d.]+ s, solved in [\d.]+ s\n", err)


def test_progress_tells_what_is_done() -> None:
    """
    On a terminal the words of the solver are shown.
    """
    screen = StringIO()

    with solving_spinner(Console(force_terminal=True, width=60, file=screen)) as tell:
        tell("placing greedily")

    assert "placing greedily" in screen.getvalue()


def test_the_version_is_the_package_s(placer: Placer) -> None:
    """
    One line, for bug reports.
    """
    assert re.fullmatch(r"placer \d+\.\d+\.\d+\n", placer("--version").out)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_ends_with_an_example_that_runs(command: str, tmp_path: Path) -> None:
    """
    Who copies the last line of a help text gets an answer.
    """
    (tmp_path / "instances").symlink_to(CHECKOUT / "instances")
    if command == "verify":
        _run_example("solve", tmp_path)

    _run_example(command, tmp_path)


def _run_example(command: str, folder: Path) -> None:
    shown = run(command, "--help").stdout.decode().rstrip().splitlines()[-1]
    example = shown.strip().removeprefix("Example: placer ")
    assert example != shown.strip()
    program = " ".join(f"'{word}'" for word in PLACER)
    done = subprocess.run(
        ["bash", "-c", f"{program} {example}"], cwd=folder, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
