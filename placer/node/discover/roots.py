"""Root of a machine's files in a folder or an archive: at the top, or a few levels below."""

import os
import stat
from collections.abc import Collection, Iterator
from pathlib import Path

from placer.node.discover.archive import read_archive
from placer.node.discover.machine_files import (
    CPU,
    MAX_READ_BYTES,
    NOT_A_DUMP,
    EntryKind,
    MachineFiles,
)
from placer_models.files.errors import InputError

_DEEPEST = 4


def open_machine_files(path: Path) -> MachineFiles:
    """Return the files of the machine at a path: a folder, or an archive of one.

    A path that continues past an archive names a machine inside it.

    Raises:
        InputError: There is no machine, there are several, or the archive is damaged.

    """
    if path.is_dir():
        if path.name == "sys" and (path / CPU.removeprefix("sys/")).is_dir():
            path = path.parent
        roots = list(_roots_of(path))
        inner = _only(str(path), roots)
        entries = _Folder(path / inner)
        return MachineFiles(
            str(path / inner), entries, is_host=(path / inner).resolve() == Path("/")
        )
    archive, rest = path, Path()
    while not archive.exists() and archive.parent != archive:
        rest = Path(archive.name) / rest
        archive = archive.parent
    if not archive.is_file():
        what = "is neither a file nor a folder" if path.exists() else "does not exist"
        raise InputError(str(path), None, "", what)
    members = read_archive(archive)
    named = str(rest) if rest.parts else ""
    roots = [root for root in members.machines() if _is_named(root, named)]
    return MachineFiles(str(path), members.below(_only(str(archive if roots else path), roots)))


def _is_named(root: str, name: str) -> bool:
    """Return whether a machine of an archive is meant by a name: its folder, or one around it."""
    return not name or f"/{root}/".endswith(f"/{name}/") or f"{root}/".startswith(f"{name}/")


def _only(source: str, roots: list[str]) -> str:
    if not roots:
        raise InputError(source, None, "", NOT_A_DUMP)
    if len(roots) > 1:
        names = ", ".join(f"{source}/{root}" for root in roots[:5])
        raise InputError(
            source, None, "", f"holds {len(roots)} machines; name one of them: {names}"
        )
    return roots[0]


def _roots_of(folder: Path) -> Iterator[str]:
    """Yield the machines in a folder: itself, else those a few levels below it."""
    level = [""]
    for _ in range(_DEEPEST):
        found = [at for at in level if (folder / at / CPU).is_dir()]
        if found:
            yield from found
            return
        try:
            level = [
                f"{at}/{entry.name}" if at else entry.name
                for at in level
                for entry in sorted(os.scandir(folder / at), key=lambda entry: entry.name)
                if entry.is_dir(follow_symlinks=False)
            ][:1000]
        except OSError as error:
            raise InputError(
                str(folder), None, "", f"cannot be read: {error.strerror or error}"
            ) from None


class _Folder:
    """A folder of the file system."""

    def __init__(self, root: Path) -> None:
        self._root = str(root).rstrip("/")

    def kind(self, path: str) -> EntryKind | None:
        try:
            mode = os.lstat(f"{self._root}/{path}").st_mode
        except (OSError, ValueError):
            return None
        if stat.S_ISLNK(mode):
            return "link"
        if stat.S_ISDIR(mode):
            return "folder"
        return "file" if stat.S_ISREG(mode) else None

    def target(self, path: str) -> str:
        return str(Path(f"{self._root}/{path}").readlink())

    def names(self, path: str) -> Collection[str]:
        return [entry.name for entry in os.scandir(f"{self._root}/{path}")]

    def data(self, path: str) -> bytes:
        # If it has become a link meanwhile, it is not opened; a pipe does not block.
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with os.fdopen(os.open(f"{self._root}/{path}", flags), "rb") as stream:
            return stream.read(MAX_READ_BYTES + 1)
