"""Checksums of checkpoints: FNV-1a over the text that spew prints for their contents."""

from collections.abc import Sequence

from placer_models.kubernetes.checkpoints.go_types import MEND, KubeletCheckpointError


def check_checksum(checksum: int, shown: Sequence[str], field: str) -> None:
    """Check that a checksum matches the contents of a checkpoint.

    A kubelet accepts 0 unchecked, because the first kubelets wrote no checksum. Here 0 is refused.

    Args:
        checksum: The checksum in the checkpoint.
        shown: The texts that spew may have printed for the kubelet that wrote it.
        field: The field that holds the checksum.

    Raises:
        KubeletCheckpointError: The checksum is 0, or matches none of these texts.

    """
    sums = [fnv_1a(one.encode()) for one in shown]
    if checksum == 0:
        raise KubeletCheckpointError(
            field, f"is 0, so nothing proves what the file says; expected {sums[0]}; {MEND}"
        )
    if checksum not in sums:
        raise KubeletCheckpointError(
            field,
            f"the file is corrupt: its checksum is {checksum}, "
            f"and that of what it says {sums[0]}; {MEND}",
        )


def check_data_checksum(checksum: int, data: str, field: str) -> None:
    """Check the checksum of a text that a checkpoint holds.

    Raises:
        KubeletCheckpointError: The checksum is 0, or does not match the text.

    """
    check_checksum(checksum, [f"(string){data}"], field)


def fnv_1a(data: bytes) -> int:
    """Return the hash of Fowler, Noll and Vo in its variant 1a of 32 bits."""
    value = 0x811C9DC5
    for byte in data:
        value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    return value
