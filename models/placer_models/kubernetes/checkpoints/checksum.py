"""The checksum of a checkpoint: FNV-1a over the text by which spew shows what it says."""

from collections.abc import Sequence

from placer_models.kubernetes.checkpoints.go_types import MEND, CheckpointError


def verify(checksum: int, shown: Sequence[str], field: str) -> None:
    """Check that a checksum is that of what a checkpoint says.

    A kubelet takes 0 without a look, as the first ones wrote none; here it is refused.

    Args:
        checksum: As the checkpoint has it.
        shown: What spew may have shown to whoever wrote it.
        field: Which has it.

    Raises:
        CheckpointError: It is not.

    """
    sums = [fnv_1a(one.encode()) for one in shown]
    if checksum == 0:
        raise CheckpointError(
            field, f"is 0, so nothing proves what the file says; expected {sums[0]}; {MEND}"
        )
    if checksum not in sums:
        raise CheckpointError(
            field,
            f"the file is corrupt: its checksum is {checksum}, and that of what it says {sums[0]}; "
            f"{MEND}",
        )


def verify_data(checksum: int, data: str, field: str) -> None:
    """Check the checksum of a text that a checkpoint holds.

    Raises:
        CheckpointError: It is another.

    """
    verify(checksum, [f"(string){data}"], field)


def fnv_1a(data: bytes) -> int:
    """Return the hash of Fowler, Noll and Vo in its variant 1a of 32 bits."""
    value = 0x811C9DC5
    for byte in data:
        value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    return value
