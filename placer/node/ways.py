"""Ways to cgroups: whether anybody else may change a step of one.

The owner of a cgroup's directory may make any cgroup below it, and whoever may write its
``cgroup.procs`` may bring processes there. Both are how a subtree is delegated to a user.
"""

import os

from placer.node.cgroups import CPU, CPUSET, CgroupReader, as_proc_cgroup_path, parent_cgroup_path

_WRITTEN_BY_OTHERS = 0o022
_DELEGATED_BY = {
    1: ("", "cgroup.procs", "tasks"),
    2: ("", "cgroup.procs", "cgroup.threads", "cgroup.subtree_control"),
}
"""Version -> whose owner may make cgroups or move processes: the directory, and files in it."""


class CgroupWritableByOthersCheck:
    """Who may change the steps of the way to a cgroup; each step is asked about once."""

    def __init__(self, cgroups: CgroupReader) -> None:
        self._cgroups = cgroups
        self._ours = {0, os.geteuid()}
        self._known: dict[str, str] = {"": ""}

    def trouble(self, cgroup: str) -> str:
        """Return who else may change a cgroup or one above it, in words; empty if nobody may.

        Raises:
            OSError: A cgroup cannot be looked at.

        """
        if (found := self._known.get(cgroup)) is None:
            found = self.trouble(parent_cgroup_path(cgroup)) or self._stranger(cgroup)
            self._known[cgroup] = found
        return found

    def _stranger(self, cgroup: str) -> str:
        hierarchies = (CPUSET, CPU) if self._cgroups.version == 1 else (CPUSET,)
        for controller in hierarchies:
            for file in _DELEGATED_BY[self._cgroups.version]:
                path = self._cgroups.path(controller, cgroup, file)
                try:
                    user, mode = self._cgroups.files.owner(path)
                except FileNotFoundError:
                    continue
                where = (
                    f"{as_proc_cgroup_path(cgroup)}/{file}" if file else as_proc_cgroup_path(cgroup)
                )
                if user not in self._ours:
                    return f"{where} belongs to uid {user}, who may put anything there"
                if mode & _WRITTEN_BY_OTHERS:
                    return f"{where} has mode {mode:o}, so that others may put anything there"
        return ""
