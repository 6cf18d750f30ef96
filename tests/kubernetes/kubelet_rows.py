"""Checkpoints as kubelets wrote them, and the function that reads each."""

import json
from collections.abc import Callable
from pathlib import Path

from placer_models.kubernetes.checkpoints.cpu_manager import read_cpu_manager_state
from placer_models.kubernetes.checkpoints.device_manager import read_device_manager_checkpoint
from placer_models.kubernetes.checkpoints.memory_manager import read_memory_manager_state

READ: dict[str, Callable[[str], object]] = {
    "cpu": read_cpu_manager_state,
    "memory": read_memory_manager_state,
    "devices": read_device_manager_checkpoint,
}

_FILE = Path(__file__).parent / "data" / "kubelet_checkpoints.json"

ROWS: list[dict[str, str]] = json.loads(_FILE.read_text("utf-8"))["rows"]
"""By the kubelet's own code (kubelet_writes): kubelet, format, version, text."""

NAMES = [f"{row['kubelet']} {row['format']} {row['version']} {i}" for i, row in enumerate(ROWS)]


def row_of(format: str, version: str, which: int = -1) -> str:
    """Return the text of a row of a format."""
    texts = [r["text"] for r in ROWS if (r["format"], r["version"]) == (format, version)]
    return texts[which]


def flips(data: bytes, masks: tuple[int, ...]) -> list[bytes]:
    """Return the data with each of its bytes changed by each of the masks."""
    return [
        bytes((*data[:i], data[i] ^ mask, *data[i + 1 :]))
        for i in range(len(data))
        for mask in masks
    ]
