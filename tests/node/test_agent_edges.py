"""How the agent is asked and heard: HTTP on real sockets, sd_notify, inotify."""

import contextlib
import ctypes
import http.client
import os
import socket
import struct
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, Counter

from placer.node.agent import serve
from placer.node.agent import watch as watch_module
from placer.node.agent.run import notify_systemd, watchdog_ping_interval_s
from placer.node.agent.serve import AgentMetricsServer, check_local_address
from placer.node.agent.watch import ANYTHING, AgentWaitInterrupter, CgroupWatch
from placer.node.errors import HostCannotApplyError

NOBODY = 65534


class UnixConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("agent", timeout=5)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(5)
        self.sock.connect(str(self._path))


def asked(connection: http.client.HTTPConnection, path: str) -> tuple[int, str]:
    """Ask once; return the status and the text."""
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


@contextmanager
def serving(address: str, **says: Callable[[], object]) -> Iterator[AgentMetricsServer]:
    """A server that counts one thing."""
    registry = CollectorRegistry()
    Counter("placer_test", "A test.", registry=registry).inc()
    alive, trouble = says.get("alive", lambda: True), says.get("trouble", list)
    server = AgentMetricsServer(address, registry, alive, trouble)
    try:
        yield server
    finally:
        server.close()


class TestServer:
    """Metrics and health over HTTP."""

    @pytest.mark.parametrize("host", ["127.0.0.1", "[::1]"])
    def test_it_answers_on_loopback(self, host: str) -> None:
        """
        Metrics for Prometheus; what is not there is told with what is.
        """
        if host == "[::1]" and not Path("/proc/net/if_inet6").exists():
            pytest.skip("this machine has no IPv6")
        with serving(f"{host}:0") as server:
            ask = http.client.HTTPConnection(host.strip("[]"), server.port, timeout=5)

            assert asked(ask, "/metrics")[0] == 200
            assert "placer_test_total 1.0" in asked(ask, "/metrics?name=x")[1]
            assert asked(ask, "/healthz") == (200, "ok\n")
            assert asked(ask, "/") == (404, "there are /metrics, /healthz and /readyz\n")

    def test_health_is_asked_each_time(self) -> None:
        """
        Alive and obeying are two things; who does not obey says why, a line each.
        """
        alive, trouble = [True], ["one thing", "another"]
        says = {"alive": lambda: alive[0], "trouble": lambda: trouble}
        with serving("127.0.0.1:0", **says) as server:
            ask = http.client.HTTPConnection("127.0.0.1", server.port, timeout=5)

            assert asked(ask, "/readyz") == (503, "one thing\nanother\n")
            assert asked(ask, "/healthz")[0] == 200
            trouble.clear()
            alive[0] = False
            assert asked(ask, "/readyz") == (200, "ok\n")
            assert asked(ask, "/healthz") == (503, "the agent does not turn\n")

    def test_a_unix_socket_is_its_owners(self, tmp_path: Path) -> None:
        """
        Whatever the umask; it goes with the server.
        """
        path = tmp_path / "agent.sock"
        before = os.umask(0)
        try:
            with serving(f"unix:{path}"):
                assert path.stat().st_mode & 0o777 == 0o600
                assert asked(UnixConnection(path), "/healthz") == (200, "ok\n")
                assert os.umask(0) == 0
        finally:
            os.umask(before)

        assert not path.exists()

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root may become another user")
    def test_another_user_cannot_connect(self) -> None:
        """
        The kernel refuses; were the socket open to all, it would not.
        """

        def connects() -> bool:
            ctypes.CDLL(None).setfsuid(NOBODY)  # of this thread alone, which ends here
            try:
                return asked(UnixConnection(path), "/healthz")[0] == 200
            except PermissionError:
                return False

        with tempfile.TemporaryDirectory(dir="/tmp") as name, ThreadPoolExecutor(1) as first:
            Path(name).chmod(0o755)
            path = Path(name, "agent.sock")
            with serving(f"unix:{path}"), ThreadPoolExecutor(1) as second:
                assert not first.submit(connects).result()
                path.chmod(0o666)
                assert second.submit(connects).result()

    def test_a_socket_that_was_left_is_replaced_and_nothing_else(self, tmp_path: Path) -> None:
        """
        An agent that was killed leaves its socket; a file there is somebody's.
        """
        left = tmp_path / "agent.sock"
        with socket.socket(socket.AF_UNIX) as old:
            old.bind(str(left))
        with serving(f"unix:{left}"):
            assert asked(UnixConnection(left), "/healthz")[0] == 200

        left.write_text("mine")
        with pytest.raises(HostCannotApplyError, match="is there and no socket; name another path"):
            AgentMetricsServer(f"unix:{left}", CollectorRegistry(), lambda: True, list)
        assert left.read_text() == "mine"

    def test_a_port_that_is_taken_is_refused(self) -> None:
        """
        With what the kernel says.
        """
        why = "Address already in use; name another address"
        with serving("127.0.0.1:0") as server, pytest.raises(HostCannotApplyError, match=why):
            AgentMetricsServer(f"127.0.0.1:{server.port}", CollectorRegistry(), lambda: True, list)

    @pytest.mark.parametrize(
        ("address", "why"),
        [
            ("0.0.0.0:9469", "can be reached from other machines"),
            ("192.168.1.1:80", "can be reached from other machines"),
            ("localhost:80", "expected such as 127.0.0.1:9469"),
            ("127.0.0.1", "expected such as 127.0.0.1:9469"),
            ("127.0.0.1:70000", "expected such as 127.0.0.1:9469"),
            ("unix:agent.sock", "expected such as unix:/run/placer/agent.sock"),
        ],
    )
    def test_only_addresses_of_this_machine_are_taken(self, address: str, why: str) -> None:
        """
        Metrics tell who runs here; nobody else is to read them.
        """
        with pytest.raises(ValueError, match=why):
            check_local_address(address)

    def test_slow_clients_keep_nobody_waiting(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """
        However many have not asked to the end: who asks meanwhile is answered, and it closes.
        """
        monkeypatch.setattr(serve, "DEADLINE_S", 3600)
        with contextlib.ExitStack() as slow, serving("127.0.0.1:0") as server:
            for _ in range(5):
                client = socket.create_connection(("127.0.0.1", server.port), timeout=5)
                slow.enter_context(client)
                client.sendall(b"GET /healthz HTTP/1.1\r\n")
            ask = http.client.HTTPConnection("127.0.0.1", server.port, timeout=5)

            assert asked(ask, "/healthz") == (200, "ok\n")

    def test_who_sends_a_byte_now_and_then_is_hung_up_on(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """
        The deadline is for the whole request, whatever arrives in between.
        """
        monkeypatch.setattr(serve, "DEADLINE_S", 0.2)
        with (
            serving("127.0.0.1:0") as server,
            socket.create_connection(("127.0.0.1", server.port), timeout=0.02) as client,
        ):
            sent = 0
            with contextlib.suppress(ConnectionError):
                for byte in b"GET /healthz HTTP/1.1\r\nX: " + b"x" * 1000:
                    client.sendall(bytes([byte]))
                    sent += 1
                    with contextlib.suppress(TimeoutError):
                        assert client.recv(1) == b""
                        break

            assert sent < 1000

    def test_who_does_not_read_the_answer_is_hung_up_on(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """
        An answer that does not fit into the buffers of a socket waits for nobody.
        """
        monkeypatch.setattr(serve, "DEADLINE_S", 0.2)
        streams = []
        takes = serve._Connections.handle_stream

        def taken(server: object, stream: object, address: object) -> None:
            streams.append(stream)
            takes(server, stream, address)

        monkeypatch.setattr(serve._Connections, "handle_stream", taken)
        says = {"trouble": lambda: ["x" * 1000] * 30_000}
        with (
            serving("127.0.0.1:0", **says) as server,
            socket.create_connection(("127.0.0.1", server.port), timeout=5) as client,
        ):
            client.sendall(b"GET /readyz HTTP/1.1\r\nHost: agent\r\n\r\n")
            ask = http.client.HTTPConnection("127.0.0.1", server.port, timeout=5)
            assert asked(ask, "/healthz") == (200, "ok\n")
            while not streams[0].closed():
                time.sleep(0.01)

            with contextlib.suppress(ConnectionError):
                got = sum(map(len, iter(lambda: client.recv(1 << 20), b"")))
                assert got < 30_000_000

    def test_the_oldest_of_too_many_connections_ends(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """
        So that who opens one after the other neither takes all files nor keeps others away.
        """
        monkeypatch.setattr(serve, "DEADLINE_S", 3600)
        monkeypatch.setattr(serve, "MOST_CONNECTIONS", 3)
        with serving("127.0.0.1:0") as server, contextlib.ExitStack() as open_ones:
            clients = [
                open_ones.enter_context(
                    socket.create_connection(("127.0.0.1", server.port), timeout=5)
                )
                for _ in range(4)
            ]
            ask = http.client.HTTPConnection("127.0.0.1", server.port, timeout=5)
            assert asked(ask, "/healthz") == (200, "ok\n")

            assert [client.recv(1) for client in clients[:2]] == [b"", b""]
            for client in clients[2:]:
                client.settimeout(0.01)
                with pytest.raises(TimeoutError):
                    client.recv(1)

    def test_a_client_that_is_gone_before_the_answer_is_no_news(
        self, capfd: pytest.CaptureFixture[str]
    ) -> None:
        """
        A broken pipe leaves no traceback.
        """
        says = {"trouble": lambda: ["x" * 1000] * 1000}
        with serving("127.0.0.1:0", **says) as server:
            for _ in range(20):
                client = socket.create_connection(("127.0.0.1", server.port), timeout=5)
                client.sendall(b"GET /readyz HTTP/1.1\r\nHost: agent\r\n\r\n")
                gone_at_once = struct.pack("ii", 1, 0)
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, gone_at_once)
                client.close()
            ask = http.client.HTTPConnection("127.0.0.1", server.port, timeout=5)
            assert asked(ask, "/healthz")[0] == 200

        assert capfd.readouterr() == ("", "")

    @pytest.mark.parametrize(
        "text",
        [
            b"\0\1\2\r\n\r\n",
            b"GET /healthz\r\n\r\n",
            b"GET /healthz HTTP/1.1\r\nX: " + b"x" * (1 << 20),
            b"POST /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: 999999999\r\n\r\n" + b"x" * 99,
        ],
    )
    def test_what_is_no_request_is_refused_in_silence(
        self, text: bytes, capfd: pytest.CaptureFixture[str]
    ) -> None:
        """
        Noise, and what is larger than any request for a page.
        """
        with serving("127.0.0.1:0") as server:
            with (
                contextlib.suppress(ConnectionError),
                socket.create_connection(("127.0.0.1", server.port), timeout=5) as client,
            ):
                client.sendall(text)
                assert client.recv(1024).partition(b"\r\n")[0] in (b"", b"HTTP/1.1 400 Bad Request")
            ask = http.client.HTTPConnection("127.0.0.1", server.port, timeout=5)
            assert asked(ask, "/healthz")[0] == 200

        assert capfd.readouterr() == ("", "")

    def test_only_get_and_head_are_answered(self) -> None:
        """
        HEAD as GET, without the text; nothing can be changed here.
        """
        with serving("127.0.0.1:0") as server:
            found = []
            for method in ("HEAD", "POST"):
                ask = http.client.HTTPConnection("127.0.0.1", server.port, timeout=5)
                ask.request(method, "/healthz")
                answer = ask.getresponse()
                found.append((answer.status, answer.getheader("Content-Length"), answer.read()))
                ask.close()

        assert found == [(200, "3", b""), (405, "34", b"pages are asked for with GET only\n")]

    def test_a_page_that_cannot_be_made_is_logged_and_not_shown(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        """
        The agent's own defects are in its log.
        """

        def fails() -> list[str]:
            raise KeyError("x")

        with serving("127.0.0.1:0", trouble=fails) as server:
            ask = http.client.HTTPConnection("127.0.0.1", server.port, timeout=5)

            assert asked(ask, "/readyz") == (500, "the agent could not say; see its log\n")
        assert [one.message for one in caplog.records] == ["a page could not be made"]

    def test_a_client_that_says_nothing_keeps_nobody_waiting_for_good(self) -> None:
        """
        Its connection ends, and the next one is answered.
        """
        with serving("127.0.0.1:0") as server:
            with socket.create_connection(("127.0.0.1", server.port), timeout=5) as silent:
                silent.sendall(b"GET /healthz HTTP/1.1\r\n")
                silent.shutdown(socket.SHUT_WR)
                silent.recv(1024)
            ask = http.client.HTTPConnection("127.0.0.1", server.port, timeout=5)

            assert asked(ask, "/healthz")[0] == 200


class TestNotify:
    """What systemd is told."""

    @pytest.mark.parametrize("abstract", [False, True])
    def test_lines_arrive_as_one_datagram(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, abstract: bool
    ) -> None:
        """
        At a socket in the file system, or one of a name that is not there.
        """
        name = f"@placer-test-{os.getpid()}" if abstract else str(tmp_path / "notify")
        monkeypatch.setenv("NOTIFY_SOCKET", name)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
            listener.settimeout(5)
            listener.bind(name.replace("@", "\0"))

            assert notify_systemd("READY=1", "STATUS=well")
            assert listener.recv(4096) == b"READY=1\nSTATUS=well"

    def test_nobody_listens(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """
        Nothing happens, whether systemd never asked or has gone.
        """
        monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
        assert not notify_systemd("READY=1")
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "gone"))
        assert not notify_systemd("READY=1")

    @pytest.mark.parametrize(
        ("pid", "microseconds", "seconds"),
        [("me", "60000000", 30.0), ("1", "60000000", None), ("me", "", None), ("me", "x", None)],
    )
    def test_the_watchdog_is_told_twice_as_often_as_it_asks(
        self,
        monkeypatch: pytest.MonkeyPatch,
        pid: str,
        microseconds: str,
        seconds: float | None,
    ) -> None:
        """
        But only where it is this process that it watches.
        """
        monkeypatch.setenv("WATCHDOG_PID", str(os.getpid()) if pid == "me" else pid)
        monkeypatch.setenv("WATCHDOG_USEC", microseconds)

        assert watchdog_ping_interval_s() == seconds


class TestWatch:
    """What is told of real folders."""

    @pytest.fixture
    def folders(self, tmp_path: Path) -> tuple[Path, Path]:
        """Cgroups and documents; there is one cgroup."""
        cgroups, documents = tmp_path / "cgroup", tmp_path / "documents"
        (cgroups / "a" / "b").mkdir(parents=True)
        documents.mkdir()
        for name in ("cpuset.cpus", "cgroup.procs", "memory.current", "hugetlb.2MB.max"):
            (cgroups / "a" / "b" / name).write_text("")
        return cgroups, documents

    @pytest.fixture
    def watch(self, folders: tuple[Path, Path]) -> Iterator[CgroupWatch]:
        """A watch of them."""
        alarm = AgentWaitInterrupter()
        found = CgroupWatch([folders[0]], folders[1], alarm)
        yield found
        found.close()
        alarm.close()

    def told(self, watch: CgroupWatch, folder: Path, timeout_s: float = 5) -> set[str]:
        return {path.removeprefix(f"{folder}/") for path in watch.changes(timeout_s)}

    def test_settings_and_processes_are_told_and_nothing_else(
        self, watch: CgroupWatch, folders: tuple[Path, Path]
    ) -> None:
        """
        What changes without anybody's doing is not.
        """
        cgroups, _ = folders
        leaf = cgroups / "a" / "b"
        (leaf / "memory.current").write_text("1")
        assert self.told(watch, cgroups, 0) == set()

        (leaf / "memory.current").write_text("2")
        (leaf / "cpuset.cpus").write_text("0")
        assert self.told(watch, cgroups) == {"a/b/cpuset.cpus"}

        (leaf / "hugetlb.2MB.max").write_text("0")
        assert self.told(watch, cgroups) == {"a/b/hugetlb.2MB.max"}

        (leaf / "cgroup.procs").write_text("7")
        assert self.told(watch, cgroups) == {"a/b/cgroup.procs"}

    def test_cgroups_that_come_are_watched_and_those_that_go_are_told(
        self, watch: CgroupWatch, folders: tuple[Path, Path]
    ) -> None:
        """
        Also those that came inside one before anybody could watch it.
        """
        cgroups, _ = folders
        (cgroups / "c" / "d" / "e").mkdir(parents=True)
        assert self.told(watch, cgroups) >= {"c", "c/d", "c/d/e"}

        (cgroups / "c" / "d" / "e" / "cpuset.cpus").write_text("0")
        assert "c/d/e/cpuset.cpus" in self.told(watch, cgroups)

        (cgroups / "c" / "d" / "e" / "cpuset.cpus").unlink()
        (cgroups / "c" / "d" / "e").rmdir()
        assert "c/d/e" in self.told(watch, cgroups)

    def test_cgroups_nested_deeper_than_a_path_stop_nobody(
        self, watch: CgroupWatch, folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """
        Whoever may make cgroups may nest them so: what is not so deep is told as before, whether
        they came during the watch or before it.
        """
        cgroups, documents = folders
        monkeypatch.chdir(cgroups / "a")
        for _ in range(30):
            Path("n" * 200).mkdir()
            os.chdir("n" * 200)
        assert "a/" + "n" * 200 in self.told(watch, cgroups)
        alarm = AgentWaitInterrupter()
        later = CgroupWatch([cgroups], documents, alarm)

        for one in (watch, later):
            (cgroups / "a" / "b" / "cpuset.cpus").write_text("0")
            assert self.told(one, cgroups) == {"a/b/cpuset.cpus"}
            self.told(watch, cgroups, 0)

        later.close()
        alarm.close()

    def test_documents_are_told_once_they_are_whole(
        self, watch: CgroupWatch, folders: tuple[Path, Path]
    ) -> None:
        """
        By rename, or at the end of writing; also in a folder that went and is there again.
        """
        _, documents = folders
        with (documents / ".new").open("w") as file:
            file.write("{")
            file.flush()
            assert self.told(watch, documents, 0) == set()
        (documents / ".new").rename(documents / "n0.json")
        assert "n0.json" in self.told(watch, documents)

        (documents / "n0.json").unlink()
        documents.rmdir()
        self.told(watch, documents)
        documents.mkdir()
        self.told(watch, documents, 0)
        (documents / "again.json").write_text("{}")
        assert self.told(watch, documents) == {"again.json"}

    def test_no_link_is_followed(
        self, watch: CgroupWatch, folders: tuple[Path, Path], tmp_path: Path
    ) -> None:
        """
        A link among the cgroups leads nowhere.
        """
        (tmp_path / "elsewhere").mkdir()
        (folders[0] / "link").symlink_to(tmp_path / "elsewhere")
        assert self.told(watch, folders[0]) == {"link"}

        (tmp_path / "elsewhere" / "cpuset.cpus").write_text("0")
        assert watch.changes(0) == set()

    def test_an_alarm_ends_the_wait_and_also_the_next_one(self, watch: CgroupWatch) -> None:
        """
        Once; from another thread.
        """
        alarm = watch._alarm
        began_s = time.monotonic()
        threading.Timer(0.02, alarm.ring).start()
        assert watch.changes(60) == set()
        alarm.ring()
        assert watch.changes(60) == set()

        assert time.monotonic() - began_s < 60
        assert watch.changes(0) == set()

    def test_where_nothing_can_be_watched_everything_may_have_changed(
        self,
        folders: tuple[Path, Path],
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        """
        The kernel gives no more watches; this is said once, and how to get more.
        """

        def none_left(*_: object) -> int:
            ctypes.set_errno(28)
            return -1

        alarm = AgentWaitInterrupter()
        monkeypatch.setattr(watch_module, "LIBC", type("Libc", (), {"inotify_init1": none_left})())
        watch = CgroupWatch([folders[0]], folders[1], alarm)

        assert watch.changes(0) == watch.changes(0) == {ANYTHING}
        assert caplog.text.count("raise fs.inotify.max_user_watches") == 1
        alarm.close()
