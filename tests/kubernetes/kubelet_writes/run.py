"""Runs the kubelet's own code on what the Go files here say, and keeps what it writes.

`python tests/kubernetes/kubelet_writes/run.py` writes ../data/kubelet_checkpoints.json anew. It
takes Go and the modules of Kubernetes, a minute or two.
"""

import json
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1]))

from containers.runtimes import need_go, run_program

ROWS = HERE.parent / "data" / "kubelet_checkpoints.json"
PROGRAMS = {f"v{path.stem[1:].replace('_', '.')}": path for path in sorted(HERE.glob("v*.go"))}
"""Version of Kubernetes -> what is run with its code."""

MODULE = "k8s.io/kubernetes"
_STAGED = re.compile(r"^\s*(\S+) => \./staging/", re.MULTILINE)


def written_by(version: str) -> list[dict[str, str]]:
    """Return what the kubelet of a version writes: format, version, text.

    Raises:
        MissingError: Go or a module cannot be had here.

    """
    go = str(need_go())
    environment = os.environ | {"GOFLAGS": "-mod=mod", "GOTOOLCHAIN": "auto"}

    def run(folder: Path, *command: str) -> str:
        return run_program([go, *command], "the kubelet's code cannot be run", environment, folder)

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copy(PROGRAMS[version], folder / "main.go")
        run(folder, "mod", "init", "written")
        found = json.loads(run(folder, "mod", "download", "-json", f"{MODULE}@{version}"))
        # Its own go.mod takes these from folders beside it, which only its repository has.
        staged = _STAGED.findall(Path(found["GoMod"]).read_text(encoding="utf-8"))
        replaced = [f"-replace={one}={one}@v0{version[2:]}" for one in staged]
        run(folder, "mod", "edit", f"-require={MODULE}@{version}", *replaced)
        run(folder, "mod", "tidy")
        rows = map(json.loads, run(folder, "run", ".").splitlines())
        return [{"kubelet": version, **row} for row in rows]


def main() -> None:
    """Write the rows of all versions."""
    rows = [row for version in PROGRAMS for row in written_by(version)]
    document = {
        "source": f"{MODULE}, by kubelet_writes/run.py: each text is what its code wrote",
        "rows": rows,
    }
    ROWS.parent.mkdir(exist_ok=True)
    ROWS.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
