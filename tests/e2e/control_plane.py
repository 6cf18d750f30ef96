"""A control plane to test against: etcd and kube-apiserver, and kube-scheduler where it is asked.

All of it listens on 127.0.0.1 alone, on ports that were free, and nothing of it outlives the
test: the kernel ends what a killed test leaves behind.
"""

import ctypes
import http.client
import json
import secrets
import signal
import socket
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from containers.runtimes import MissingError, need_program
from e2e.binaries import path_of
from kubernetes_worlds import Json

START_LIMIT_S = 60.0
_PR_SET_PDEATHSIG = 1


class NotReadyError(Exception):
    """A control plane that did not come up, with the end of what its programs said."""


@dataclass
class ControlPlane(AbstractContextManager["ControlPlane"]):
    """A running API server with its etcd, in a folder of its own.

    Attributes:
        folder: Keys, logs and data.
        port: Of the API server.
        kubeconfig: The file that kubectl takes.

    """

    folder: Path
    port: int = 0
    _token: str = field(default_factory=lambda: secrets.token_hex(16), repr=False)
    _stack: ExitStack = field(default_factory=ExitStack, repr=False)
    _connection: http.client.HTTPSConnection | None = field(default=None, repr=False)

    @property
    def kubeconfig(self) -> Path:
        """The file that kubectl takes."""
        return self.folder / "kubeconfig"

    def __enter__(self) -> "ControlPlane":
        """Start, and wait until it answers.

        Raises:
            MissingError: A program is missing.
            NotReadyError: It does not answer.

        """
        self.folder.mkdir(parents=True, exist_ok=True)
        self._write_keys()
        with ExitStack() as stack:
            peers, clients, self.port = _free_ports(3)
            stack.enter_context(self._etcd(clients, peers))
            stack.enter_context(self._api_server(clients))
            stack.callback(self._hang_up)
            self._write_kubeconfig()
            self._wait("kube-apiserver", self._is_ready)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop all of it."""
        self._stack.close()

    @contextmanager
    def scheduler(self, configuration: Json | None = None) -> Iterator[None]:
        """Run kube-scheduler meanwhile, with its defaults or a KubeSchedulerConfiguration."""
        (port,) = _free_ports(1)
        wanted = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "clientConnection": {"kubeconfig": str(self.kubeconfig), "qps": 500, "burst": 500},
            "leaderElection": {"leaderElect": False},
            **(configuration or {}),
        }
        file = self.folder / "scheduler.json"
        file.write_text(json.dumps(wanted))
        command = [
            path_of("kube-scheduler"),
            f"--config={file}",
            f"--authentication-kubeconfig={self.kubeconfig}",
            f"--authorization-kubeconfig={self.kubeconfig}",
            f"--secure-port={port}",
            "--bind-address=127.0.0.1",
            f"--cert-dir={self.folder / 'scheduler-certificates'}",
        ]
        with _running(command, self.folder / "kube-scheduler.log"):
            yield

    def call(
        self, method: str, path: str, body: Json | None = None, kind: str = "application/json"
    ) -> Json:
        """Return what the API server answers.

        Raises:
            RuntimeError: It refuses.

        """
        status, text = self._send(method, path, body, kind)
        answer: Any = json.loads(text) if text[:1] == b"{" else {"message": text.decode()}
        if status >= 300:
            raise RuntimeError(f"{method} {path}: {status} {answer.get('message', answer)}")
        return dict(answer)

    def create(self, found: Json) -> Json:
        """Create an object as it is, its status included."""
        made = self.call("POST", _path(found), _as_sent(found))
        if found.get("status"):
            path = f"{_path(found)}/{found['metadata']['name']}/status"
            status = {"status": found["status"]}
            made = self.call("PATCH", path, status, "application/merge-patch+json")
        return made

    def run(self, pod: Json, node: str) -> None:
        """Create a pod, bind it to a node, and say that it runs."""
        waiting = {**pod, "spec": {k: v for k, v in pod["spec"].items() if k != "nodeName"}}
        self.call("POST", _path(pod), _as_sent(waiting))
        path = f"{_path(pod)}/{pod['metadata']['name']}"
        name = {"name": pod["metadata"]["name"], "namespace": pod["metadata"]["namespace"]}
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": name}
        target = {"apiVersion": "v1", "kind": "Node", "name": node}
        self.call("POST", f"{path}/binding", {**binding, "target": target})
        status = {"status": {"phase": "Running"}}
        self.call("PATCH", f"{path}/status", status, "application/merge-patch+json")

    def kubectl(self, *arguments: str) -> str:
        """Return what kubectl prints.

        Raises:
            RuntimeError: It fails.

        """
        command = [
            str(path_of("kubectl")),
            f"--kubeconfig={self.kubeconfig}",
            f"--cache-dir={self.folder / 'kubectl-cache'}",
            *arguments,
        ]
        done = subprocess.run(command, capture_output=True, text=True, cwd=self.folder)
        if done.returncode != 0:
            raise RuntimeError(f"kubectl {' '.join(arguments)}: {done.stderr}")
        return done.stdout

    def _write_keys(self) -> None:
        need_program("openssl", "openssl")
        private, public = self.folder / "accounts.key", self.folder / "accounts.pub"
        for command in (
            ["openssl", "genrsa", "-out", str(private), "2048"],
            ["openssl", "rsa", "-in", str(private), "-pubout", "-out", str(public)],
        ):
            subprocess.run(command, check=True, capture_output=True)
        tokens = self.folder / "tokens.csv"
        tokens.touch(mode=0o600)
        tokens.write_text(f'{self._token},admin,admin,"system:masters"\n')

    def _etcd(self, clients: int, peers: int) -> AbstractContextManager[None]:
        client, peer = f"http://127.0.0.1:{clients}", f"http://127.0.0.1:{peers}"
        command = [
            path_of("etcd"),
            f"--data-dir={self.folder / 'etcd'}",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
            "--unsafe-no-fsync",
        ]
        return _running(command, self.folder / "etcd.log")

    def _api_server(self, etcd: int) -> AbstractContextManager[None]:
        command = [
            path_of("kube-apiserver"),
            f"--etcd-servers=http://127.0.0.1:{etcd}",
            f"--secure-port={self.port}",
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            f"--cert-dir={self.folder / 'certificates'}",
            f"--token-auth-file={self.folder / 'tokens.csv'}",
            "--authorization-mode=AlwaysAllow",
            "--service-account-issuer=https://127.0.0.1",
            f"--service-account-key-file={self.folder / 'accounts.pub'}",
            f"--service-account-signing-key-file={self.folder / 'accounts.key'}",
            "--service-cluster-ip-range=10.0.0.0/24",
            # No controller makes service accounts, and no kubelet takes away a taint.
            "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",
            "--endpoint-reconciler-type=none",
        ]
        return _running(command, self.folder / "kube-apiserver.log")

    def _write_kubeconfig(self) -> None:
        server = {"server": f"https://127.0.0.1:{self.port}", "insecure-skip-tls-verify": True}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "test", "cluster": server}],
            "users": [{"name": "test", "user": {"token": self._token}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
            "current-context": "test",
        }
        self.kubeconfig.touch(mode=0o600)
        self.kubeconfig.write_text(json.dumps(config))

    def _is_ready(self) -> bool:
        try:
            status, text = self._send("GET", "/readyz", None, "application/json")
        except (OSError, http.client.HTTPException):
            return False
        # The namespace comes a moment after the server says that it is ready.
        return (status, text) == (200, b"ok") and (
            self._send("GET", "/api/v1/namespaces/default", None, "application/json")[0] == 200
        )

    def _wait(self, program: str, done: Callable[[], bool]) -> None:
        until = time.monotonic() + START_LIMIT_S
        while not done():
            if time.monotonic() > until:
                log = (self.folder / f"{program}.log").read_text(errors="replace")[-2000:]
                raise NotReadyError(f"{program} is not ready after {START_LIMIT_S:.0f} s: {log}")
            time.sleep(0.1)

    def _send(self, method: str, path: str, body: Json | None, kind: str) -> tuple[int, bytes]:
        """Return status and body of an answer, over one connection that is kept."""
        if self._connection is None:
            # The server's certificate is made anew at each start, and signed by nobody.
            context = ssl._create_unverified_context()
            self._connection = http.client.HTTPSConnection(
                "127.0.0.1", self.port, context=context, timeout=60
            )
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": kind}
        text = None if body is None else json.dumps(body)
        try:
            self._connection.request(method, path, text, headers)
            response = self._connection.getresponse()
            return response.status, response.read()
        except (OSError, http.client.HTTPException):
            self._hang_up()
            raise

    def _hang_up(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


@contextmanager
def control_plane_or_skip(folder: Path, *objects: Json) -> Iterator[ControlPlane]:
    """Run a control plane that has these objects; where a program is missing, skip the test."""
    try:
        with ControlPlane(folder / "control-plane") as control_plane:
            for found in objects:
                control_plane.create(found)
            yield control_plane
    except MissingError as error:
        pytest.skip(str(error))


@contextmanager
def _running(command: list[object], log: Path) -> Iterator[None]:
    """Run a program meanwhile; it ends with this process, however that ends."""
    libc = ctypes.CDLL(None)

    def ends_with_parent() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)

    with log.open("wb") as file:
        process = subprocess.Popen(
            [str(word) for word in command],
            stdout=file,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            preexec_fn=ends_with_parent,  # nothing else runs in this process yet
        )
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _free_ports(count: int) -> list[int]:
    """Return ports of 127.0.0.1 on which nobody listens."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [int(one.getsockname()[1]) for one in sockets]


_CLUSTER_WIDE = {
    "Node",
    "Namespace",
    "PersistentVolume",
    "StorageClass",
    "CSINode",
    "CSIDriver",
    "VolumeAttachment",
    "ResourceSlice",
    "DeviceClass",
    "PriorityClass",
}


def _path(found: Json) -> str:
    """Return where objects of a kind are created."""
    version, kind = str(found["apiVersion"]), str(found["kind"])
    base = f"/apis/{version}" if "/" in version else f"/api/{version}"
    if kind not in _CLUSTER_WIDE:
        base += f"/namespaces/{found['metadata'].get('namespace', 'default')}"
    plural = kind.lower() + ("es" if kind.endswith("s") else "s")
    plural = plural.removesuffix("ys") + "ies" if plural.endswith("ys") else plural
    return f"{base}/{plural}"


def _as_sent(found: Json) -> Json:
    """Return an object without what the server alone may say, and with an image nobody pulls."""
    metadata = {
        key: value
        for key, value in found["metadata"].items()
        if key not in ("uid", "resourceVersion")
    }
    if found["kind"] != "Pod":
        return {**found, "metadata": metadata}
    spec = dict(found["spec"])
    for kind in ("containers", "initContainers"):
        if kind in spec:
            spec[kind] = [{"image": "none", **container} for container in spec[kind]]
    return {**found, "metadata": metadata, "spec": spec}
