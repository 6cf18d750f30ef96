"""Systemd units: systemd owns their cgroups, so they get their sets from it, over D-Bus.

A value written to a unit's cgroup behind systemd's back is lost at the next reload. So systemd
is asked to write it, as a property of the unit that lasts until the next boot.
"""

import importlib
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:  # nodes without such units need neither
    import asyncio

    from dbus_fast import Message
    from dbus_fast.aio import MessageBus

CPUSET_SINCE = 244
"""The first version with AllowedCPUs and AllowedMemoryNodes."""

ANSWER_S = 10.0
"""Seconds that systemd may take for one answer; a reload of many units takes seconds."""

SETTLE_S = 20.0
"""Seconds that systemd may be away, as during its restart, before an undo is given up."""

_SYSTEMD = "org.freedesktop.systemd1"
_PATH = "/org/freedesktop/systemd1"
_MANAGER = "org.freedesktop.systemd1.Manager"
_AWAY = {
    f"org.freedesktop.DBus.Error.{name}" for name in ("NameHasNoOwner", "NoReply", "ServiceUnknown")
}
"""Errors that the D-Bus daemon returns while systemd is away."""


_Value = bytes | int | str


@dataclass(frozen=True, slots=True)
class SystemdUnitProperty:
    """One property of a unit.

    Attributes:
        name: Its name in unit files and for ``systemctl set-property``.
        text: Its value there.
        bus_name: Its name on D-Bus.
        signature: Its type on D-Bus: ``ay`` a bit for each CPU, ``t`` a number, ``s`` a text.
        value: Its value there.

    """

    name: str
    text: str
    bus_name: str
    signature: str
    value: _Value


class SystemdError(Exception):
    """Systemd did not do it, or did not say whether it did; ``str()`` says why."""


class SystemdInterface(Protocol):
    """The units of this machine.

    Attributes:
        answer_s: Seconds that an answer, or its effect, may take.

    """

    answer_s: float

    def trouble(self) -> str:
        """Return why systemd cannot be asked for CPUs, in words; empty if it can."""

    def set(self, unit: str, properties: Sequence[SystemdUnitProperty]) -> None:
        """Give properties to a unit until the next boot; the kernel may be told a little later.

        Raises:
            SystemdError: systemd refused, or did not answer: then it may still do it.

        """

    def settle(self) -> None:
        """Wait until all that was asked before is done or refused, whoever asked.

        Raises:
            SystemdError: systemd did not answer.

        """


class UnavailableSystemd:
    """Stands for systemd where there is none to ask."""

    answer_s = ANSWER_S

    def __init__(self, why: str) -> None:
        self._why = why

    def trouble(self) -> str:
        """Return why there is none to ask."""
        return self._why

    def set(self, unit: str, properties: Sequence[SystemdUnitProperty]) -> None:
        """Refuse."""
        raise SystemdError(f"{unit}: {self._why}")

    def settle(self) -> None:
        """Refuse: changes that another run asked for may still come."""
        raise SystemdError(self._why)


class SystemdBusClient:
    """The units of the system's systemd; the bus is opened when it is first needed."""

    def __init__(
        self,
        address: str | None = None,
        *,
        answer_s: float = ANSWER_S,
        settle_s: float = SETTLE_S,
    ) -> None:
        """Remember the address of the bus.

        Args:
            address: The bus's address, as D-Bus writes it; None for the system bus.
            answer_s: Seconds that an answer may take.
            settle_s: Seconds that systemd may be away before it is given up.

        """
        self.answer_s = answer_s
        self._settle_s = settle_s
        self._address = address
        self._runner: asyncio.Runner | None = None
        self._bus: MessageBus | None = None
        self._able = False

    def trouble(self) -> str:
        """Return why systemd cannot be asked for CPUs, in words; empty if it can."""
        if self._able and self._bus is not None and self._bus.connected:
            return ""
        try:
            version = self._version()
        except SystemdError as error:
            return str(error)
        number = re.match(r"[0-9]+", version)
        if number is None or int(number[0]) < CPUSET_SINCE:
            since = f"from version {CPUSET_SINCE} on it has"
            return f"systemd {version} has no AllowedCPUs; {since}"
        self._able = True
        return ""

    def set(self, unit: str, properties: Sequence[SystemdUnitProperty]) -> None:
        """Give properties to a unit until the next boot; the kernel may be told a little later.

        Raises:
            SystemdError: systemd refused, or did not answer: then it may still do it.

        """
        variant = _bindings().Variant
        told = [[one.bus_name, variant(one.signature, one.value)] for one in properties]
        try:
            self._ask(_MANAGER, "SetUnitProperties", "sba(sv)", [unit, True, told])
        except SystemdError as error:
            raise SystemdError(f"{unit}: {error}") from None

    def settle(self) -> None:
        """Wait until all that was asked before is done or refused, whoever asked.

        systemd takes one message after the other, and writes cgroups before it takes the next.

        Raises:
            SystemdError: systemd did not answer.

        """
        give_up = time.monotonic() + self._settle_s
        while True:
            try:
                self._ask("org.freedesktop.DBus.Peer", "Ping")
            except SystemdError:
                if time.monotonic() >= give_up:
                    raise
                time.sleep(min(0.2, self._settle_s))
            else:
                return

    def close(self) -> None:
        """Leave the bus."""
        if self._runner is None:
            return
        if self._bus is not None and self._bus.connected:
            self._bus.disconnect()
            self._runner.run(self._bus.wait_for_disconnect())
        self._bus = None
        self._runner.close()
        self._runner = None

    def _version(self) -> str:
        properties = "org.freedesktop.DBus.Properties"
        (found,) = self._ask(properties, "Get", "ss", [_MANAGER, "Version"])
        return str(found.value)

    def _ask(
        self, interface: str, member: str, signature: str = "", body: Sequence[Any] = ()
    ) -> list[Any]:
        """Return what systemd answers."""
        bus = _bindings()
        message = bus.Message(
            _SYSTEMD, _PATH, interface, member, signature=signature, body=list(body)
        )
        if self._runner is None:
            import asyncio

            self._runner = asyncio.Runner()
        reply = self._runner.run(self._answer(message))
        if reply.message_type is bus.MessageType.ERROR:
            if reply.error_name in _AWAY:
                raise SystemdError("systemd is not on D-Bus, or went away")
            why = reply.body[0] if reply.signature.startswith("s") else "no reason"
            raise SystemdError(f"systemd says {why} ({reply.error_name})")
        return list(reply.body)

    async def _answer(self, message: "Message") -> "Message":
        """Send a message and wait for its answer; the bus is opened again if it went away."""
        import asyncio

        from dbus_fast import AuthError, DBusError, InvalidAddressError

        try:
            async with asyncio.timeout(self.answer_s):
                bus = await self._open_bus()
                answer: Message | None = await bus.call(message)
        except TimeoutError:
            raise SystemdError(f"systemd did not answer in {self.answer_s:g} s") from None
        except (OSError, EOFError, AuthError, DBusError, InvalidAddressError) as error:
            raise SystemdError(
                f"D-Bus cannot be used: {str(error) or type(error).__name__}"
            ) from None
        if answer is None:
            raise SystemdError("the D-Bus daemon went away before systemd answered")
        return answer

    async def _open_bus(self) -> "MessageBus":
        from dbus_fast import BusType
        from dbus_fast.aio import MessageBus

        if self._bus is None or not self._bus.connected:
            bus = MessageBus(self._address, BusType.SYSTEM)
            self._bus = await bus.connect()
        return self._bus


def _bindings() -> Any:
    """Return the package that speaks D-Bus, which only nodes under systemd need."""
    try:
        return importlib.import_module("dbus_fast")
    except ImportError:
        raise SystemdError(
            "the package dbus-fast is not installed: pip install 'placer[systemd]'"
        ) from None
