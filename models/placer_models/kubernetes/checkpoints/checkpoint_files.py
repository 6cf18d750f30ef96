"""Files in which a kubelet keeps its checkpoints, recognized by their names."""

from collections.abc import Callable, Mapping

from placer_models.kubernetes.checkpoints.cpu_manager import (
    CPU_MANAGER_STATE,
    KubeletCpuManagerState,
    read_cpu_manager_state,
)
from placer_models.kubernetes.checkpoints.device_manager import (
    DEVICE_MANAGER_CHECKPOINT,
    KubeletDeviceManagerState,
    read_device_manager_checkpoint,
)
from placer_models.kubernetes.checkpoints.memory_manager import (
    MEMORY_MANAGER_STATE,
    KubeletMemoryManagerState,
    read_memory_manager_state,
)

KUBELET_ROOT = "/var/lib/kubelet"
"""The kubelet's root directory, unless its ``--root-dir`` names another one."""

Checkpoint = KubeletCpuManagerState | KubeletMemoryManagerState | KubeletDeviceManagerState

_READERS: Mapping[str, Callable[[str], Checkpoint]] = {
    CPU_MANAGER_STATE: read_cpu_manager_state,
    MEMORY_MANAGER_STATE: read_memory_manager_state,
    DEVICE_MANAGER_CHECKPOINT: read_device_manager_checkpoint,
}
_BY_NAME = {path.rpartition("/")[2]: read for path, read in _READERS.items()}


def path_under_kubelet_root(kubelet_root: str, path: str) -> str:
    """Return where a checkpoint is below another root directory of the kubelet.

    Args:
        kubelet_root: The absolute path of that directory.
        path: Where it is below the usual one, without a ``/`` before it, as the answer is.

    """
    return f"{kubelet_root.strip('/')}{path.removeprefix(KUBELET_ROOT[1:])}".lstrip("/")


def is_checkpoint(name: str) -> bool:
    """Return whether a file of this name is a checkpoint of a kubelet."""
    return name in _BY_NAME


def read_checkpoint(name: str, text: str) -> Checkpoint:
    """Return the contents of the checkpoint in a file of this name.

    Raises:
        KubeletCheckpointError: It is not what a kubelet writes, or a checksum is wrong.

    """
    return _BY_NAME[name](text)
