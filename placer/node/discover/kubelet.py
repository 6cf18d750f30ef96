"""Resources that a machine's kubelet has given out, from its checkpoints (C15, C16, D12)."""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from placer.node.discover.inventory import HardwareInventory
from placer.node.discover.machine_files import DiscoverFilePermissionError, DiscoverMachineFiles
from placer_models.annotations.node_topology import CpuManagerPolicyAnnotation, PodCpuAlloc
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
    read_device_manager_checkpoint,
)
from placer_models.kubernetes.checkpoints.go_types import KubeletCheckpointError
from placer_models.kubernetes.checkpoints.memory_manager import (
    MEMORY_MANAGER_STATE,
    read_memory_manager_state,
)

_State = TypeVar("_State")


def with_kubelet_allocations(
    files: DiscoverMachineFiles, inventory: HardwareInventory, kubelet_root: str = KUBELET_ROOT
) -> HardwareInventory:
    """Return the inventory with what the kubelet has given to pods: CPUs, memory, devices.

    Args:
        files: The files of the machine.
        inventory: What they say of it.
        kubelet_root: The root directory of its kubelet, an absolute path.

    Raises:
        InputError: A checkpoint is not what a kubelet writes, or its checksum is wrong.

    """
    warnings = [*inventory.warnings]
    cpu_file, memory_file, device_file = (
        path_under_kubelet_root(kubelet_root, path)
        for path in (CPU_MANAGER_STATE, MEMORY_MANAGER_STATE, DEVICE_MANAGER_CHECKPOINT)
    )
    cpus = _read(files, cpu_file, read_cpu_manager_state, "CPUs", warnings)
    memory = _read(files, memory_file, read_memory_manager_state, "memory", warnings)
    devices = _read(files, device_file, read_device_manager_checkpoint, "devices", warnings)
    inventory = replace(
        inventory,
        pod_memory=memory,
        plugin_devices=devices.held if devices else (),
        warnings=tuple(warnings),
    )
    if cpus is None:
        return inventory
    pods = tuple(
        PodCpuAlloc("", "", uid, owned, managed_by_kubelet=True) for uid, owned in cpus.cpus.items()
    )
    return replace(inventory, policy=CpuManagerPolicyAnnotation(cpus.policy), pod_cpus=pods)


def _read(
    files: DiscoverMachineFiles,
    path: str,
    read: Callable[[str], _State],
    what: str,
    warnings: list[str],
) -> _State | None:
    """Return the contents of a checkpoint, or None if there is none or it may not be read."""
    try:
        text = files.read(path)
    except DiscoverFilePermissionError:
        warnings.append(f"/{path} may not be read: which {what} pods have by it is not known")
        return None
    if text is None:
        return None
    try:
        return read(text)
    except KubeletCheckpointError as error:
        raise files.wrong(path, str(error)) from None
