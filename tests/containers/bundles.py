"""OCI bundles whose config.json Placer rendered, and real containers of them."""

import json
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from placer.node.render.folder import edited_oci_config
from placer_models.node_placement import NodePlacement

IN_PLAIN_V1 = """
umount /sys/fs/cgroup/unified
exec "$@"
"""
"""crun refuses to run beside an empty hierarchy of version 2: it gets a view without it."""

SAYS = """
import json, os, sys
def say():
    lines = (line.partition(":") for line in open("/proc/self/status"))
    status = {name: value.strip() for name, _, value in lines}
    print(json.dumps({"status": status, "environment": dict(os.environ)}), flush=True)
say()
for _ in sys.stdin:
    say()
"""
"""What runs inside: it says what it may use, and again at each line that it is told."""


class Container:
    """A container that runs."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self.environment: dict[str, str] = {}
        self.cpus = self.mems = ""
        self._read()

    def ask(self) -> None:
        """Let it say again what it may use."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        self._read()

    def _read(self) -> None:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            assert self._process.stderr is not None
            raise AssertionError(self._process.stderr.read())
        said = json.loads(line)
        self.environment = said["environment"]
        self.cpus = said["status"]["Cpus_allowed_list"]
        self.mems = said["status"]["Mems_allowed_list"]


@contextmanager
def running(
    runtime: Path, document: NodePlacement, name: str, root: str, folder: Path
) -> Iterator[Container]:
    """Run a container of a document by a runtime; it ends with the block.

    Args:
        runtime: The program.
        document: Of this node, applied.
        name: ``pod/container``.
        root: The cgroup below which those of our own are.
        folder: For the bundle; the name of it becomes the container's.

    """
    (folder / "rootfs").mkdir(parents=True)
    subprocess.run([runtime, "spec"], cwd=folder, check=True)
    config = folder / "config.json"
    tree = json.loads(config.read_text())
    tree["process"]["terminal"] = False
    python = str(Path(sys.executable).resolve())
    tree["process"]["args"] = [python, "-I", "-S", "-c", SAYS]
    tree["mounts"] += list(_binds(folder / "rootfs"))
    config.write_text(edited_oci_config(document, name, json.dumps(tree), root))
    command = [str(runtime), "--root", f"{folder}-state", "run", "--bundle", str(folder)]
    if Path("/proc/self/mounts").read_text().startswith("rootfs / "):
        command.append("--no-pivot")
    if Path("/sys/fs/cgroup/unified").is_dir():
        command = ["unshare", "--mount", "sh", "-c", IN_PLAIN_V1, "sh", *command]
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        [*command, folder.name], stdin=pipe, stdout=pipe, stderr=pipe, text=True
    )
    try:
        yield Container(process)
        process.stdin.close()
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            stream.close()


def _binds(rootfs: Path) -> Iterator[dict[str, Any]]:
    """Yield mounts that let this interpreter run inside; links at the top are made as they are."""
    for name in ("bin", "lib", "lib64"):
        top = Path("/", name)
        if top.is_symlink():
            (rootfs / name).symlink_to(top.readlink())
    places = {"/usr", "/lib", "/lib64", sys.base_prefix, sysconfig.get_path("stdlib")}
    found: list[Path] = []
    for place in sorted(map(Path, places)):
        inside = any(place.is_relative_to(other) for other in found)
        if place.is_dir() and not place.is_symlink() and not inside:
            found.append(place)
    for place in found:
        options = ["rbind", "ro"]
        yield {"destination": str(place), "type": "none", "source": str(place), "options": options}
