"""The search's clock as CPU time of the process, for figures on a machine with other work.

A search then does as much within its limit as it would alone on the machine. CP-SAT keeps its
own time, by the clock on the wall, so a busy machine can only make it end early.
"""

import time
from types import SimpleNamespace
from typing import Any

from placer.search import budget, halt


def keep_cpu_time() -> None:
    """Let the search look at the CPU time of the process from now on."""
    modules: tuple[Any, ...] = budget, halt
    for module in modules:
        module.time = SimpleNamespace(monotonic=time.process_time)
