"""The file system of the emulated machine: this interpreter, Placer's sources, pytest, tests."""

import importlib.metadata
import re
import stat
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from containers.runtimes import path_of

CHECKOUT = Path(__file__).parents[2]
INTERPRETER = "/usr/bin/python3"
SITE = "/site"
SOURCES = "/placer"

DISTRIBUTIONS = (
    "dbus-fast",
    "defusedxml",
    "prometheus-client",
    "pydantic",
    "pytest",
    "pyyaml",
    "rich",
    "tornado",
    "typer",
)
"""What is needed inside; the solver is not."""

LEFT_OUT = {"test", "idlelib", "lib2to3", "tkinter", "turtledemo", "ensurepip", "site-packages"}
"""Folders of the standard library that nobody needs inside."""


def write_initramfs(target: Path, job: dict[str, bytes]) -> None:
    """Write an uncompressed initramfs; `job` adds files by their path inside."""
    with target.open("wb") as out:
        archive = _Archive(out)
        for folder in ("proc", "sys", "dev", "tmp", "run"):
            archive.folder(folder)
        archive.device("dev/console", 5, 1)
        archive.device("dev/null", 1, 3)
        archive.file(INTERPRETER, Path(sys.executable).resolve().read_bytes(), mode=0o755)
        stdlib = Path(sysconfig.get_path("stdlib"))
        for path in _below(stdlib, LEFT_OUT):
            archive.copy(str(path), path)
        libraries = {INTERPRETER: Path(sys.executable).resolve()}
        libraries |= {str(path): path for path in stdlib.rglob("*.so")}
        for name, path in _programs():
            libraries[name] = path
            archive.copy(name, path)
        archive.file("/etc/passwd", b"root:x:0:0:root:/tmp:/bin/false\n")
        for path in _linked(list(libraries.values())):
            archive.copy(str(path), path)
        for name, path in _distributions():
            archive.copy(f"{SITE}/{name}", path)
        for shelf in ("placer", "models/placer_models", "cli/placer_cli", "tests"):
            for path in _below(CHECKOUT / shelf, {"__pycache__"}):
                archive.copy(f"{SOURCES}/{path.relative_to(CHECKOUT)}", path)
        for path in _below(CHECKOUT / "docs/systemd", set()):
            archive.copy(f"{SOURCES}/{path.relative_to(CHECKOUT)}", path)
        archive.copy("/init", Path(__file__).with_name("init.py"), mode=0o755)
        for name, content in job.items():
            archive.file(name, content)
        archive.end()


def _programs() -> Iterator[tuple[str, Path]]:
    """Yield programs of this machine whose tests skip where they are not there."""
    for runtime in ("crun", "runc"):
        if (found := path_of(runtime)) is not None:
            yield f"/usr/bin/{runtime}", found
    for name in ("/usr/bin/dbus-daemon", "/usr/lib/systemd/systemd"):
        if Path(name).exists():
            yield name, Path(name)


def _below(folder: Path, left_out: set[str]) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        if path.is_file() and not left_out.intersection(parts):
            yield path


def _linked(programs: list[Path]) -> list[Path]:
    """Return the shared libraries that programs and extension modules are linked with."""
    text = subprocess.run(
        ["ldd", *map(str, programs)], capture_output=True, text=True, check=False
    ).stdout
    found = re.findall(r"(?:=> |^\s+)(/\S+) \(0x", text, re.MULTILINE)
    return [Path(name) for name in sorted(set(found))]


def _distributions() -> Iterator[tuple[str, Path]]:
    """Yield the files of the distributions inside, with what they require in turn."""
    waiting, seen = list(DISTRIBUTIONS), set[str]()
    while waiting:
        name = re.sub(r"[-_.]+", "-", waiting.pop()).lower()
        if name in seen:
            continue
        seen.add(name)
        try:
            distribution = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        for requirement in distribution.requires or ():
            if "extra ==" not in requirement:
                waiting.append(re.split(r"[^\w.-]", requirement, maxsplit=1)[0])
        for file in distribution.files or ():
            path = Path(str(distribution.locate_file(file)))
            if ".." not in file.parts and path.is_file():
                yield str(file), path


class _Archive:
    """Writes a cpio archive in the format `newc`, folders before what is in them."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._inode = 0
        self._folders: set[str] = set()
        self._files: set[str] = set()

    def folder(self, name: str) -> None:
        name = name.strip("/")
        if name and name not in self._folders:
            self._folders.add(name)
            self.folder(name.rpartition("/")[0])
            self._entry(name, stat.S_IFDIR | 0o755)

    def device(self, name: str, major: int, minor: int) -> None:
        self.folder(name.rpartition("/")[0])
        self._entry(name, stat.S_IFCHR | 0o600, device=(major, minor))

    def copy(self, name: str, path: Path, mode: int = 0) -> None:
        status = path.stat()
        self.file(name, path.read_bytes(), mode or status.st_mode & 0o777, int(status.st_mtime))

    def file(self, name: str, content: bytes, mode: int = 0o644, mtime_s: int = 0) -> None:
        name = name.strip("/")
        if name not in self._files:
            self._files.add(name)
            self.folder(name.rpartition("/")[0])
            self._entry(name, stat.S_IFREG | mode, content, mtime_s=mtime_s)

    def end(self) -> None:
        self._entry("TRAILER!!!", 0)

    def _entry(
        self,
        name: str,
        mode: int,
        content: bytes = b"",
        device: tuple[int, int] = (0, 0),
        mtime_s: int = 0,
    ) -> None:
        self._inode += 1
        encoded = name.encode() + b"\0"
        fields = (
            self._inode, mode, 0, 0, 1, mtime_s, len(content), 0, 0, *device, len(encoded), 0,
        )  # fmt: skip
        header = b"070701" + b"".join(b"%08X" % field for field in fields)
        self._out.write(header + encoded + bytes(-(len(header) + len(encoded)) % 4))
        self._out.write(content + bytes(-len(content) % 4))
