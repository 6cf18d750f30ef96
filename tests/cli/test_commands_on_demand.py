"""What the command imports before it is asked for anything, and how it is reached."""

import os
import subprocess
import sys

import pytest
from typer.main import get_command

from answers import expect
from commands import Placer
from placer import __version__
from placer_cli.app import app
from placer_cli.commands_on_demand import LazyCommandGroup

HEAVY = ("numpy", "ortools", "placer_models.cluster", "pydantic", "yaml")
"""What some commands need, and help does not."""


def test_help_imports_no_command() -> None:
    """
    It lists all of them all the same.
    """
    code = (
        "import sys\nfrom placer_cli.app import main\nmain(['--help'])\n"
        f"print([name for name in {HEAVY} if name in sys.modules])\n"
        "print([name for name in sys.modules if name.startswith('placer_cli.commands.')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    *listed, heavy, commands = done.stdout.splitlines()
    assert any(line.startswith("  solve ") for line in listed)
    assert (heavy, commands) == ("[]", "[]")


def test_each_command_that_is_listed_can_be_loaded(placer: Placer) -> None:
    """
    A command says in its own help what the list says in short.
    """
    group = expect(LazyCommandGroup, get_command(app))

    for name in group.entries:
        printed = placer(name, "--help").out

        assert printed.startswith(f"Usage: placer {name} ")
        assert "Example: placer " in printed


def test_summaries_are_whole_in_a_narrow_terminal(
    placer: Placer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")

    listed = placer("--help").out.partition("Commands:\n")[2].splitlines()
    assert [line for line in listed if line.endswith("...")] == []


def test_completion_of_a_name_needs_no_command() -> None:
    completing = {"_PLACER_COMPLETE": "complete_bash", "COMP_WORDS": "placer s", "COMP_CWORD": "1"}

    done = _run([sys.executable, "-m", "placer"], completing)
    assert done.stdout.split() == ["solve", "show", "schema", "slots"]


def test_completion_knows_the_values_of_an_option() -> None:
    completing = {
        "_PLACER_COMPLETE": "complete_bash",
        "COMP_WORDS": "placer solve --engine ",
        "COMP_CWORD": "3",
    }

    done = _run([sys.executable, "-m", "placer"], completing)
    assert done.stdout.split() == ["auto", "greedy", "exact"]


def test_the_package_runs_as_the_command() -> None:
    """
    ``python -m placer`` says what ``placer`` says, its exit code, too.
    """
    done = _run([sys.executable, "-m", "placer", "solve", "no-such-file.yaml"], {})

    assert (done.returncode, done.stderr) == (2, "placer: no-such-file.yaml: does not exist\n")


def test_the_version_is_one(placer: Placer) -> None:
    assert placer("--version").out == f"placer {__version__}\n"


def _run(command: list[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
