"""The tables of what kernels answered to cgroup reads and writes."""

import json
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data"

TABLES = [DATA / "cgroup_v2_6.12.json", DATA / "cgroup_v1_6.1.json"]
"""Made in an emulated machine of 8 CPUs, 0-3 on NUMA node 0, 4-7 on node 1; tests/vm renews them.

A table has cases, a case has steps (`cgroup_script`), each beside the answer. Every case begins
without cgroups; on version 2 the root hands out all controllers.
"""

HOST_TABLE = DATA / "cgroup_v1_6.18.json"
"""The same for a machine of 2 CPUs and 1 NUMA node, in cgroups of the name p."""


def cases(path: Path) -> list[dict[str, Any]]:
    """Return the cases of a table."""
    found: list[dict[str, Any]] = json.loads(path.read_text())["cases"]
    return found


def dumped(table: dict[str, Any]) -> str:
    """Return a table as text, a step a line."""
    facts = [
        f" {json.dumps(name)}: {json.dumps(value)},\n"
        for name, value in table.items()
        if name != "cases"
    ]
    blocks = []
    for case in table["cases"]:
        rows = ",\n   ".join(json.dumps(row) for row in case["steps"])
        blocks.append(f'  {{"name": {json.dumps(case["name"])}, "steps": [\n   {rows}]}}')
    return "{\n" + "".join(facts) + ' "cases": [\n' + ",\n".join(blocks) + "\n ]\n}\n"
