"""Wakes the agent when a cgroup file is written, a cgroup comes or goes, or a document arrives.

The kernel tells of a write to a cgroup file as of one to any file (inotify). What it does on its
own, such as taking a CPU away, it does not tell; so there is a wake-up every `POLL_S` anyway.
"""

import logging
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

log = logging.getLogger(__name__)

POLL_S = 0.5
DEBOUNCE_MS = 50
STEP_MS = 100

_PROCESSES = frozenset({"cgroup.procs", "cgroup.events"})
"""Cgroup files that change when a container starts or ends."""

_SETTINGS = frozenset(
    {
        "cgroup.subtree_control",
        "cpu.cfs_period_us",
        "cpu.cfs_quota_us",
        "cpu.max",
        "cpu.shares",
        "cpu.weight",
        "cpuset.cpu_exclusive",
        "cpuset.cpus",
        "cpuset.cpus.exclusive",
        "cpuset.cpus.partition",
        "cpuset.mems",
        "memory.limit_in_bytes",
        "memory.max",
        "pids.max",
    }
)
"""Cgroup files whose change may be drift."""


ANYTHING = "*"
"""Stands for every path, where changes cannot be watched."""


def is_process_list(path: str) -> bool:
    """Return whether a path is a file that changes when a container starts or ends."""
    return path.rpartition("/")[2] in _PROCESSES


def is_setting(path: str) -> bool:
    """Return whether a path is a file that says what a cgroup may use."""
    return path.rpartition("/")[2] in _SETTINGS


def wakes(
    cgroup_mounts: Sequence[Path], documents: Path, stop: threading.Event
) -> Iterator[frozenset[str]]:
    """Yield the paths that changed since, every `POLL_S` seconds or sooner, until stopped."""
    from watchfiles import Change, watch

    def matters(change: Change, path: str) -> bool:
        if path.startswith(f"{documents}/"):
            return True
        if change is not Change.modified:
            return True
        return is_setting(path) or is_process_list(path)

    paths = [documents, *cgroup_mounts]
    while not stop.is_set():
        try:
            for changes in watch(
                *paths,
                watch_filter=matters,
                debounce=DEBOUNCE_MS,
                step=STEP_MS,
                stop_event=stop,
                rust_timeout=int(POLL_S * 1000),
                yield_on_timeout=True,
                raise_interrupt=False,
                force_polling=False,
            ):
                yield frozenset(path for _, path in changes)
            return
        except (OSError, RuntimeError) as error:
            log.warning(
                "changes cannot be watched, so everything is looked at every %.1f s: %s; raise "
                "fs.inotify.max_user_watches",
                POLL_S,
                error,
            )
            while not stop.wait(POLL_S):
                yield frozenset({ANYTHING})
