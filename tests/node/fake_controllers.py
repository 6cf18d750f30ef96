"""The controllers of the fake cgroup files other than cpuset: which texts they take, what they say.

Numbers are read as the kernel reads them, each file in its own way.
"""

import errno
import os
import re
from collections.abc import Callable

PAGE_BYTES = 4096
NO_LIMIT_BYTES = (1 << 63) - PAGE_BYTES
QUOTA_MAX_US = (1 << 44) - 1
PERIOD_MIN_US, PERIOD_MAX_US = 1_000, 1_000_000
HUGEPAGES = {"2MB": 1 << 21, "1GB": 1 << 30}
"""Those that the kernels of the tables have."""
PIDS_MAX = 4_194_304
SUFFIXES = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40, "p": 50, "e": 60}


class Settings:
    """What is written in the files of one controller in one cgroup."""

    def texts(self) -> dict[str, str]:
        """Return what each file says."""
        raise NotImplementedError("each controller has files of its own")

    def write(self, path: str, name: str, text: str) -> None:
        """Take what is written, or raise what the kernel answers."""
        raise NotImplementedError("each controller has files of its own")


def refuse(path: str, code: int = errno.EINVAL) -> OSError:
    """Return the error of a text that the kernel does not take."""
    return OSError(code, os.strerror(code), path)


def parse_ids(path: str, text: str, count: int) -> frozenset[int]:
    """Return the ids that a list names; the kernel has bits for so many."""
    found: set[int] = set()
    for part in re.split(r"[,\s]+", text):
        if part == "all":
            found |= set(range(count))
            continue
        match = re.fullmatch(r"(\d+)(?:-(\d+)(?::(\d+)/(\d+))?)?", part)
        if part == "":
            continue
        if match is None:
            raise refuse(path)
        first, last = int(match[1]), int(match[2] or match[1])
        used, group = int(match[3] or 1), int(match[4] or 1)
        if max(first, last) >= 1 << 32:
            raise refuse(path, errno.EOVERFLOW)
        if first > last or used > group or group == 0:
            raise refuse(path)
        if last >= count:
            raise refuse(path, errno.ERANGE)
        found |= {i for i in range(first, last + 1) if (i - first) % group < used}
    return frozenset(found)


def parse_number(path: str, text: str, signed: bool = False) -> int:
    """Return a number as kstrtoull(text, 0) reads it: no spaces, no junk, 0x and 0 mean bases."""
    match = re.fullmatch(r"([+-]?)(?:(0[xX][0-9a-fA-F]+)|(0[0-7]*)|([1-9][0-9]*))", text)
    if match is None or (match[1] == "-" and not signed):
        raise refuse(path)
    digits = match[2] or match[3] or match[4]
    value = int(digits, 16 if match[2] else 8 if match[3] else 10)
    if value >= 1 << (63 if signed else 64):
        raise refuse(path, errno.ERANGE)
    return -value if match[1] == "-" else value


def parse_bytes(path: str, text: str) -> int:
    """Return an amount of memory, in whole pages; no digits mean none at all."""
    match = re.fullmatch(r"(\d*)([kKmMgGtTpPeE]?)", text.strip())
    if match is None:
        raise refuse(path)
    value = (int(match[1] or 0) << SUFFIXES[match[2].lower()]) % (1 << 64)
    return min(value // PAGE_BYTES * PAGE_BYTES, NO_LIMIT_BYTES)


class Bandwidth:
    """Quota, period and burst, checked as both versions check them.

    Attributes:
        quota_us: None where there is no limit.

    """

    def __init__(self) -> None:
        self.quota_us: int | None = None
        self.period_us = 100_000
        self.burst_us = 0

    def set(self, path: str, quota_us: int | None, period_us: int, burst_us: int) -> None:
        """Take all three, or refuse."""
        if not PERIOD_MIN_US <= period_us <= PERIOD_MAX_US:
            raise refuse(path)
        if quota_us is not None:
            if not PERIOD_MIN_US <= quota_us <= QUOTA_MAX_US:
                raise refuse(path)
            if burst_us > quota_us or burst_us + quota_us > QUOTA_MAX_US:
                raise refuse(path)
        self.quota_us, self.period_us, self.burst_us = quota_us, period_us, burst_us

    def share(self) -> float | None:
        """Return how many CPUs the quota is worth."""
        return None if self.quota_us is None else self.quota_us / self.period_us


class CpuV2(Settings):
    """cpu.max, cpu.max.burst and cpu.weight."""

    def __init__(self) -> None:
        self.bandwidth = Bandwidth()
        self.weight = 100

    def texts(self) -> dict[str, str]:
        """Return what each file says."""
        quota_us = self.bandwidth.quota_us
        return {
            "cpu.max": f"{'max' if quota_us is None else quota_us} {self.bandwidth.period_us}",
            "cpu.max.burst": str(self.bandwidth.burst_us),
            "cpu.weight": str(self.weight),
        }

    def write(self, path: str, name: str, text: str) -> None:
        """Take what is written, or raise what the kernel answers."""
        band = self.bandwidth
        if name == "cpu.max":
            match = re.match(r"\s*(?:(max)(?!\S)|(\d+)\S*)(?:\s+(\d+))?", text)
            if match is None:
                raise refuse(path)
            quota_us = None if match[1] else int(match[2])
            band.set(path, quota_us, int(match[3] or band.period_us), band.burst_us)
        elif name == "cpu.max.burst":
            band.set(path, band.quota_us, band.period_us, parse_number(path, text))
        else:
            weight = parse_number(path, text)
            if not 1 <= weight <= 10_000:
                raise refuse(path, errno.ERANGE)
            self.weight = weight


class CpuV1(Settings):
    """cpu.cfs_*_us and cpu.shares; no child's quota is worth more than its parent's.

    Attributes:
        fits: Says whether the quotas of the whole hierarchy fit into each other.

    """

    def __init__(self) -> None:
        self.bandwidth = Bandwidth()
        self.shares = 1024
        self.fits: Callable[[], bool] = lambda: True

    def texts(self) -> dict[str, str]:
        """Return what each file says."""
        quota_us = self.bandwidth.quota_us
        return {
            "cpu.cfs_quota_us": str(-1 if quota_us is None else quota_us),
            "cpu.cfs_period_us": str(self.bandwidth.period_us),
            "cpu.cfs_burst_us": str(self.bandwidth.burst_us),
            "cpu.shares": str(self.shares),
        }

    def write(self, path: str, name: str, text: str) -> None:
        """Take what is written, or raise what the kernel answers."""
        value = parse_number(path, text, signed=name == "cpu.cfs_quota_us")
        if name == "cpu.shares":
            self.shares = min(max(value, 2), 262_144)
            return
        band = self.bandwidth
        old = (band.quota_us, band.period_us, band.burst_us)
        if name == "cpu.cfs_quota_us":
            band.set(path, None if value < 0 else value, band.period_us, band.burst_us)
        elif name == "cpu.cfs_period_us":
            band.set(path, band.quota_us, value, band.burst_us)
        else:
            band.set(path, band.quota_us, band.period_us, value)
        if not self.fits():
            band.quota_us, band.period_us, band.burst_us = old
            raise refuse(path)


class Memory(Settings):
    """Limits of memory, in bytes; `no_limit` is how a version says that there is none."""

    def __init__(self, limits: dict[str, int], no_limit: str, shown: str) -> None:
        self._bytes = dict(limits)
        self._no_limit = no_limit
        self._shown = shown

    def texts(self) -> dict[str, str]:
        """Return what each file says."""
        return {
            name: self._shown if value == NO_LIMIT_BYTES else str(value)
            for name, value in self._bytes.items()
        }

    def write(self, path: str, name: str, text: str) -> None:
        """Take what is written, or raise what the kernel answers."""
        unlimited = text.strip() == self._no_limit
        self._bytes[name] = NO_LIMIT_BYTES if unlimited else parse_bytes(path, text)


class MemoryV1(Memory):
    """Of version 1: memory and swap together are limited to no less than memory alone."""

    def write(self, path: str, name: str, text: str) -> None:
        """Take what is written, or raise what the kernel answers."""
        before = dict(self._bytes)
        super().write(path, name, text)
        if self._bytes["memory.limit_in_bytes"] > self._bytes["memory.memsw.limit_in_bytes"]:
            self._bytes = before
            raise refuse(path)


class Hugetlb(Settings):
    """Limits of hugepages, in whole ones.

    Attributes:
        is_root: Of the cgroup at the root of version 1, which takes no limit.

    """

    def __init__(self, ending: str, no_limit: str) -> None:
        self._no_limit = no_limit
        self._sizes = {
            f"hugetlb.{size}.{what}{ending}": page_bytes
            for size, page_bytes in HUGEPAGES.items()
            for what in ("", "rsvd.")
        }
        self._bytes = dict.fromkeys(self._sizes, NO_LIMIT_BYTES)
        self.is_root = False

    def texts(self) -> dict[str, str]:
        """Return what each file says."""
        shown = {
            name: str(value // self._sizes[name] * self._sizes[name])
            for name, value in self._bytes.items()
        }
        if self._no_limit == "max":
            shown |= {n: "max" for n, value in self._bytes.items() if value == NO_LIMIT_BYTES}
            shown |= {f"hugetlb.{size}.current": "0" for size in HUGEPAGES}
        return shown

    def write(self, path: str, name: str, text: str) -> None:
        """Take what is written, or raise what the kernel answers."""
        if self.is_root or name not in self._sizes:
            raise refuse(path)
        unlimited = text.strip() == self._no_limit
        self._bytes[name] = NO_LIMIT_BYTES if unlimited else parse_bytes(path, text)


class Pids(Settings):
    """pids.max."""

    def __init__(self) -> None:
        self._max: int | None = None

    def texts(self) -> dict[str, str]:
        """Return what each file says."""
        return {"pids.max": "max" if self._max is None else str(self._max)}

    def write(self, path: str, name: str, text: str) -> None:
        """Take what is written, or raise what the kernel answers."""
        if text.strip() == "max":
            self._max = None
            return
        value = parse_number(path, text.strip(), signed=True)
        if not 0 <= value <= PIDS_MAX:
            raise refuse(path)
        self._max = value


class Cpuset(Settings):
    """Says that a cgroup has cpusets; the cgroup itself holds them."""

    def texts(self) -> dict[str, str]:
        """Return what each file says."""
        return {}

    def write(self, path: str, name: str, text: str) -> None:
        """Refuse: this file is for reading only."""
        raise refuse(path)


def _memory_v2() -> Memory:
    names = ("memory.max", "memory.high", "memory.swap.max")
    limits = dict.fromkeys(names, NO_LIMIT_BYTES)
    return Memory(limits | {"memory.low": 0, "memory.min": 0}, "max", "max")


def _memory_v1() -> Memory:
    ends = ("limit_in_bytes", "memsw.limit_in_bytes", "soft_limit_in_bytes")
    names = [f"memory.{end}" for end in ends]
    return MemoryV1(dict.fromkeys(names, NO_LIMIT_BYTES), "-1", str(NO_LIMIT_BYTES))


CONTROLLERS_V2: dict[str, Callable[[], Settings]] = {
    "cpuset": Cpuset,
    "cpu": CpuV2,
    "memory": _memory_v2,
    "hugetlb": lambda: Hugetlb("max", "max"),
    "pids": Pids,
}
CONTROLLERS_V1: dict[str, Callable[[], Settings]] = {
    "cpuset": Cpuset,
    "cpu": CpuV1,
    "memory": _memory_v1,
    "hugetlb": lambda: Hugetlb("limit_in_bytes", "-1"),
    "pids": Pids,
}
