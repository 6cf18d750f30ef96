"""Other people's files: where tests find them, and the rows of them; they are no part of Placer.

A test names each file and each row that it looks at, and looks at nothing else, so that it says
the same when more files and rows lie beside the project.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

WHAT_IS_THERE = {
    "topologies": "raw captures (nvidia_topo, machines, hwloc) of the machines in the catalogue",
    "research": "notes that quote the annotations of Koordinator",
    "seeds": "proposals that quote objects of Kubernetes",
    "traces": "openb, a trace of a GPU cluster, with placements that were published for it",
    "cases": "tables extracted from the peers' own tests, which the test or its data names",
}
"""What the folders of such files hold."""

Row = Mapping[str, Any]


def shared(path: str) -> Path:
    """Return a file, or skip the test where it is not there.

    Raises:
        ValueError: It is a folder, which would hand out files that nobody named.

    """
    root = Path(os.environ.get("PLACER_SHARED", Path(__file__).parents[2] / "shared"))
    found = root / path
    if found.is_dir():
        raise ValueError(f"{found} is a folder; name the files in it")
    if not found.is_file():
        folder = Path(path).parts[0]
        pytest.skip(
            f"{found} is not there: set PLACER_SHARED to a folder with {folder}/: "
            f"{WHAT_IS_THERE[folder]}"
        )
    return found


def rows_named(
    names: Iterable[str], rows: Iterable[Row], name_of: Callable[[Row], str] | str = "name"
) -> list[Row]:
    """Return the rows of a table that have these names, in the order of the names.

    Args:
        names: The names.
        rows: The table.
        name_of: What tells rows apart: a field, or a function of the row.

    Raises:
        ValueError: The table lacks one of them.

    """
    of = name_of if callable(name_of) else (lambda row: str(row[name_of]))
    table: dict[str, Row] = {}
    for row in rows:
        table.setdefault(of(row), row)
    wanted = tuple(names)
    if lacking := [name for name in wanted if name not in table]:
        raise ValueError(f"the table has no row called {', '.join(lacking)}")
    return [table[name] for name in wanted]
