"""`placer validate` of a kubelet's checkpoints (C16, D12)."""

from pathlib import Path

import pytest

from commands import Placer
from kubernetes.kubelet_rows import row_of
from placer_cli.exits import ExitCode


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        (
            "cpu_manager_state",
            row_of("cpu", "4"),
            "the state of a kubelet's CPU manager, policy static: 7 CPUs of 2 pods",
        ),
        (
            "memory_manager_state",
            row_of("memory", "3"),
            "the state of a kubelet's memory manager, policy Static: 8Gi of 2 pods",
        ),
        (
            "kubelet_internal_checkpoint",
            row_of("devices", "2"),
            "the checkpoint of a kubelet's device manager: 4 devices of 1 pod",
        ),
    ],
)
def test_what_a_checkpoint_holds_is_said(
    tmp_path: Path, placer: Placer, name: str, text: str, says: str
) -> None:
    """
    Told by the name of the file, wherever it is; a faulty one is named, as other files are.
    """
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")

    assert placer("validate", str(file)).out == f"{file}: {says}\n"

    file.write_text(text.replace("0", "1", 1), encoding="utf-8")
    assert placer("validate", str(file), code=ExitCode.BAD_INPUT).err.startswith(
        f"placer: {file}: "
    )

    file.write_bytes(b"\xff")
    printed = placer("validate", str(file), code=ExitCode.BAD_INPUT)
    assert printed.err == f"placer: {file}: is not UTF-8\n"

    file.unlink()
    printed = placer("validate", str(file), code=ExitCode.BAD_INPUT)
    assert printed.err.endswith(f"{name}: cannot be read: No such file or directory\n")
