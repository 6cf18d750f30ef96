"""The files that the kernel shows of a machine: live, copied to a folder, or in an archive.

Paths are relative to the root of that machine, with ``/`` between the parts:
``sys/devices/system/cpu/online``. Links are followed inside the root and never out of it.
"""

import errno
from collections.abc import Collection
from typing import Literal, Protocol

from placer_models.cpuset import MAX_CPU_ID, CpuSet, parse_cpu_list
from placer_models.files.errors import InputError
from placer_models.message_text import in_quotes

MAX_READ_BYTES = 8 * 2**20
"""The most bytes that a file may have; no file of the kernel that is read here is larger."""

CPU = "sys/devices/system/cpu"
"""The folder by which a machine's files are recognized."""

NODE = "sys/devices/system/node"
"""The folder of its NUMA nodes."""

A_DUMP_IS = (
    "expected the root of a Linux system, a copy of its /sys and /proc as a folder or tar archive, "
    "or an XML file of hwloc"
)
NOT_A_DUMP = f"shows no machine: there is no {CPU} in it; {A_DUMP_IS}"

_MAX_LINKS = 40
_LONGEST_PATH = 1024
_SILENT = frozenset(
    {
        errno.ENOENT,
        errno.ENOTDIR,
        errno.EIO,
        errno.EINVAL,
        errno.ENODEV,
        errno.ENXIO,
        errno.EOPNOTSUPP,
        errno.ENODATA,
        errno.EBUSY,
        errno.EAGAIN,
    }
)
"""Errors by which the kernel says that it does not answer now, or not for this device."""

EntryKind = Literal["file", "folder", "link"]


class DiscoverFilePermissionError(InputError):
    """A file may not be read."""


class DiscoverMachineFolder(Protocol):
    """The place where files lie. Only the last part of a path may be a link."""

    def kind(self, path: str) -> EntryKind | None:
        """Return what kind of entry is there, or None if there is none."""

    def target(self, path: str) -> str:
        """Return where a link leads."""

    def names(self, path: str) -> Collection[str]:
        """Return the names in a folder."""

    def data(self, path: str) -> bytes:
        """Return what a file holds. Raises OSError."""


class DiscoverMachineFiles:
    """The files of one machine.

    Attributes:
        source: The folder or archive, for messages.
        is_host: Whether they are the files of the machine that this runs on.

    """

    def __init__(
        self, source: str, entries: DiscoverMachineFolder, *, is_host: bool = False
    ) -> None:
        self.source = source
        self.is_host = is_host
        self._entries = entries
        self._real: dict[str, str | None] = {"": ""}

    def read(self, path: str) -> str | None:
        """Return the text of a file without the blanks around it, or None if there is no file.

        A file that the kernel has but does not answer for counts as missing.

        Raises:
            DiscoverFilePermissionError: It may not be read.
            InputError: It is too large, or is a link out of the root.

        """
        real = self.real(path)
        if real is None or self._entries.kind(real) != "file":
            return None
        try:
            data = self._entries.data(real)
        except OSError as error:
            if error.errno in _SILENT:
                return None
            raise self._unreadable(path, error) from None
        if len(data) > MAX_READ_BYTES:
            raise self.wrong(path, f"is larger than {MAX_READ_BYTES >> 20} MiB; no such file is")
        return data.decode("utf-8", "replace").strip("\0 \t\r\n")

    def names(self, path: str) -> list[str]:
        """Return the names in a folder, in order; none where there is no such folder."""
        real = self.real(path)
        if real is None or self._entries.kind(real) != "folder":
            return []
        try:
            return sorted(self._entries.names(real))
        except OSError as error:
            if error.errno in _SILENT:
                return []
            raise self._unreadable(path, error) from None

    def numbered(self, path: str, prefix: str) -> dict[int, str]:
        """Return number -> path of the folders such as ``cpu0``, ascending."""
        found = {}
        for name in self.names(path):
            digits = name.removeprefix(prefix)
            plain = digits.isascii() and digits.isdigit() and len(digits) <= 9
            if name.startswith(prefix) and plain and self.has(f"{path}/{name}"):
                found[int(digits)] = f"{path}/{name}"
        return dict(sorted(found.items()))

    def has(self, path: str) -> bool:
        """Return whether there is such a file or folder."""
        return self.real(path) is not None

    def real(self, path: str) -> str | None:
        """Return where a path leads when all links are followed, or None if nowhere.

        Raises:
            InputError: It leads out of the root.

        """
        return self._follow(path, path, _MAX_LINKS)

    def cpus(self, list_path: str, mask_path: str = "") -> CpuSet | None:
        """Return CPUs or NUMA nodes from a list, or else from a mask; None if there is neither."""
        text = self.read(list_path)
        if text is not None:
            # Some kernels print this for a mask that was never set.
            return frozenset() if text == "(null)" else self.cpus_of(text, list_path)
        text = self.read(mask_path) if mask_path else None
        if text is None:
            return None
        try:
            return parse_kernel_cpu_mask(text)
        except ValueError as error:
            raise self.wrong(mask_path, str(error)) from None

    def number(self, path: str) -> int | None:
        """Return the whole number that a file holds, or None if there is no file."""
        text = self.read(path)
        if text is None:
            return None
        try:
            return int(text[:20], 0)
        except ValueError:
            raise self.wrong(path, f"got {in_quotes(text)}; expected a whole number") from None

    def wrong(self, path: str, message: str) -> InputError:
        """Return the error about a file, for the caller to raise."""
        return InputError(self.source, None, path, message)

    def cpus_of(self, text: str, path: str) -> CpuSet:
        """Return the set that a list in a file names."""
        try:
            return parse_cpu_list(text)
        except ValueError as error:
            raise self.wrong(path, f"{error}; expected a list such as 0-3,8") from None

    def _unreadable(self, path: str, error: OSError) -> DiscoverFilePermissionError:
        message = f"cannot be read: {error.strerror or error}"
        return DiscoverFilePermissionError(self.source, None, path, message)

    def _follow(self, path: str, asked: str, links: int) -> str | None:
        if path in self._real:
            return self._real[path]
        if len(path) > _LONGEST_PATH:
            raise self.wrong(asked[:100], "leads along a path that no machine has")
        parent, _, name = path.rpartition("/")
        base = self._follow(parent, asked, links)
        found = None if base is None else self._step(base, name, asked, links)
        self._real[path] = found
        return found

    def _step(self, base: str, name: str, asked: str, links: int) -> str | None:
        if name in ("", "."):
            return base
        if name == "..":
            if not base and not self.is_host:
                raise self.wrong(asked, "is a link that leads out of the dump; it is not followed")
            return base.rpartition("/")[0]
        here = f"{base}/{name}" if base else name
        kind = self._entries.kind(here)
        if kind != "link":
            return None if kind is None else here
        if links == 0:
            return None
        target = self._entries.target(here)
        if target.startswith("/"):
            if not self.is_host:
                raise self.wrong(asked, f"is a link to {in_quotes(target)}, out of the dump")
            return self._follow(target.strip("/"), asked, links - 1)
        return self._follow(f"{base}/{target}" if base else target, asked, links - 1)


def parse_kernel_cpu_mask(text: str) -> CpuSet:
    """Read the kernel's hexadecimal mask, in words of 32 bits: ``00000001,ffffffff``.

    Raises:
        ValueError: The text is no such mask.

    """
    words = text.split(",")
    value = 0
    for word in words:
        digits = word.strip().removeprefix("0x")
        long = len(words) > 1 and len(digits) > 8
        try:
            if long or len(text) > MAX_CPU_ID or digits.startswith(("-", "+")):
                raise ValueError
            value = value << 32 | int(digits, 16)
        except ValueError:
            raise ValueError(
                f"got {in_quotes(text)}; expected a mask of 32-bit words such as 00000001,ffffffff"
            ) from None
    if value.bit_length() > MAX_CPU_ID + 1:
        raise ValueError(f"the mask has bit {value.bit_length() - 1}; ids end at {MAX_CPU_ID}")
    return frozenset(i for i, bit in enumerate(reversed(bin(value)[2:])) if bit == "1")
