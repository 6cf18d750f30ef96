"""Programs of a real control plane, built once from Go modules and kept in a cache folder.

kube-apiserver, kube-scheduler and kubectl are built from the module of Kubernetes, and beside
them `kube_filter`, which asks kube-scheduler's own filters; etcd is the distribution's.
"""

import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from containers.runtimes import MissingError, need_go

KUBERNETES = "v1.36.3"
STAGING = "v0.36.3"
"""The version of the modules that Kubernetes keeps in its own repository."""

BUILT = ("kube-apiserver", "kube-scheduler", "kubectl")
PROGRAMS = (*BUILT, "etcd")

CACHE_VARIABLE = "PLACER_E2E_CACHE"

FILTER_SOURCE = Path(__file__).parent / "kube_filter"

_KEPT_FILTERS = 4
_MODULE = "placer.example/e2e"
_BUILD_LIMIT_S = 5400.0


class BuildError(Exception):
    """A program that could not be built, and what the compiler said."""


def cache_folder(variables: Mapping[str, str] = os.environ) -> Path:
    """Return where the programs are kept: `PLACER_E2E_CACHE`, else below the user's cache.

    Relative paths are passed over, as the XDG Base Directory Specification asks for.
    """
    if chosen := variables.get(CACHE_VARIABLE):
        return Path(chosen).absolute() / KUBERNETES
    home = Path(variables.get("XDG_CACHE_HOME", ""))
    caches = home if home.is_absolute() else Path.home() / ".cache"
    return caches / "placer" / "e2e" / KUBERNETES


def path_of(program: str) -> Path:
    """Return where a program is.

    Raises:
        MissingError: It is not there yet.

    """
    path = cache_folder() / (_filter_name() if program == "kube-filter" else program)
    if not path.exists():
        raise MissingError(f"{path} is missing; make e2e builds it, once")
    return path


def missing() -> list[str]:
    """Return the programs of Kubernetes and etcd that are not in the cache."""
    return [name for name in PROGRAMS if not (cache_folder() / name).exists()]


def need_programs() -> None:
    """Build all programs that are not in the cache.

    Raises:
        MissingError: Something that the build needs cannot be had here.
        BuildError: A program cannot be built.

    """
    with _locked():
        _need_etcd()
        for name in BUILT:
            if not (cache_folder() / name).exists():
                _build(name, f"k8s.io/kubernetes/cmd/{name}", _BUILD_LIMIT_S)
    need_filter()


def need_filter(limit_s: float = _BUILD_LIMIT_S) -> None:
    """Build `kube_filter` where its source has changed: seconds, where Go's cache is warm.

    Args:
        limit_s: How long it may take.

    Raises:
        MissingError: There is no Go, or the time is over.
        BuildError: It cannot be built.

    """
    with _locked():
        name = _filter_name()
        if (cache_folder() / name).exists():
            return
        source = _module() / "kube_filter"
        shutil.rmtree(source, ignore_errors=True)
        shutil.copytree(FILTER_SOURCE, source)
        _build(name, "./kube_filter", limit_s)
        built = sorted(cache_folder().glob("kube-filter-*"), key=lambda one: one.stat().st_mtime)
        for old in built[:-_KEPT_FILTERS]:
            old.unlink()


def _filter_name() -> str:
    """Return a name that says which source the program is made of."""
    digest = hashlib.sha256(KUBERNETES.encode())
    for file in sorted(FILTER_SOURCE.glob("*.go")):
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return f"kube-filter-{digest.hexdigest()[:12]}"


@contextmanager
def _locked() -> Iterator[None]:
    """Hold the cache, so that two builds do not write to it at once."""
    cache_folder().mkdir(parents=True, exist_ok=True)
    with (cache_folder() / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _need_etcd() -> None:
    etcd = cache_folder() / "etcd"
    if etcd.exists():
        return
    if (here := shutil.which("etcd")) is not None:
        shutil.copy2(here, etcd)
        return
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        raise MissingError("etcd is missing; install it, or run this where apt-get can get it")
    folder = cache_folder() / "etcd.package"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    try:
        _say("getting etcd-server")
        if _run(["apt-get", "download", "etcd-server"], folder).returncode != 0:
            _run(["apt-get", "update"], folder)
            got = _run(["apt-get", "download", "etcd-server"], folder)
            if got.returncode != 0:
                raise MissingError(f"etcd-server cannot be had: {got.stderr.strip()[-500:]}")
        (package,) = folder.glob("etcd-server*.deb")
        _run(["dpkg-deb", "-x", str(package), str(folder)], folder)
        (folder / "usr" / "bin" / "etcd").replace(etcd)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _build(name: str, package: str, limit_s: float) -> None:
    """Build one program of Go; it is in the cache only once it is whole."""
    folder = _module()
    said = "k8s.io/component-base/version"
    version = KUBERNETES.removeprefix("v").split(".")
    stamps = {"gitVersion": KUBERNETES, "gitMajor": version[0], "gitMinor": version[1]}
    flags = " ".join(["-s -w", *(f"-X {said}.{key}={value}" for key, value in stamps.items())])
    command = [_go(), "build", "-mod=mod", "-p", "2", "-trimpath", "-buildvcs=false"]
    _say(f"building {name}")
    built = folder / "built"
    try:
        done = _run([*command, "-ldflags", flags, "-o", str(built), package], folder, limit_s)
    except subprocess.TimeoutExpired:
        raise MissingError(f"{name} was not built in {limit_s:.0f} s; make e2e has time") from None
    if done.returncode != 0:
        raise BuildError(f"{name} cannot be built: {done.stderr.strip()[-2000:]}")
    built.replace(cache_folder() / name)


def _module() -> Path:
    """Return the folder of the Go module in which everything is built.

    `go mod tidy` cannot make it, because it wants versions that only the tests of Kubernetes
    need. So it requires what Kubernetes itself requires, with its staging modules as published.
    """
    folder = cache_folder() / "module"
    done = folder / "complete"
    if done.exists():
        return folder
    folder.mkdir(exist_ok=True)
    (folder / "go.mod").write_text(f"module {_MODULE}\n\ngo 1.26.0\n")
    _say(f"getting k8s.io/kubernetes {KUBERNETES}")
    get = [_go(), "mod", "download", "-json", f"k8s.io/kubernetes@{KUBERNETES}"]
    got = _run(get, folder)
    if got.returncode != 0:
        raise MissingError(f"Kubernetes cannot be had: {(got.stderr or got.stdout)[-500:]}")
    theirs = Path(json.loads(got.stdout)["GoMod"]).read_text()
    (folder / "go.mod").write_text(_own_go_mod(theirs))
    done.touch()
    return folder


def _own_go_mod(theirs: str) -> str:
    """Return a go.mod that requires Kubernetes, and all that its own go.mod requires."""
    staging = set(re.findall(r"^\s*(?:replace )?(k8s\.io/\S+)\s+=>\s+\./staging", theirs, re.M))
    required = {"k8s.io/kubernetes": KUBERNETES}
    for block in re.findall(r"^require \((.*?)^\)", theirs, re.M | re.S):
        for line in block.strip().splitlines():
            module, version = line.split("//")[0].split()
            required[module] = STAGING if module in staging else version
    requires = "".join(f"\t{module} {version}\n" for module, version in required.items())
    replaces = "".join(f"\t{module} => {module} {STAGING}\n" for module in sorted(staging))
    return f"module {_MODULE}\n\ngo 1.26.0\n\nrequire (\n{requires})\n\nreplace (\n{replaces})\n"


def _go() -> str:
    return str(need_go())


def _run(
    command: list[str], folder: Path, limit_s: float = _BUILD_LIMIT_S
) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"CGO_ENABLED": "0", "GOTOOLCHAIN": "auto"}
    return subprocess.run(
        ["nice", *command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=limit_s,
    )


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
