"""Metrics and health over HTTP, on loopback or on a Unix socket that only its owner may use.

/metrics    for Prometheus
/healthz    200 while the agent turns
/readyz     200 while the node does what its newest document says, else 503 and why

Tornado serves them (the extra ``placer[agent]``): whoever asks slowly, or does not read what it
asked for, keeps nobody else waiting.
"""

import asyncio
import logging
import os
import socket
import stat
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from tornado.httpserver import HTTPServer
from tornado.httputil import HTTPHeaders, HTTPServerRequest, ResponseStartLine
from tornado.iostream import IOStream

from placer.node.errors import HostCannotApplyError

log = logging.getLogger(__name__)

UNIX = "unix:"

DEADLINE_S = 5.0
"""The seconds that a connection has for all: the request, the answer, and that it is read."""

MOST_CONNECTIONS = 64
"""The most connections at a time; one more ends the oldest."""

_MOST_BYTES = 16 << 10
"""The largest request; one for a page has a few hundred bytes."""

_TEXT = "text/plain; charset=utf-8"


class AgentMetricsServer:
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
            HostCannotApplyError: It cannot be used.

        """
        self._socket_file: Path | None = None
        try:
            if address.startswith(UNIX):
                self._socket_file = Path(address.removeprefix(UNIX))
                self._socket = _unix(self._socket_file)
            else:
                self._socket = _loopback(address)
        except OSError as error:
            why = os.strerror(error.errno) if error.errno else str(error)
            raise HostCannotApplyError(
                f"cannot listen at {address}: {why}; name another address"
            ) from None
        self._socket.setblocking(False)
        self.port = 0 if self._socket_file else int(self._socket.getsockname()[1])
        self._page = partial(_page, registry, alive, trouble)
        self._loop = asyncio.new_event_loop()
        self._end = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="server", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop answering, also those who were about to ask."""
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join()
        self._loop.close()
        self._socket.close()
        if self._socket_file is not None:
            with suppress(FileNotFoundError):
                self._socket_file.unlink()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._serve())

    async def _serve(self) -> None:
        """Answer requests, asleep in between: nothing wakes it but a request, and its deadline."""
        server = _Connections(
            self._answer, no_keep_alive=True, max_header_size=_MOST_BYTES, max_body_size=_MOST_BYTES
        )
        server.add_socket(self._socket)
        await self._end.wait()
        server.stop()
        await server.close_all_connections()

    def _answer(self, request: HTTPServerRequest) -> None:
        try:
            status, kind, body = self._page(request)
        except Exception:
            log.exception("a page could not be made")
            status, kind = HTTPStatus.INTERNAL_SERVER_ERROR, _TEXT
            body = b"the agent could not say; see its log\n"
        assert request.connection is not None
        headers = HTTPHeaders({"Content-Type": kind, "Content-Length": str(len(body))})
        line = ResponseStartLine("HTTP/1.1", status, status.phrase)
        request.connection.write_headers(line, headers, b"" if request.method == "HEAD" else body)
        request.connection.finish()


class _Connections(HTTPServer):
    """Tornado's server, which sets limits to headers and bodies, with limits to connections."""

    def initialize(self, *args: Any, **kwargs: Any) -> None:
        super().initialize(*args, **kwargs)
        self._open: dict[IOStream, None] = {}  # the oldest first

    def handle_stream(self, stream: IOStream, address: tuple[Any, ...]) -> None:
        """Take a connection, which ends at its deadline whatever has come of it."""
        self._open = {one: None for one in self._open if not one.closed()}
        if len(self._open) >= MOST_CONNECTIONS:
            next(iter(self._open)).close()
        self._open[stream] = None
        asyncio.get_running_loop().call_later(DEADLINE_S, stream.close)
        super().handle_stream(stream, address)


def _page(
    registry: CollectorRegistry,
    alive: Callable[[], bool],
    trouble: Callable[[], Sequence[str]],
    request: HTTPServerRequest,
) -> tuple[HTTPStatus, str, bytes]:
    if request.method not in ("GET", "HEAD"):
        return HTTPStatus.METHOD_NOT_ALLOWED, _TEXT, b"pages are asked for with GET only\n"
    match request.path:
        case "/metrics":
            return HTTPStatus.OK, CONTENT_TYPE_LATEST, generate_latest(registry)
        case "/healthz":
            if alive():
                return HTTPStatus.OK, _TEXT, b"ok\n"
            return HTTPStatus.SERVICE_UNAVAILABLE, _TEXT, b"the agent does not turn\n"
        case "/readyz":
            found = trouble()
            if not found:
                return HTTPStatus.OK, _TEXT, b"ok\n"
            text = "".join(f"{line}\n" for line in found)
            return HTTPStatus.SERVICE_UNAVAILABLE, _TEXT, text.encode()
        case _:
            return HTTPStatus.NOT_FOUND, _TEXT, b"there are /metrics, /healthz and /readyz\n"


def check_local_address(address: str) -> None:
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


def _loopback(address: str) -> socket.socket:
    ip, port = _ip_and_port(address)
    family = socket.AF_INET6 if ip.version == 6 else socket.AF_INET
    return socket.create_server((str(ip), port), family=family, backlog=MOST_CONNECTIONS)


def _unix(path: Path) -> socket.socket:
    """Listen at a path; replace a socket that an earlier agent left, refuse anything else."""
    with suppress(FileNotFoundError):
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise HostCannotApplyError(f"{path} is there and no socket; name another path")
        path.unlink()
    found = socket.socket(socket.AF_UNIX)
    before = os.umask(0o177)
    try:
        found.bind(str(path))
        found.listen(MOST_CONNECTIONS)
    except OSError:
        found.close()
        raise
    finally:
        os.umask(before)
    return found
