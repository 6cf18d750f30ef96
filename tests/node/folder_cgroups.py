"""Cgroup files of version 2 in an ordinary folder, so that processes can share and watch them.

They take what the agent writes, and say which sets are in effect; what the kernel would refuse
they do not know (`fake_cgroupfs` does).

    python -m node.folder_cgroups FOLDER CPUS -- ARGUMENTS OF PLACER

runs the command with such a folder in the place of the kernel's files.
"""

import errno
import fcntl
import os
import sys
from pathlib import Path
from typing import Literal

from placer.node.cgroups import CPUS, MEMS, parse_cpuset
from placer.node.host import HostFactsForApply
from placer_models.cpuset import format_cpu_list, parse_cpu_list

CONTROLLERS = {
    "cpuset": {CPUS: "", MEMS: "", f"{CPUS}.effective": "", f"{MEMS}.effective": ""},
    "cpu": {"cpu.max": "max 100000", "cpu.weight": "100"},
    "memory": {"memory.max": "max", "memory.current": "0"},
    "pids": {"pids.max": "max"},
}


class FolderCgroups:
    """The files below one folder; the root hands out all controllers."""

    version: Literal[2] = 2

    def __init__(self, folder: Path, cpus: str = "0-7", nodes: str = "0-1") -> None:
        self.folder = folder
        self.mounts = {"": folder}
        if not (folder / "cgroup.procs").exists():
            self._fill(folder, ["cpuset"])
            (folder / "cgroup.subtree_control").write_text(" ".join(CONTROLLERS))
            (folder / f"{CPUS}.effective").write_text(cpus)
            (folder / f"{MEMS}.effective").write_text(nodes)

    def read(self, path: str) -> str:
        """Return what a file says, without the line end behind it."""
        return self._there(path).read_text().removesuffix("\n")

    def write(self, path: str, text: str) -> None:
        """Write a file in place, as one writes the kernel's; one writer after the other."""
        file = self._there(path)
        with (self.folder / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self._write(path, file, text)

    def _write(self, path: str, file: Path, text: str) -> None:
        if file.name == "cgroup.subtree_control":
            on = {*file.read_text().split(), *(word[1:] for word in text.split())}
            file.write_text(" ".join(sorted(on)))
            for child in self.children(path.rpartition("/")[0]):
                self._fill(file.parent / child, sorted(on))
        else:
            file.write_text(f"{text}\n")
        self._settle(file.parent)

    def make_directory(self, path: str) -> None:
        """Make a cgroup."""
        folder = self.folder / path
        folder.mkdir()
        self._fill(folder, (folder.parent / "cgroup.subtree_control").read_text().split())
        self._settle(folder)

    def remove_directory(self, path: str) -> None:
        """Remove a cgroup that has none below it."""
        if self.children(path):
            raise OSError(errno.EBUSY, os.strerror(errno.EBUSY), path)
        for file in (self.folder / path).iterdir():
            file.unlink()
        (self.folder / path).rmdir()

    def children(self, path: str) -> list[str]:
        """Return the names of the cgroups directly below a cgroup, ascending."""
        return sorted(entry.name for entry in (self.folder / path).iterdir() if entry.is_dir())

    def exists(self, path: str) -> bool:
        """Return whether there is such a file or cgroup."""
        return (self.folder / path).exists()

    def owner(self, path: str) -> tuple[int, int]:
        """Return the uid of the owner of a file or cgroup, and its permission bits."""
        found = self._there(path).stat()
        return found.st_uid, found.st_mode & 0o755

    def identity(self) -> str:
        """Return what tells this tree from any other."""
        return f"{self.folder.stat().st_dev}:{self.folder.stat().st_ino}"

    def _there(self, path: str) -> Path:
        file = self.folder / path
        if not file.exists():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return file

    @staticmethod
    def _fill(folder: Path, controllers: list[str]) -> None:
        texts = {"cgroup.procs": "", "cgroup.subtree_control": ""}
        for controller in controllers:
            texts |= CONTROLLERS[controller]
        for name, text in texts.items():
            if not (folder / name).exists():
                (folder / name).write_text(text)

    def _settle(self, folder: Path) -> None:
        """Say which sets are in effect in a folder and below it."""
        for name in (CPUS, MEMS):
            own, effective = folder / name, folder / f"{name}.effective"
            if folder != self.folder and own.exists():
                above = parse_cpuset((folder.parent / effective.name).read_text())
                text = format_cpu_list(parse_cpuset(own.read_text()) & above or above)
                if effective.read_text() != text:
                    effective.write_text(text)
        for child in folder.iterdir():
            if child.is_dir():
                self._settle(child)


def stand_in(folder: Path, cpus: str) -> None:
    """Let the agent of this process find a folder's cgroups, and a machine of these CPUs."""
    from placer.node import locks
    from placer.node.agent import run

    locks.RUN = folder.parent / "run"
    host = HostFactsForApply("n0", parse_cpu_list(cpus))
    run.kernel_cgroup_filesystem = lambda: FolderCgroups(folder, cpus)
    run.read_host_facts = lambda **options: host


if __name__ == "__main__":
    from placer_cli.app import main

    stand_in(Path(sys.argv[1]), sys.argv[2])
    sys.exit(main(sys.argv[4:]))
