"""What is true of a machine besides its cgroups: its name, its CPUs, who else writes there."""

import socket
from dataclasses import dataclass, field
from pathlib import Path

from placer.node.cgroups import is_unit
from placer.node.containers import Running, cgroups_of_processes
from placer.node.kubelet import CPU_MANAGER_STATE, cpu_manager_state_of
from placer_models.cpuset import CpuSet, parse_cpu_list

_STATIC = "static"


@dataclass(frozen=True, slots=True)
class Host:
    """The machine.

    Attributes:
        present: CPUs that it has, online or not; None: not known.
        running: The cgroups that have processes.
        systemd: Whether systemd runs it: then the cgroups of units are systemd's.
        static_policy: Whether the kubelet gives CPUs out itself.
        disputed: Cgroups that somebody wrote again each time that we did.

    """

    name: str
    present: CpuSet | None = None
    running: Running = field(default_factory=lambda: Running(()))
    systemd: bool = False
    static_policy: bool = False
    disputed: frozenset[str] = frozenset()

    def rival(self, cgroup: str) -> str | None:
        """Return who else writes a cgroup, in words; None: nobody that we know of."""
        if self.static_policy:
            return "the kubelet's static CPU policy gives CPUs out on this node"
        if cgroup in self.disputed:
            return "somebody writes it again whenever Placer does"
        if self.systemd and is_unit(cgroup):
            unit = cgroup.rpartition("/")[2]
            return f"{unit} is a unit of systemd, which writes its cgroup again at each reload"
        return None


def read_host(version: int, root: Path = Path("/")) -> Host:
    """Return what is true of this machine, or of the one whose files are below the root."""
    present = root / "sys/devices/system/cpu/present"
    return Host(
        socket.gethostname(),
        parse_cpu_list(present.read_text().strip()) if present.exists() else None,
        Running(cgroups_of_processes(root / "proc", version)),
        (root / "run/systemd/system").is_dir(),
        _kubelet_is_static(root / CPU_MANAGER_STATE),
    )


def _kubelet_is_static(state: Path) -> bool:
    """Return whether the kubelet's checkpoint says so; one that cannot be read counts as yes."""
    try:
        text = state.read_text(encoding="utf-8")
    except FileNotFoundError:
        return False
    except (OSError, UnicodeDecodeError):
        return True
    try:
        return bool(cpu_manager_state_of(text)["policyName"] == _STATIC)
    except ValueError:
        return True
