"""Facts about a host beyond its cgroups: its name, its CPUs, other writers."""

import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from placer.node.cgroups import is_systemd_system_unit, is_systemd_unit
from placer.node.errors import HostCannotApplyError
from placer.node.systemd_units import SystemdInterface
from placer_models.cpuset import CpuSet, parse_cpu_list
from placer_models.kubernetes.checkpoints.checkpoint_files import (
    KUBELET_ROOT,
    path_under_kubelet_root,
)
from placer_models.kubernetes.checkpoints.cpu_manager import (
    CPU_MANAGER_STATE,
    read_cpu_manager_state,
)
from placer_models.kubernetes.checkpoints.device_manager import (
    DEVICE_MANAGER_CHECKPOINT,
    KubeletDevicesOfContainer,
    read_device_manager_checkpoint,
)
from placer_models.kubernetes.checkpoints.go_types import KubeletCheckpointError
from placer_models.kubernetes.checkpoints.memory_manager import (
    MEMORY_MANAGER_STATE,
    read_memory_manager_state,
)

_State = TypeVar("_State")


@dataclass(frozen=True, slots=True)
class HostFactsForApply:
    """The machine.

    Attributes:
        present: CPUs that it has, online or not; None if unknown.
        systemd: Whether systemd runs it: then the cgroups of units are systemd's.
        static_policy: Whether the kubelet gives out CPUs itself, or that is unknown.
        static_memory: Whether the kubelet gives out memory of NUMA nodes, or that is unknown.
        kubelet_fault: What is wrong with the file in which the kubelet says so.
        disputed: Cgroups that another writer changed back each time that we wrote them.
        page_sizes: Sizes in bytes of the hugepages that its kernel has; None if unknown.
        counts_swap: Whether its kernel limits swap.
        held: Devices that the kubelet has given to pods.
        held_fault: What is wrong with the file that lists these devices.
        held_file: That file, without a ``/`` before it.

    """

    name: str
    present: CpuSet | None = None
    systemd: bool = False
    static_policy: bool = False
    kubelet_fault: str = ""
    disputed: frozenset[str] = frozenset()
    page_sizes: frozenset[int] | None = None
    counts_swap: bool = True
    static_memory: bool = False
    held: tuple[KubeletDevicesOfContainer, ...] = ()
    held_fault: str = ""
    held_file: str = DEVICE_MANAGER_CHECKPOINT

    def rival(self, cgroup: str, units: SystemdInterface | None = None) -> str | None:
        """Return the other writer of a cgroup, in words, or None if there is none that we know of.

        Args:
            cgroup: Its path.
            units: The systemd units, if systemd can be asked to write their cgroups.

        """
        if self.kubelet_fault:
            return f"the kubelet may give CPUs out on this node: its {self.kubelet_fault}"
        if self.static_policy:
            return "the kubelet's static CPU policy gives CPUs out on this node"
        if self.static_memory:
            return "the kubelet's static memory policy gives memory out on this node"
        if cgroup in self.disputed:
            return "somebody writes it again whenever Placer does"
        if unit := self.unit_of(cgroup):
            told = f"{unit} is a unit of systemd, which writes its cgroup again at each reload"
            if units is None:
                return told
            if not is_systemd_system_unit(cgroup):
                return f"{told}; its systemd is not that of the system, and so cannot be asked to"
            return f"{told}, and {why}" if (why := units.trouble()) else None
        return None

    def unit_of(self, cgroup: str) -> str:
        """Return the unit by which systemd is asked to write a cgroup; empty if it is no unit's."""
        return cgroup.rpartition("/")[2] if self.systemd and is_systemd_unit(cgroup) else ""


def read_host_facts(
    root: Path = Path("/"), *, kubelet_root: str = KUBELET_ROOT
) -> HostFactsForApply:
    """Return what is true of this machine, or of the one whose files are below the root.

    Args:
        root: Where its files are.
        kubelet_root: The root directory of its kubelet, an absolute path.

    """
    present = root / "sys/devices/system/cpu/present"
    cpus, fault = _checkpoint(
        root, path_under_kubelet_root(kubelet_root, CPU_MANAGER_STATE), read_cpu_manager_state
    )
    memory, memory_fault = _checkpoint(
        root, path_under_kubelet_root(kubelet_root, MEMORY_MANAGER_STATE), read_memory_manager_state
    )
    held_file = path_under_kubelet_root(kubelet_root, DEVICE_MANAGER_CHECKPOINT)
    devices, held_fault = _checkpoint(root, held_file, read_device_manager_checkpoint)
    return HostFactsForApply(
        socket.gethostname(),
        parse_cpu_list(present.read_text().strip()) if present.exists() else None,
        (root / "run/systemd/system").is_dir(),
        bool(fault) or (cpus is not None and cpus.gives_out),
        fault or memory_fault,
        page_sizes=_page_sizes(root / "sys/kernel/mm/hugepages"),
        counts_swap=(root / "proc/swaps").exists() and not _says(root, "swapaccount=0"),
        static_memory=bool(memory_fault) or (memory is not None and memory.gives_out),
        held=devices.held if devices else (),
        held_fault=held_fault,
        held_file=held_file,
    )


def check_kubelet_root(kubelet_root: str) -> None:
    """Refuse a root directory of a kubelet that is not there.

    Raises:
        HostCannotApplyError: Without it nothing would tell that a kubelet gives CPUs out.

    """
    if not Path(kubelet_root).is_dir():
        raise HostCannotApplyError(
            f"{kubelet_root} is no folder; name the kubelet's --root-dir, or leave --kubelet-root "
            "out where it has none of its own"
        )


def _page_sizes(folder: Path) -> frozenset[int]:
    names = [path.name for path in folder.glob("hugepages-*kB")]
    return frozenset(int(name[len("hugepages-") : -len("kB")]) << 10 for name in names)


def _says(root: Path, option: str) -> bool:
    """Return whether the kernel was booted with an option."""
    try:
        return option in (root / "proc/cmdline").read_text(errors="replace").split()
    except OSError:
        return False


def _checkpoint(root: Path, path: str, read: Callable[[str], _State]) -> tuple[_State | None, str]:
    """Return what a checkpoint of the kubelet says, and what is wrong with it (C16).

    If something is wrong with it, everything counts as given out.
    """
    try:
        return read((root / path).read_bytes().decode()), ""
    except FileNotFoundError:
        return None, ""
    except OSError as error:
        return None, f"{path} cannot be read: {error.strerror or error}"
    except UnicodeDecodeError:
        return None, f"{path} is not UTF-8"
    except KubeletCheckpointError as error:
        return None, f"{path}: {error}"
