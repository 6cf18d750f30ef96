"""A private D-Bus daemon, and a stand-in for systemd on it that owns units of a fake cgroup tree.

It does what systemd 244 and later do with ``SetUnitProperties``: one message after the other, the
answer first and the files of the cgroup right after, and all that it knows again at a reload.
"""

import asyncio
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from dbus_fast import Message, MessageType, Variant
from dbus_fast.aio import MessageBus

from node.fake_cgroupfs import FakeV2
from placer_models.cpuset import CpuSet, format_cpu_list

SYSTEMD = "org.freedesktop.systemd1"
NO_LIMIT = 2**64 - 1

SIGNATURES = {
    "AllowedCPUs": "ay",
    "AllowedMemoryNodes": "ay",
    "CPUSetPartition": "s",
    "CPUQuotaPerSecUSec": "t",
    "CPUWeight": "t",
    "MemoryMax": "t",
    "TasksMax": "t",
}
"""Property -> its type on D-Bus."""

CONFIG = """
<busconfig>
  <type>custom</type>
  <listen>unix:path={socket}</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow own="*"/>
    <allow send_destination="*"/>
    <allow receive_sender="*"/>
  </policy>
</busconfig>
"""


@contextmanager
def private_bus(folder: Path) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Run a D-Bus daemon of our own; yield its address and process."""
    daemon = shutil.which("dbus-daemon")
    if daemon is None:
        pytest.skip("dbus-daemon is not installed; 'make container-test' installs it")
    config = folder / "bus.conf"
    config.write_text(CONFIG.format(socket=folder / "bus"))
    command = [daemon, f"--config-file={config}", "--nofork", "--nopidfile", "--print-address"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip(), process
    finally:
        process.kill()
        process.communicate()


def bits(ids: bytes) -> CpuSet:
    """Return the CPUs of a bit mask, the lowest first."""
    return frozenset(
        8 * at + bit for at, byte in enumerate(ids) for bit in range(8) if byte >> bit & 1
    )


def written(name: str, value: Any) -> tuple[str, str] | None:
    """Return the file of a cgroup that systemd writes for a property, and what; None: none.

    The file of a set that is emptied stays as it is.
    """
    match name:
        case "AllowedCPUs" if value:
            return "cpuset.cpus", format_cpu_list(bits(value))
        case "AllowedMemoryNodes" if value:
            return "cpuset.mems", format_cpu_list(bits(value))
        case "CPUQuotaPerSecUSec":
            return "cpu.max", "max 100000" if value == NO_LIMIT else f"{value // 10} 100000"
    return None


@dataclass
class StandIn:
    """The stand-in; `before` and `after` are called with each message, and may break it off.

    Attributes:
        units: Unit -> its cgroup.
        told: (unit, runtime, properties) of each call.
        known: Unit -> what it was told and has not forgotten.
        before: Is awaited before a call is looked at.
        answered: Is awaited after its answer, before the files are written.

    """

    tree: FakeV2
    address: str
    units: dict[str, str]
    version: str = "252.38-1~deb12u1"
    told: list[tuple[str, bool, dict[str, Variant]]] = field(default_factory=list)
    known: dict[str, dict[str, Any]] = field(default_factory=dict)
    before: Callable[[Message], Any] | None = None
    answered: Callable[[Message], Any] | None = None

    def start(self) -> None:
        """Take the name, and answer from a thread of its own."""
        ready: Future[None] = Future()
        self._thread = threading.Thread(target=asyncio.run, args=(self._serve(ready),))
        self._thread.start()
        ready.result(10)

    def die(self) -> None:
        """Go away without another word, from any thread."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._end.set)
            if threading.current_thread() is not self._thread:
                self._thread.join(10)

    def reload(self) -> None:
        """Do what ``systemctl daemon-reload`` does: write again all that is known."""
        for unit in self.units:
            self._realise(unit)

    def obey(self, message: Message) -> None:
        """Do what a message asks for, without an answer."""
        self._reply(message)
        self._realise(message.body[0])

    async def _serve(self, ready: "Future[None]") -> None:
        self._loop, self._end = asyncio.get_running_loop(), asyncio.Event()
        self._waiting: asyncio.Queue[Message] = asyncio.Queue()
        self._bus = await MessageBus(self.address).connect()
        self._bus.add_message_handler(self._take)
        await self._bus.request_name(SYSTEMD)
        ready.set_result(None)
        work = asyncio.create_task(self._work())
        await self._end.wait()
        work.cancel()
        self._bus.disconnect()

    def _take(self, message: Message) -> bool:
        if message.message_type is not MessageType.METHOD_CALL:
            return False
        self._waiting.put_nowait(message)
        return True

    async def _work(self) -> None:
        while True:
            message = await self._waiting.get()
            if self.before is not None:
                await self.before(message)
            reply = self._reply(message)
            await self._bus.send(reply)
            if (
                message.member == "SetUnitProperties"
                and reply.message_type is not MessageType.ERROR
            ):
                if self.answered is not None:
                    await self.answered(message)
                self._realise(message.body[0])

    def _reply(self, message: Message) -> Message:
        match message.interface, message.member, message.signature:
            case "org.freedesktop.DBus.Peer", "Ping", "":
                return Message.new_method_return(message)
            case "org.freedesktop.DBus.Properties", "Get", "ss" if message.body[1] == "Version":
                return Message.new_method_return(message, "v", [Variant("s", self.version)])
            case "org.freedesktop.systemd1.Manager", "SetUnitProperties", "sba(sv)":
                return self._set(message)
            case _:
                text = f"Unknown method {message.member} or wrong signature {message.signature}."
                return _error(message, "org.freedesktop.DBus.Error.UnknownMethod", text)

    def _set(self, message: Message) -> Message:
        unit, runtime, pairs = message.body
        if unit not in self.units:
            return _error(message, f"{SYSTEMD}.NoSuchUnit", f"Unit {unit} not loaded.")
        for name, value in pairs:
            if name not in SIGNATURES:
                text = f"Cannot set property {name}, or unknown property."
                return _error(message, "org.freedesktop.DBus.Error.PropertyReadOnly", text)
            if value.signature != SIGNATURES[name]:
                text = f"{name} is of type {SIGNATURES[name]}, not {value.signature}."
                return _error(message, "org.freedesktop.DBus.Error.InvalidArgs", text)
        self.told.append((unit, runtime, dict(pairs)))
        self.known.setdefault(unit, {}).update({name: value.value for name, value in pairs})
        return Message.new_method_return(message)

    def _realise(self, unit: str) -> None:
        """Write what is known of a unit."""
        for name, value in self.known.get(unit, {}).items():
            if (found := written(name, value)) is not None:
                file, text = found
                self._hand_down(self.units[unit], file.partition(".")[0])
                self._write(f"{self.units[unit]}/{file}", text)
        self._withdraw_cpu(self.units[unit].rpartition("/")[0])

    def _write(self, path: str, text: str) -> None:
        with suppress(OSError):  # systemd notes it in its log, and nowhere else
            self.tree.write(path, text)

    def _withdraw_cpu(self, above: str) -> None:
        """Take the controller from a slice none of whose units has a quota, as systemd does."""
        inside = [unit for unit, cgroup in self.units.items() if cgroup.startswith(f"{above}/")]
        quotas = [self.known.get(unit, {}).get("CPUQuotaPerSecUSec", NO_LIMIT) for unit in inside]
        if all(quota == NO_LIMIT for quota in quotas):
            self._write(f"{above}/cgroup.subtree_control", "-cpu")

    def _hand_down(self, cgroup: str, controller: str) -> None:
        parts = cgroup.split("/")
        for i in range(1, len(parts)):
            path = "/".join(parts[:i]) + "/cgroup.subtree_control"
            if controller not in self.tree.read(path).split():
                self.tree.write(path, f"+{controller}")


def _error(message: Message, name: str, text: str) -> Message:
    return Message.new_error(message, name, text)


def systemctl(address: str, *words: str) -> None:
    """Let systemd's own client ask what is on a bus, as for a user: that needs no root."""
    program = shutil.which("systemctl")
    if program is None:
        pytest.skip("systemctl is not installed: there is no client of systemd's own")
    done = subprocess.run(
        [program, "--user", *words],
        env={"DBUS_SESSION_BUS_ADDRESS": address, "SYSTEMCTL_FORCE_BUS": "1"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
