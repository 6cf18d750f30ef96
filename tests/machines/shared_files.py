"""Where raw captures of real machines are looked for; they are never part of this project."""

import os
from pathlib import Path

import pytest


def shared(path: str) -> Path:
    """Return a raw file or folder, or skip the test where there is none."""
    root = Path(os.environ.get("PLACER_SHARED", Path(__file__).parents[3] / "shared"))
    found = root / path
    if not found.exists():
        pytest.skip(
            f"{found} is not there: set PLACER_SHARED to a folder with topologies/ of raw "
            "captures (nvidia_topo, machines, hwloc) of the machines named in the catalogue"
        )
    return found
