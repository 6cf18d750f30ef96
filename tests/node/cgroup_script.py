"""What happens to cgroup files, as a script of steps: the same for a kernel and for the fake.

A step is one line, its answer one line: ``ok``, the name of an errno, or what was read.

    mkdir PATH | rmdir PATH | children PATH
    write PATH TEXT         TEXT is all behind the second space, and may be empty
    read PATH
    start NAME PATH         a new process, moved into the cgroup
    stop NAME
    affinity NAME           the CPUs on which the process may run
    offline CPU | online CPU
    lock | unlock           the mount is made read-only, writable
    nobody | root           who does what follows

In TEXT and in answers, ``$NAME`` stands for the id of a process.
"""

import errno
from collections.abc import Callable, Iterable
from typing import Protocol

from placer.node.cgroup_files import CgroupFilesystem


class Machine(Protocol):
    """A kernel, real or not."""

    files: CgroupFilesystem

    def start(self, path: str) -> int:
        """Start a process, move it into a cgroup and return its id; none is left on an error."""

    def stop(self, pid: int) -> None:
        """End a process that was started."""

    def affinity(self, pid: int) -> str:
        """Return the CPUs on which a process may run."""

    def set_online(self, cpu: int, online: bool) -> None:
        """Plug or unplug a CPU; returns when cpusets know."""

    def set_read_only(self, read_only: bool) -> None:
        """Mount the cgroup file systems anew, without or with the right to write."""

    def set_user(self, user: int) -> None:
        """Act as another user from now on."""


def answers(machine: Machine, steps: Iterable[str]) -> list[str]:
    """Go through the steps and return what each answers."""
    script = _Script(machine)
    return [script.answer(step) for step in steps]


class _Script:
    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._pids: dict[str, int] = {}

    def answer(self, step: str) -> str:
        word, _, rest = step.partition(" ")
        try:
            return self._words()[word](rest) or "ok"
        except OSError as error:
            return errno.errorcode[error.errno or 0]

    def _words(self) -> dict[str, Callable[[str], str | None]]:
        machine, files = self._machine, self._machine.files
        return {
            "mkdir": files.make_directory,
            "rmdir": files.remove_directory,
            "children": lambda path: " ".join(files.children(path)) or "none",
            "write": self._write,
            "read": lambda path: self._named(files.read(path)) or "empty",
            "start": self._start,
            "stop": lambda name: machine.stop(self._pids.pop(name)),
            "affinity": lambda name: machine.affinity(self._pids[name]),
            "offline": lambda cpu: machine.set_online(int(cpu), False),
            "online": lambda cpu: machine.set_online(int(cpu), True),
            "lock": lambda _: machine.set_read_only(True),
            "unlock": lambda _: machine.set_read_only(False),
            "nobody": lambda _: machine.set_user(65534),
            "root": lambda _: machine.set_user(0),
        }

    def _write(self, rest: str) -> None:
        path, _, text = rest.partition(" ")
        for name, pid in self._pids.items():
            text = text.replace(f"${name}", str(pid))
        self._machine.files.write(path, text)

    def _start(self, rest: str) -> None:
        name, path = rest.split()
        self._pids[name] = self._machine.start(path)

    def _named(self, text: str) -> str:
        name_of = {str(pid): f"${name}" for name, pid in self._pids.items()}
        return " ".join(name_of.get(word, word) for word in text.split())
