"""Kernels to boot: Debian's cloud kernels, downloaded and unpacked but never installed."""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

SOURCES = """\
deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian bookworm main
deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian bookworm-backports main
"""  # noqa: E501 - a source is one line
"""6.1 is in main; 6.12, the first here with cpuset.cpus.exclusive, in backports."""

QEMU = "qemu-system-x86_64"


class CannotBootError(Exception):
    """What the emulated machine needs cannot be had here; the text says what."""


def need_qemu() -> None:
    """Install qemu where root may and apt-get is there, or say what is missing."""
    if shutil.which(QEMU) is None:
        trouble = f"{QEMU} is missing and cannot be installed"
        _run(["apt-get", "update"], trouble)  # a fresh system has no lists
        _run(
            ["apt-get", "install", "-y", "--no-install-recommends", "qemu-system-x86"],
            trouble,
            environment=os.environ | {"DEBIAN_FRONTEND": "noninteractive"},
        )


def kernel(series: str, folder: Path) -> Path:
    """Return the bootable image of a series ("6.1", "6.12"), downloaded once into the folder."""
    found = sorted(folder.glob(f"kernel-{series}.*"))
    if found:
        return found[-1]
    apt = _apt(folder / "apt")
    _run([*apt, "update"], "Debian's package lists cannot be read")
    names = _run(
        ["apt-cache", *apt[1:], "search", "--names-only", r"^linux-image-6\..*-cloud-amd64$"],
        "Debian's package lists cannot be searched",
    )
    versions = re.findall(rf"^(linux-image-{re.escape(series)}\.\S+)", names, re.MULTILINE)
    if not versions:
        raise CannotBootError(f"Debian has no cloud kernel of series {series} here")
    newest = max(versions, key=lambda name: [int(part) for part in re.findall(r"\d+", name)])
    _run([*apt, "download", newest], f"{newest} cannot be downloaded", cwd=folder)
    (package,) = folder.glob(f"{newest}_*.deb")
    unpacked = folder / newest
    _run(["dpkg-deb", "-x", str(package), str(unpacked)], f"{package} cannot be unpacked")
    (image,) = (unpacked / "boot").glob("vmlinuz-*")
    result = folder / f"kernel-{image.name.removeprefix('vmlinuz-')}"
    shutil.copyfile(image, result)
    shutil.rmtree(unpacked)
    package.unlink()
    return result


def _apt(folder: Path) -> list[str]:
    """Return apt-get with lists and a cache of its own, so that the host's stay as they are."""
    for name in ("lists/partial", "cache/archives/partial"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "sources.list").write_text(SOURCES)
    options = {
        "Dir::Etc::SourceList": folder / "sources.list",
        "Dir::Etc::SourceParts": "/dev/null",
        "Dir::State::Lists": folder / "lists",
        "Dir::Cache": folder / "cache",
        "APT::Sandbox::User": "root",
    }
    return ["apt-get", *(f"-o{name}={value}" for name, value in options.items())]


def _run(
    command: list[str],
    trouble: str,
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> str:
    try:
        done = subprocess.run(
            command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=300
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotBootError(f"{trouble}: {error}") from None
    if done.returncode != 0:
        raise CannotBootError(f"{trouble}: {done.stderr.strip()[-500:]}")
    return done.stdout
