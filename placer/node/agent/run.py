"""Main loop of the agent, until it is told to stop.

systemd is notified (sd_notify) by a datagram to the socket that it names.
"""

import logging
import os
import signal
import socket
import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from placer.node.agent.agent import Agent, DriftResponse
from placer.node.agent.gpus import GpuHealthWatch
from placer.node.agent.inbox import AgentDocumentFolderReader
from placer.node.agent.metrics import AgentMetrics
from placer.node.agent.owned import OwnedCpuWatch
from placer.node.agent.sentinel import FileChangeDetector, raise_open_files_limit
from placer.node.agent.serve import AgentMetricsServer
from placer.node.agent.watch import (
    ANYTHING,
    AgentWaitInterrupter,
    CgroupWatch,
    is_cgroup_process_file,
    is_cgroup_setting_file,
)
from placer.node.cgroups import CgroupReader
from placer.node.container_roots import CONTAINER_ROOTS
from placer.node.host import read_host_facts
from placer.node.locks import locked_cgroup_root
from placer.node.mounts import kernel_cgroup_filesystem
from placer.node.state import AppliedStateFolder
from placer.node.systemd_units import SystemdBusClient
from placer_models.kubernetes.checkpoints.checkpoint_files import KUBELET_ROOT
from placer_models.message_text import count_with_noun

log = logging.getLogger(__name__)

SWEEP_S = 30
"""Seconds between two looks at the effective sets, in case the kernel reported nothing."""

WHOLE_LOOK_S = 600
"""Seconds between two looks at everything."""

ALIVE_S = 60
ONLINE = Path("/sys/devices/system/cpu/online")


@dataclass(frozen=True, slots=True)
class AgentOptions:
    """Options of the command.

    Attributes:
        documents: The folder in which documents arrive.
        state: The folder of the journal.
        node: The name of this node in documents.
        root: The cgroup below which our own cgroups are.
        listen: The address of metrics and health; empty for none.
        report_strangers: Whether strangers on owned CPUs are told of.
        clear_owned: Whether they are moved, and so told of, too.
        container_roots: The cgroups below which runtimes put containers.
        kubelet_root: The root directory of the kubelet.

    """

    documents: Path
    state: Path
    node: str
    root: str
    on_drift: DriftResponse
    listen: str
    report_strangers: bool = False
    clear_owned: bool = False
    container_roots: tuple[str, ...] = CONTAINER_ROOTS
    kubelet_root: str = KUBELET_ROOT


def run_agent(options: AgentOptions) -> tuple[str, ...]:
    """Run until SIGTERM or SIGINT; then return why the node does not obey, empty if it does.

    Raises:
        CgroupMountError: The cgroup file systems cannot be used.
        HostCannotApplyError: A folder or an address cannot be used.

    """
    stop, sick = threading.Event(), threading.Event()
    with ExitStack() as open_things:
        alarm = AgentWaitInterrupter()
        open_things.callback(alarm.close)

        def end(*_: object) -> None:
            stop.set()
            alarm.ring()

        def devices_changed() -> None:
            sick.set()
            alarm.ring()

        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, end)
        raise_open_files_limit()
        files = kernel_cgroup_filesystem()
        inbox = AgentDocumentFolderReader(options.documents, options.node)
        inbox.check()
        state = AppliedStateFolder(options.state)
        units = SystemdBusClient()
        open_things.callback(units.close)
        cgroups = CgroupReader(files, units, options.container_roots)
        open_things.enter_context(state.locked())
        open_things.enter_context(locked_cgroup_root(cgroups, options.root, options.state))
        gpus = GpuHealthWatch(devices_changed)
        open_things.callback(gpus.close)
        agent = Agent(
            cgroups,
            lambda: read_host_facts(kubelet_root=options.kubelet_root),
            state,
            inbox,
            root=options.root,
            on_drift=options.on_drift,
            unhealthy_devices=gpus,
            device_fault=lambda: gpus.fault,
            owned=OwnedCpuWatch(
                state,
                files.version,
                clears=options.clear_owned,
                looks=options.report_strangers,
            ),
        )
        turns = _Turns(agent, files.mounts, sick, open_things)
        if options.listen:
            server = AgentMetricsServer(
                options.listen, turns.metrics.registry, turns.alive, agent.trouble
            )
            open_things.callback(server.close)
        agent.begin()
        agent.take()
        agent.look_at_devices()
        turns.settle()
        watch = CgroupWatch(list(files.mounts.values()), options.documents, alarm)
        open_things.callback(watch.close)
        turns.turn(frozenset(), options.documents)  # for what came before the watch began
        notify_systemd("READY=1", f"STATUS={turns.in_words()}")
        log.info("ready", extra={"node": options.node, "cgroup_version": files.version})
        while not stop.is_set():
            turns.turn(watch.changes(), options.documents)
        notify_systemd("STOPPING=1")
    refused = agent.status.refusals()
    log.info("stopped", extra={"refused": refused})
    return refused


class _Turns:
    """The choice, at each wake-up, of what to look at."""

    def __init__(
        self,
        agent: Agent,
        mounts: dict[str, Path],
        sick: threading.Event,
        open_things: ExitStack,
    ) -> None:
        self._agent = agent
        self._mounts = mounts
        self._sick = sick  # set once a device turned ill, or well again
        self.metrics = AgentMetrics(agent)
        self._few, self._all = FileChangeDetector(), FileChangeDetector()
        open_things.callback(self._few.close)
        open_things.callback(self._all.close)
        now = time.monotonic()
        self._turned = self._swept = self._looked = self._told = now
        self._first = self._again = True
        self._again_at: frozenset[str] = frozenset()  # cgroups that were just written
        self._unchecked = False  # whether only some of the node was looked at since the last sweep
        self._written: set[str] = set()
        self._watchdog_s = watchdog_ping_interval_s()
        self._status = ""

    def turn(self, paths: frozenset[str], documents: Path) -> None:
        """Do what one wake-up calls for, given the paths that changed."""
        now = self._turned = time.monotonic()
        arrived = any(path.startswith(f"{documents}/") for path in paths)
        written = {path for path in paths if self._concerns(path)}
        if written and written <= self._written and not self._all.changed():
            written = set()  # what we wrote ourselves
        swept = now - self._swept >= SWEEP_S
        arrived = arrived or self._first  # it may have come before the watch began
        self._first = False
        if arrived or swept:  # what was refused may be possible by now
            with self.metrics.seconds.time():
                self._agent.take()
        leaves = self._leaves(written)
        at = leaves | self._again_at
        due = (
            (bool(written) and not leaves)
            or self._again
            or self._few.changed()
            or now - self._looked >= WHOLE_LOOK_S
        )
        if swept:
            self._swept = now
            left_alone = bool(self._agent.status.plan.left_alone)
            due = due or self._unchecked or self._all.changed() or left_alone
        if swept or arrived or self._sick.is_set():
            self._sick.clear()
            self._agent.look_at_devices()
            self._say()
        if due:
            log.debug("looking", extra={"written": sorted(written)[:5], "again": self._again})
            self._few.renew()
            self._all.renew()
            with self.metrics.seconds.time():
                self._agent.look()
            self._looked = now
            self._unchecked, self._again_at = False, frozenset()
            # Look again: a cgroup comes before its first process, and only the next look sees
            # what was written just now.
            self._again = bool(self._agent.written_files()) or any(
                not is_cgroup_setting_file(path) for path in written
            )
        elif at:
            self._look_at(at)
        self._again |= arrived
        if swept or arrived:
            self._agent.look_at_strangers()
        if arrived or due:
            self.settle()
        self._tell_watchdog(now)

    def _look_at(self, cgroups: frozenset[str]) -> None:
        """Look at a few containers' cgroups, so that drift is repaired at once.

        All of the node is looked at next if anything else changed with them, and at the next sweep
        in any case.
        """
        log.debug("looking", extra={"cgroups": sorted(cgroups)[:5]})
        with self.metrics.seconds.time():
            self._agent.look(cgroups)
        written = self._agent.written_files()
        self._written = {str(self._path(file)) for file in written}
        self._again_at = cgroups if written else frozenset()
        self._unchecked = True
        self._again |= self._all.changed() or not self._agent.repairs_alone(cgroups)
        self._say()

    def _leaves(self, written: set[str]) -> frozenset[str]:
        """Return the containers' cgroups in which paths are settings; none if one is not."""
        found = set()
        for path in written:
            cgroup = self._cgroup(path) if is_cgroup_setting_file(path) else None
            if cgroup is None or not self._agent.repairs_alone({cgroup}):
                return frozenset()
            found.add(cgroup)
        return frozenset(found)

    def settle(self) -> None:
        """Remember the node's state, and report it."""
        files = [self._path(file) for file in self._agent.effective_files()]
        above = [path for path in files if path.parent in self._mounts.values()]
        self._written = {str(self._path(file)) for file in self._agent.written_files()}
        self._few.watch([ONLINE, *above])
        self._all.watch(files)
        self._say()

    def alive(self) -> bool:
        """Return whether the main loop turned within the last `ALIVE_S` seconds."""
        return time.monotonic() - self._turned < ALIVE_S

    def in_words(self) -> str:
        """Return the node's state in one line."""
        document = self._agent.document
        trouble = self._agent.status.trouble()
        held = "no document yet"
        if document is not None:
            held = f"generation {document.generation}, {count_with_noun(len(document.pods), 'pod')}"
        return f"{held}: {trouble[0]}" if trouble else held

    def _say(self) -> None:
        status = self.in_words()
        if status != self._status:
            self._status = status
            notify_systemd(f"STATUS={status}")

    def _concerns(self, path: str) -> bool:
        """Return whether a change of a path may matter to this node's document."""
        if (cgroup := self._cgroup(path)) is not None:
            return self._agent.concerns(cgroup, is_cgroup_setting_file(path))
        return path == ANYTHING

    def _cgroup(self, path: str) -> str | None:
        """Return the cgroup that a path is, or is a watched file of; None if it is in no mount."""
        for mount in self._mounts.values():
            if path.startswith(f"{mount}/"):
                cgroup = path.removeprefix(f"{mount}/")
                a_file = is_cgroup_setting_file(path) or is_cgroup_process_file(path)
                return cgroup.rpartition("/")[0] if a_file else cgroup
        return None

    def _path(self, file: str) -> Path:
        controller, _, rest = file.partition("/")
        if "" in self._mounts:
            return self._mounts[""] / file
        return self._mounts[controller] / rest

    def _tell_watchdog(self, now: float) -> None:
        if self._watchdog_s is not None and now - self._told >= self._watchdog_s:
            self._told = now
            notify_systemd("WATCHDOG=1")


def notify_systemd(*lines: str) -> bool:
    """Send lines such as ``READY=1``; return whether anybody listens."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address:
        return False
    if address.startswith("@"):  # an abstract name, which is not in the file system
        address = "\0" + address[1:]
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sender:
            sender.sendto("\n".join(lines).encode(), address)
    except OSError:
        return False
    return True


def watchdog_ping_interval_s() -> float | None:
    """Return half of the seconds within which systemd wants to hear from us, or None if never."""
    if os.environ.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
        return None
    microseconds = os.environ.get("WATCHDOG_USEC", "")
    return int(microseconds) / 1e6 / 2 if microseconds.isdecimal() else None
