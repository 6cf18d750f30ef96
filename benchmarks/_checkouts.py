"""Other checkouts of this project, whose code a benchmark runs in processes of their own."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parents[1]


def environment_of(checkout: Path) -> dict[str, str]:
    """Return the environment in which a benchmark of here runs with the code of a checkout."""
    if not (checkout / "placer" / "__init__.py").is_file():
        raise SystemExit(f"{checkout} is no checkout: there is no placer/__init__.py in it")
    paths = (checkout, checkout / "models", checkout / "cli", HERE / "benchmarks")
    return {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))}


def output_of(checkout: Path, program: str, *words: str) -> str:
    """Return what a program prints with the code of a checkout; its errors end this one, too."""
    run = subprocess.run(
        [sys.executable, "-P", program, *words],
        env=environment_of(checkout),
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode:
        raise SystemExit(run.stderr)
    return run.stdout


def json_of(checkout: Path, program: str, *words: str) -> Any:
    """Return what a program prints with the code of a checkout, read as JSON."""
    return json.loads(output_of(checkout, program, *words))
