"""Blank cgroup files, of a node without any cgroup: for plans for a machine elsewhere."""

import errno
import os
from typing import Literal

from placer.node.cgroups import CPUSET
from placer.node.operations import SUBTREE
from placer_models.cluster import Node
from placer_models.cpuset import format_cpu_list


class ReadOnlyRootCgroup:
    """A root cgroup with all controllers and all resources of the node; it cannot be written to."""

    version: Literal[1, 2] = 2

    def __init__(self, node: Node) -> None:
        topology = node.machine.topology
        self._texts = {
            SUBTREE: "cpuset cpu memory hugetlb pids",
            f"{CPUSET}.cpus.effective": format_cpu_list(topology.online),
            f"{CPUSET}.mems.effective": format_cpu_list(numa.id for numa in topology.numa_nodes),
        }

    def read(self, path: str) -> str:
        """Return what a file of the root says."""
        if path not in self._texts:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return self._texts[path]

    def write(self, path: str, text: str) -> None:
        """Refuse."""
        raise self._read_only(path)

    def make_directory(self, path: str) -> None:
        """Refuse."""
        raise self._read_only(path)

    def remove_directory(self, path: str) -> None:
        """Refuse."""
        raise self._read_only(path)

    def children(self, path: str) -> list[str]:
        """Return nothing: there are no cgroups."""
        return []

    def exists(self, path: str) -> bool:
        """Return whether the path is the root, or a file of it."""
        return path == "" or path in self._texts

    def owner(self, path: str) -> tuple[int, int]:
        """Return root, who alone may write."""
        return 0, 0o755

    def identity(self) -> str:
        """Return what no tree of a kernel is called."""
        return "blank"

    @staticmethod
    def _read_only(path: str) -> OSError:
        return OSError(errno.EROFS, os.strerror(errno.EROFS), path)
