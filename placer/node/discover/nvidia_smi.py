"""NVIDIA's GPUs from text: what ``nvidia-smi -q``, ``-L`` and ``topo -m`` print."""

import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from placer.node.discover.inventory import DiscoveredDevices
from placer.node.discover.nvidia import NvidiaGpu, PlaceOf, gpus_to_devices, gpus_with_minors
from placer.node.discover.pci import normalised_pci_bus_id
from placer_models.cluster import Machine
from placer_models.device import GPU, GpuLinkMatrix
from placer_models.files.documents import read_text, shown_file_name
from placer_models.files.errors import InputError
from placer_models.machines.nvidia_topo import GpuTopologyError, machine_from_topo_text
from placer_models.message_text import count_with_noun

LONGEST_S = 30.0
"""Seconds after which a driver that has not answered is stuck."""

_SECTION = re.compile(r"GPU ([0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7])")
_LISTED = re.compile(r"GPU ([0-9]{1,4}): (.+) \(UUID: (\S+)\)")
_MATRIX = re.compile(r"^[ \t]*(?:\S*\[4m)?GPU0\b.*\bGPU1\b|^[ \t]+GPU0\b", re.MULTILINE)
_MEMORY = re.compile(r"([0-9]{1,9}) MiB")
_OF_SMI = re.compile(
    rf"^(?:=+NVSMI LOG=+|{_SECTION.pattern}|{_LISTED.pattern})\s*$|{_MATRIX.pattern}", re.MULTILINE
)
_HEAD_BYTES = 1 << 16
_NOTHING = ("", "N/A", "[N/A]", "None", "No")


@dataclass(frozen=True, slots=True)
class NvidiaSmiContents:
    """The contents of one text.

    Attributes:
        matrix: The machine of ``topo -m``; None where the text has no such table.

    """

    source: str
    gpus: tuple[NvidiaGpu, ...] = ()
    matrix: Machine | None = None


def is_smi_text_file(path: Path) -> bool:
    """Return whether the head of a file has what one of the commands prints."""
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        head = stream.read(_HEAD_BYTES).decode(errors="replace")
    return "\0" not in head and _OF_SMI.search(head) is not None


def read_smi_file(path: Path) -> NvidiaSmiContents:
    """Return the contents of a file.

    Raises:
        InputError: It cannot be read, or nothing in it comes from nvidia-smi.

    """
    return read_smi(read_text(path), shown_file_name(path))


def read_smi(text: str, source: str) -> NvidiaSmiContents:
    """Return the contents of a text: the output of one of the commands, or of several.

    Raises:
        InputError: Nothing in it comes from nvidia-smi, or a table in it is damaged.

    """
    lines = text.splitlines()
    gpus = _queried(lines, source) or _listed(lines)
    matrix = None
    if _MATRIX.search(text) or not gpus:
        try:
            matrix = machine_from_topo_text(text, name="nvidia")
        except GpuTopologyError as error:
            message = str(error)
            if error.line is None:
                message = "expected what nvidia-smi -q, nvidia-smi -L or nvidia-smi topo -m prints"
            raise InputError(source, None, "", message) from None
    return NvidiaSmiContents(source, gpus, matrix)


def run_smi() -> NvidiaSmiContents | None:
    """Return the answer of this machine's nvidia-smi, or None if it is missing or has no answer."""
    command = shutil.which("nvidia-smi")
    if command is None:
        return None
    texts = []
    for arguments in (["-q"], ["topo", "-m"]):
        try:
            done = subprocess.run(
                [command, *arguments],
                capture_output=True,
                text=True,
                errors="replace",
                timeout=LONGEST_S,
                check=False,
                stdin=subprocess.DEVNULL,
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        texts.append(done.stdout if done.returncode == 0 else "")
    return read_smi("\n".join(texts), "nvidia-smi") if texts[0].strip() else None


def smi_devices(texts: Sequence[NvidiaSmiContents], place_of: PlaceOf) -> DiscoveredDevices:
    """Return the devices that the texts describe together: which they are and how they are linked.

    Raises:
        InputError: The texts are of different machines.

    """
    told = [text for text in texts if text.gpus]
    # A query says more than a list.
    best = max(told, key=lambda text: (text.gpus[0].bus_id != "", len(text.gpus)), default=None)
    drawn = next((text for text in texts if text.matrix is not None), None)
    if drawn is None or drawn.matrix is None:
        return gpus_to_devices(best.gpus if best else (), place_of, links_known=False)
    shown = [device for device in drawn.matrix.devices if device.type == GPU]
    if best is None:
        devices = tuple(replace(device, package=None) for device in drawn.matrix.devices)
        return DiscoveredDevices(devices, drawn.matrix.gpu_links, notes=_rates(drawn.matrix))
    if len(shown) != len(best.gpus):
        raise InputError(
            drawn.source,
            None,
            "",
            f"shows {count_with_noun(len(shown), 'GPU')}, but {best.source} {len(best.gpus)}; "
            "expected texts of one machine",
        )
    # Both texts list GPUs in the order of their bus ids, which minors need not follow.
    in_order = sorted(best.gpus, key=lambda gpu: gpu.bus_id) if best.gpus[0].bus_id else best.gpus
    gpus = [
        replace(
            gpu,
            minor=device.minor if gpu.minor is None else gpu.minor,
            numa_node=device.numa_node,
            healthy=gpu.healthy and device.healthy,
        )
        for gpu, device in zip(in_order, shown, strict=True)
    ]
    gpus = gpus_with_minors(gpus)
    found = gpus_to_devices(gpus, place_of, links_known=False)
    others = tuple(
        replace(device, package=None) for device in drawn.matrix.devices if device.type != GPU
    )
    links = _renumbered(drawn.matrix.gpu_links, [gpu.minor or 0 for gpu in gpus])
    return replace(
        found, devices=(*found.devices, *others), links=links, notes=_rates(drawn.matrix)
    )


def _rates(matrix: Machine) -> tuple[str, ...]:
    """Return what had to be assumed about bandwidths, from the notes of a machine."""
    match = re.search(r"Bandwidth is nominal.*?(?=\.(?: |$))", matrix.notes)
    return (match[0],) if match else ()


def _renumbered(links: GpuLinkMatrix | None, minors: Sequence[int]) -> GpuLinkMatrix | None:
    """Return the matrix with other minors, put in ascending order of these."""
    if links is None:
        return None
    order = sorted(range(len(minors)), key=lambda i: minors[i])
    return GpuLinkMatrix(
        minors=tuple(minors[i] for i in order),
        centi_gb_per_s=tuple(tuple(links.centi_gb_per_s[i][j] for j in order) for i in order),
        kinds=tuple(tuple(links.kinds[i][j] for j in order) for i in order),
        shared_egress=links.shared_egress,
    )


def _listed(lines: Sequence[str]) -> tuple[NvidiaGpu, ...]:
    """Read ``nvidia-smi -L``."""
    matches = filter(None, (_LISTED.fullmatch(line.strip()) for line in lines))
    return tuple(NvidiaGpu(int(match[1]), uuid=match[3], model=match[2]) for match in matches)


def _queried(lines: Sequence[str], source: str) -> tuple[NvidiaGpu, ...]:
    """Read ``nvidia-smi -q``: a section for each GPU, with names nested by indentation."""
    gpus: list[NvidiaGpu] = []
    said: dict[str, str] = {}
    bus_id = ""
    above: list[tuple[int, str]] = []
    for line in [*lines, "GPU 0000:00:00.0"]:
        section = _SECTION.fullmatch(line.rstrip())
        if section:
            if bus_id:
                gpus.append(_gpu(said, bus_id))
            bus_id, said, above = normalised_pci_bus_id(section[1]), {}, []
            continue
        if not bus_id or not line.strip():
            continue
        indent = len(line) - len(line.lstrip())
        name, colon, value = line.partition(":")
        above = [(at, title) for at, title in above if at < indent]
        path = "/".join([*(title for _, title in above), name.strip()])
        if colon:
            said.setdefault(path, value.strip())
        else:
            above.append((indent, name.strip()))
    if len({gpu.bus_id for gpu in gpus}) < len(gpus):
        raise InputError(source, None, "", "tells of one GPU twice; expected one query")
    return tuple(gpus)


def _gpu(said: dict[str, str], bus_id: str) -> NvidiaGpu:
    memory = _MEMORY.match(said.get("FB Memory Usage/Total", ""))
    minor = said.get("Minor Number", "")
    failures = [said.get("Remapped Rows/Remapping Failure Occurred", "")]
    failures += [said.get("GPU Recovery Action", "")]
    lost = not said or "Unknown Error" in (said.get("GPU UUID"), said.get("Product Name"))
    return NvidiaGpu(
        minor=int(minor) if re.fullmatch("[0-9]{1,4}", minor) else None,
        bus_id=bus_id,
        uuid=said.get("GPU UUID", ""),
        model=said.get("Product Name", ""),
        memory_bytes=int(memory[1]) * 2**20 if memory else 0,
        healthy=not lost and all(failure in _NOTHING for failure in failures),
        in_mig_mode=said.get("MIG Mode/Current") == "Enabled",
    )
