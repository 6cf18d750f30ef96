"""Notifications to systemd (sd_notify): a datagram to the socket that systemd names."""

import os
import socket


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


def watchdog_s() -> float | None:
    """Return half of the seconds within which systemd wants to hear from us, or None if never."""
    if os.environ.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
        return None
    microseconds = os.environ.get("WATCHDOG_USEC", "")
    return int(microseconds) / 1e6 / 2 if microseconds.isdecimal() else None
