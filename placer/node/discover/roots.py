"""Root of a machine's files in a folder or an archive: at the top, or a few levels below.

A tar archive is read into memory: nothing of it touches the file system.
"""

import lzma
import os
import stat
import tarfile
import zlib
from collections.abc import Collection, Iterator
from pathlib import Path

from placer.node.discover.machine_files import (
    A_DUMP_IS,
    CPU,
    MAX_READ_BYTES,
    NOT_A_DUMP,
    DiscoverMachineFiles,
    EntryKind,
)
from placer_models.files.errors import InputError
from placer_models.message_text import in_quotes

MAX_ARCHIVE_BYTES = 2**28
"""The most bytes that an archive may hold when it is unpacked."""

MAX_ARCHIVE_MEMBERS = 500_000
_DEEPEST_IN_ARCHIVE = 64

_BROKEN = (
    tarfile.TarError,
    EOFError,
    OSError,
    zlib.error,
    lzma.LZMAError,
    ValueError,
    OverflowError,
)


class DiscoverTarArchive:
    """The contents of an archive, in memory.

    Attributes:
        found: Path -> content of a file, target of a link, or the names in a folder.

    """

    def __init__(self, found: dict[str, bytes | str | set[str]], base: str = "") -> None:
        self._found = found
        self._base = base

    def below(self, folder: str) -> "DiscoverTarArchive":
        """Return the part of the archive that lies in a folder."""
        return DiscoverTarArchive(self._found, "/".join(filter(None, (self._base, folder))))

    def machines(self) -> list[str]:
        """Return the folders that hold a machine: the base itself, or else those below it."""
        if self.kind(CPU) == "folder":
            return [""]
        start = f"{self._base}/" if self._base else ""
        return sorted(
            path[len(start) : -len(CPU) - 1]
            for path in self._found
            if path.startswith(start) and path.endswith(f"/{CPU}")
        )

    def kind(self, path: str) -> EntryKind | None:
        """Return what kind of entry is at a path, or None if there is none."""
        match self._found.get(self._at(path)):
            case None:
                return None
            case bytes():
                return "file"
            case str():
                return "link"
            case _:
                return "folder"

    def target(self, path: str) -> str:
        """Return where a link leads."""
        return str(self._found[self._at(path)])

    def names(self, path: str) -> Collection[str]:
        """Return the names in a folder."""
        names = self._found[self._at(path)]
        return names if isinstance(names, set) else ()

    def data(self, path: str) -> bytes:
        """Return what a file holds."""
        data = self._found[self._at(path)]
        return data if isinstance(data, bytes) else b""

    def _at(self, path: str) -> str:
        return "/".join(filter(None, (self._base, path)))


def read_tar_archive(path: Path) -> DiscoverTarArchive:
    """Return the contents of a tar archive.

    Raises:
        InputError: The archive is damaged, too large, or has a member outside of itself.

    """
    found: dict[str, bytes | str | set[str]] = {"": set()}
    unpacked = 0
    try:
        with tarfile.open(path, "r:*") as archive:
            for count, member in enumerate(archive):
                unpacked += member.size
                if unpacked > MAX_ARCHIVE_BYTES or count > MAX_ARCHIVE_MEMBERS:
                    raise InputError(
                        str(path),
                        None,
                        "",
                        f"unpacks to more than {MAX_ARCHIVE_BYTES >> 20} MiB or "
                        f"{MAX_ARCHIVE_MEMBERS:,} files; no dump of a machine is so large",
                    )
                _add(found, archive, member, path)
    except PermissionError as error:
        raise InputError(str(path), None, "", f"cannot be read: {error.strerror}") from None
    except _BROKEN as error:
        why = str(error).partition(":\n")[0]  # tarfile goes on with a line for each compression
        message = f"is no tar archive, or a damaged one: {why}; {A_DUMP_IS}"
        raise InputError(str(path), None, "", message) from None
    return DiscoverTarArchive(found)


def _add(
    found: dict[str, bytes | str | set[str]],
    archive: tarfile.TarFile,
    member: tarfile.TarInfo,
    path: Path,
) -> None:
    parts = [part for part in member.name.split("/") if part not in ("", ".")]
    if member.name.startswith("/") or ".." in parts:
        raise InputError(
            str(path),
            None,
            "",
            f"has a member {in_quotes(member.name)}, outside of itself; expected paths within it",
        )
    if len(parts) > _DEEPEST_IN_ARCHIVE:
        return  # No file of a kernel lies so deep.
    for depth, name in enumerate(parts):
        folder = found.setdefault("/".join(parts[:depth]), set())
        if not isinstance(folder, set):
            return  # It lies below what an earlier member says is no folder.
        folder.add(name)
    at = "/".join(parts)
    if member.issym():
        found[at] = member.linkname
    elif member.islnk():
        linked = found.get("/".join(filter(lambda part: part != ".", member.linkname.split("/"))))
        if isinstance(linked, bytes):
            found[at] = linked
    elif member.isfile():
        stream = archive.extractfile(member) if member.size <= MAX_READ_BYTES else None
        found[at] = b"" if stream is None else stream.read()
    elif member.isdir():
        found.setdefault(at, set())


_DEEPEST = 4


def open_machine_files(path: Path) -> DiscoverMachineFiles:
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
        return DiscoverMachineFiles(
            str(path / inner), entries, is_host=(path / inner).resolve() == Path("/")
        )
    archive, rest = path, Path()
    while not archive.exists() and archive.parent != archive:
        rest = Path(archive.name) / rest
        archive = archive.parent
    if not archive.is_file():
        what = "is neither a file nor a folder" if path.exists() else "does not exist"
        raise InputError(str(path), None, "", what)
    members = read_tar_archive(archive)
    named = str(rest) if rest.parts else ""
    roots = [root for root in members.machines() if _is_named(root, named)]
    return DiscoverMachineFiles(
        str(path), members.below(_only(str(archive if roots else path), roots))
    )


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
