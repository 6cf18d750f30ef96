"""Metrics and health over HTTP, on loopback or on a Unix socket that only its owner may use.

/metrics    for Prometheus
/healthz    200 while the agent turns
/readyz     200 while the node does what its document says, else 503 and why
"""

import os
import select
import socket
import socketserver
import stat
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from placer.node.agent.watch import Alarm
from placer.node.errors import RefusedError

UNIX = "unix:"


class Server:
    """A server that answers in a thread of its own until it is closed.

    Attributes:
        port: The port on loopback, or 0 for a Unix socket.

    """

    def __init__(
        self,
        address: str,
        registry: CollectorRegistry,
        alive: Callable[[], bool],
        trouble: Callable[[], Sequence[str]],
    ) -> None:
        """Listen at ``127.0.0.1:9469``, ``[::1]:9469`` or ``unix:/run/placer/agent.sock``.

        Raises:
            ValueError: The address is none of these.
            RefusedError: It cannot be used.

        """

        class Handler(BaseHTTPRequestHandler):
            timeout = 5  # seconds that a client may keep us waiting

            def do_GET(self) -> None:
                self._answer(*_page(self.path, registry, alive, trouble))

            def _answer(self, code: int, kind: str, body: bytes) -> None:
                self.send_response(code)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def address_string(self) -> str:
                return "client"

            def log_message(self, *_: object) -> None:
                """Log nothing: requests for metrics are no news."""

        self._socket_file: Path | None = None
        try:
            if address.startswith(UNIX):
                self._socket_file = Path(address.removeprefix(UNIX))
                self._server: socketserver.TCPServer | socketserver.UnixStreamServer = _unix(
                    self._socket_file, Handler
                )
            else:
                self._server = _loopback(address, Handler)
        except OSError as error:
            raise RefusedError(
                f"cannot listen at {address}: {error.strerror or error}; name another address"
            ) from None
        where = self._server.server_address
        self.port = 0 if isinstance(where, str | bytes) else int(where[1])
        self._server.timeout = 0  # handle_request is called once a request is there
        self._end = Alarm()
        self._thread = threading.Thread(target=self._serve, name="server", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop answering."""
        self._end.ring()
        self._thread.join()
        self._server.server_close()
        self._end.close()
        if self._socket_file is not None:
            with suppress(FileNotFoundError):
                self._socket_file.unlink()

    def _serve(self) -> None:
        """Answer requests, asleep in between; socketserver's own loop would wake twice a second."""
        waits = select.poll()
        for file in (self._server.fileno(), self._end.fileno()):
            waits.register(file, select.POLLIN)
        while not any(file == self._end.fileno() for file, _ in waits.poll()):
            self._server.handle_request()


def _page(
    path: str,
    registry: CollectorRegistry,
    alive: Callable[[], bool],
    trouble: Callable[[], Sequence[str]],
) -> tuple[int, str, bytes]:
    text = "text/plain; charset=utf-8"
    match path.partition("?")[0]:
        case "/metrics":
            return 200, CONTENT_TYPE_LATEST, generate_latest(registry)
        case "/healthz":
            return (200, text, b"ok\n") if alive() else (503, text, b"the agent does not turn\n")
        case "/readyz":
            found = trouble()
            if not found:
                return 200, text, b"ok\n"
            return 503, text, "".join(f"{line}\n" for line in found).encode()
        case _:
            return 404, text, b"there are /metrics, /healthz and /readyz\n"


def check_address(address: str) -> None:
    """Refuse an address that is not on this machine alone.

    Raises:
        ValueError: It is malformed, or can be reached from other machines.

    """
    if address.startswith(UNIX):
        if not Path(address.removeprefix(UNIX)).is_absolute():
            raise ValueError(f"got {address!r}; expected such as unix:/run/placer/agent.sock")
    else:
        _ip_and_port(address)


def _ip_and_port(address: str) -> tuple[IPv4Address | IPv6Address, int]:
    host, _, port = address.rpartition(":")
    try:
        ip, number = ip_address(host.strip("[]")), int(port)
        if not 0 <= number < 1 << 16:
            raise ValueError
    except ValueError:
        raise ValueError(
            f"got the address {address!r}; expected such as 127.0.0.1:9469 or "
            "unix:/run/placer/agent.sock"
        ) from None
    if not ip.is_loopback:
        raise ValueError(
            f"{host} can be reached from other machines; listen on 127.0.0.1 or on a Unix socket"
        )
    return ip, number


def _loopback(address: str, handler: type[BaseHTTPRequestHandler]) -> socketserver.TCPServer:
    ip, port = _ip_and_port(address)

    class TcpServer(socketserver.TCPServer):
        address_family = socket.AF_INET6 if ip.version == 6 else socket.AF_INET
        allow_reuse_address = True

    return TcpServer((str(ip), port), handler)


def _unix(path: Path, handler: type[BaseHTTPRequestHandler]) -> socketserver.UnixStreamServer:
    """Listen at a path; replace a socket that an earlier agent left, refuse anything else."""
    with suppress(FileNotFoundError):
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise RefusedError(f"{path} is there and no socket; name another path")
        path.unlink()
    before = os.umask(0o177)
    try:
        return socketserver.UnixStreamServer(str(path), handler)
    finally:
        os.umask(before)
