"""The limit of an emulated machine's time grows with what the host keeps from it."""

import subprocess
import sys
from pathlib import Path

import pytest

from vm import limit
from vm.limit import TooLongError, patience, seconds_denied, wait_within

SLEEPS = [sys.executable, "-S", "-c", "import time\ntime.sleep(999)"]


def test_the_busiest_thread_says_how_long_there_was_no_cpu(tmp_path: Path) -> None:
    """
    Not the one that waited longest; a kernel that does not count says 0.
    """
    for task, text in (("1", "1000000000 9000000000 5\n"), ("2", "40000000000 7500000000 5\n")):
        (tmp_path / task).mkdir()
        (tmp_path / task / "schedstat").write_text(text)

    assert seconds_denied(tmp_path) == 7.5
    assert seconds_denied(tmp_path / "1") == 0


def test_what_waits_for_a_cpu_is_not_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A second that the host keeps for others does not count; one that it leaves to it does.
    """
    monkeypatch.setattr(limit, "LOOK_S", 0.001)
    denied = iter([1e9] * 3)
    monkeypatch.setattr(limit, "seconds_denied", lambda _: next(denied, 0.0))
    process = subprocess.Popen(SLEEPS, text=True)

    with pytest.raises(TooLongError, match="no end in 0 s, and 0 s of waiting"):
        wait_within(process, 0)

    assert process.returncode == -9
    assert next(denied, None) is None


def test_a_process_that_ends_is_waited_for() -> None:
    process = subprocess.Popen([sys.executable, "-S", "-c", "raise SystemExit(3)"], text=True)

    wait_within(process, 60)

    assert process.returncode == 3


def test_an_idle_host_needs_no_more_patience_than_is_said() -> None:
    """
    One other process on each CPU leaves a nice one a tenth.
    """
    assert patience(0, 2) == 1
    assert patience(2, 2) == limit.SLOWED_BY
    assert patience() >= 1
