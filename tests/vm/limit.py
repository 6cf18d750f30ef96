"""Limits of time that a busy host does not use up: what waits for a CPU does not count.

The emulator is `nice`, so that one other process on each CPU of the host leaves it about a tenth
of its speed. The kernel says for how long each thread was ready to run and had to wait.
"""

import os
import subprocess
import time
from pathlib import Path

LOOK_S = 0.5

SLOWED_BY = 10
"""How many times slower one other process on each CPU makes what is nice (weights 110 and 1024)."""


class TooLongError(Exception):
    """The process was given its time, and did not end."""


def wait_within(process: "subprocess.Popen[str]", limit_s: float) -> None:
    """Wait for a process; seconds in which its busiest thread waits for a CPU do not count.

    Raises:
        TooLongError: The limit is over; the process is killed.

    """
    begin = time.monotonic()
    while True:
        denied_s = seconds_denied(Path(f"/proc/{process.pid}/task"))
        try:
            process.wait(LOOK_S)
        except subprocess.TimeoutExpired:
            if time.monotonic() - begin - denied_s > limit_s:
                process.kill()
                process.wait()
                raise TooLongError(
                    f"no end in {limit_s:g} s, and {denied_s:.0f} s of waiting for a CPU"
                ) from None
        else:
            return


def seconds_denied(tasks: Path) -> float:
    """Return for how long the busiest thread was ready to run and had no CPU; 0 if unknown."""
    found = [(0.0, 0.0)]
    for task in tasks.glob("*/schedstat"):
        try:
            ran_ns, waited_ns, _ = task.read_text().split()
        except (OSError, ValueError):  # it ended meanwhile, or the kernel does not count
            continue
        found.append((int(ran_ns) / 1e9, int(waited_ns) / 1e9))
    return max(found)[1]


def patience(load: float | None = None, cpus: int | None = None) -> float:
    """Return by how much longer waits may last in the emulated machine than on an idle host."""
    load = os.getloadavg()[0] if load is None else load
    cpus = os.cpu_count() or 1 if cpus is None else cpus
    return 1 + (SLOWED_BY - 1) * load / cpus
