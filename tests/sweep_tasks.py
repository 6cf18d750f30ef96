"""Tasks of sweeps that tell, in a folder, where and how often they began."""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from placer.sweep.halting import stop_check_of_task

_LONGEST_S = 60.0


@dataclass(frozen=True)
class Told:
    """
    A task that leaves a note in a folder when it begins; a slow one waits until it is let go.
    """

    number: int
    folder: str
    slow: bool = False

    @property
    def begun(self) -> list[int]:
        """Ids of the processes in which it began, in order."""
        note = self._note
        return [int(line) for line in note.read_text().split()] if note.exists() else []

    @property
    def _note(self) -> Path:
        return Path(self.folder) / f"begun-{self.number}"


def square(task: Told) -> int:
    """Return the square of the number."""
    with (Path(task.folder) / f"begun-{task.number}").open("a") as note:
        note.write(f"{os.getpid()}\n")
    end_s = time.monotonic() + _LONGEST_S
    while task.slow and not (Path(task.folder) / "go").exists() and time.monotonic() < end_s:
        if stop_check_of_task()():
            return -1
        time.sleep(0.01)
    return task.number**2


def deadly(task: Told) -> int:
    """Kill the process where the task is slow."""
    if task.slow:
        os.kill(os.getpid(), signal.SIGKILL)
    return square(task)


def wrong(task: Told) -> int:
    """Raise what a defect or a bad question raises."""
    raise ValueError(f"no task {task.number}")
