"""A real Dask scheduler and two workers, as processes of this machine."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from placer.sweep.workers import DaskSweepWorkers

DASK = pytest.param("Dask", marks=pytest.mark.check)
NO_DASK = "Dask is not installed: pip install 'placer[dask]'"
TESTS = Path(__file__).parent
LONGEST_S = 60.0


def wait_until(true: Callable[[], bool]) -> None:
    """Wait until something is true, but not for ever."""
    end_s = time.monotonic() + LONGEST_S
    while not true():
        assert time.monotonic() < end_s
        time.sleep(0.01)


class Cluster:
    """
    A Dask scheduler and two workers of one thread each, as processes of their own.
    """

    def __init__(self, folder: Path) -> None:
        self.file = folder / "scheduler.json"
        common = ["--scheduler-file", str(self.file), "--no-dashboard"]
        self.processes = [
            self._start("dask_scheduler", *common, "--host", "127.0.0.1", "--port", "0")
        ]
        wait_until(self.file.exists)
        for _ in range(2):
            alone = ["--no-nanny", "--nthreads", "1", "--local-directory", str(folder)]
            self.processes.append(self._start("dask_worker", *common, *alone))

    @staticmethod
    def _start(what: str, *arguments: str) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-m", f"distributed.cli.{what}", *arguments]
        quiet = subprocess.DEVNULL
        path = {"PYTHONPATH": str(TESTS)}
        return subprocess.Popen(command, env=os.environ | path, stdout=quiet, stderr=quiet)

    @property
    def address(self) -> str:
        found: str = json.loads(self.file.read_text())["address"]
        return found

    def workers(self) -> DaskSweepWorkers:
        """Return both workers, once they are there."""
        from distributed import Client

        with Client(self.address, set_as_default=False) as client:
            client.wait_for_workers(2, LONGEST_S)
        return DaskSweepWorkers(self.address)

    def end(self) -> None:
        for process in reversed(self.processes):
            process.kill()
            process.wait()
