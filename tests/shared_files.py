"""Where other people's files are looked for; they are never part of this project."""

import os
from pathlib import Path

import pytest

WHAT_IS_THERE = {
    "topologies": "raw captures (nvidia_topo, machines, hwloc) of the machines in the catalogue",
    "research": "notes that quote the annotations of Koordinator",
    "seeds": "proposals that quote objects of Kubernetes",
    "cases": "tables extracted from the peers' own tests, which the test or its data names",
}
"""What the folders of such files hold."""


def shared(path: str) -> Path:
    """Return a file or folder, or skip the test where there is none."""
    root = Path(os.environ.get("PLACER_SHARED", Path(__file__).parents[2] / "shared"))
    found = root / path
    if not found.exists():
        folder = Path(path).parts[0]
        pytest.skip(
            f"{found} is not there: set PLACER_SHARED to a folder with {folder}/: "
            f"{WHAT_IS_THERE[folder]}"
        )
    return found
