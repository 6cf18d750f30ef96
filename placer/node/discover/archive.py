"""A machine's files in a tar archive, read into memory: nothing of it touches the file system."""

import lzma
import tarfile
import zlib
from collections.abc import Collection
from pathlib import Path

from placer.node.discover.machine_files import CPU, MAX_READ_BYTES, NOT_A_DUMP, EntryKind
from placer_models.files.errors import InputError, shown

MAX_ARCHIVE_BYTES = 2**28
"""The most bytes that an archive may hold when it is unpacked."""

MAX_ARCHIVE_MEMBERS = 500_000
_DEEPEST = 64

_BROKEN = (
    tarfile.TarError,
    EOFError,
    OSError,
    zlib.error,
    lzma.LZMAError,
    ValueError,
    OverflowError,
)


class ArchiveMembers:
    """The contents of an archive, in memory.

    Attributes:
        found: Path -> content of a file, target of a link, or the names in a folder.

    """

    def __init__(self, found: dict[str, bytes | str | set[str]], base: str = "") -> None:
        self._found = found
        self._base = base

    def below(self, folder: str) -> "ArchiveMembers":
        """Return the part of the archive that lies in a folder."""
        return ArchiveMembers(self._found, "/".join(filter(None, (self._base, folder))))

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


def read_archive(path: Path) -> ArchiveMembers:
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
        message = f"is no tar archive, or a damaged one: {error}; {NOT_A_DUMP[19:]}"
        raise InputError(str(path), None, "", message) from None
    return ArchiveMembers(found)


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
            f"has a member {shown(member.name)}, outside of itself; expected paths within it",
        )
    if len(parts) > _DEEPEST:
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
