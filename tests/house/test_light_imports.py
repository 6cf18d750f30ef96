"""Only commands that solve pay for OR-Tools: 86 MiB and a good part of a second."""

import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
HEAVY = ("ortools", "pandas")

RUN_AND_TELL = """
import sys
from placer_cli.app import main
code = main(sys.argv[1:])
print(*sys.modules, file=sys.stderr)
sys.exit(code)
"""


def _modules(code: str, *arguments: str) -> set[str]:
    """Run the code in an interpreter of its own; return the packages it imported."""
    run = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return set(run.stderr.splitlines()[-1].split())


@pytest.mark.parametrize(
    "arguments",
    [
        ("--help",),
        ("--version",),
        ("solve", "--help"),
        ("schema",),
        ("machines",),
        ("discover", "instances/dumps/gpu-host.xml"),
        ("show", "dgx-a100"),
        ("validate", "instances/demo.yaml"),
        ("apply", "instances/nodes/small.yaml", "--dry-run"),
    ],
    ids=" ".join,
)
def test_a_command_that_does_not_solve_does_not_import_the_solver(
    arguments: tuple[str, ...],
) -> None:
    """
    Help, schema, machines, drawings and validation answer without OR-Tools.
    """
    assert _modules(RUN_AND_TELL, *arguments).isdisjoint(HEAVY)


@pytest.mark.parametrize("package", ["placer", "placer_models", "placer_cli"])
def test_a_package_alone_is_light(package: str) -> None:
    """
    To import a package is not yet to solve: its face loads no solver.
    """
    tell = f"import sys, {package}; print(*sys.modules, file=sys.stderr)"

    assert _modules(tell).isdisjoint(HEAVY)
