"""NVIDIA's GPUs from NVML, by its Python bindings (the extra ``placer[nvidia]``)."""

import importlib
from collections import Counter
from collections.abc import Callable
from typing import Any

from placer.node.discover.nvidia import NvidiaGpu
from placer.node.discover.pci import normalised_pci_bus_id

GB_PER_S_BY_VERSION = {1: 20.0, 2: 25.0, 3: 25.0, 4: 25.0, 5: 14.06, 6: 25.0, 7: 50.0, 8: 100.0}
"""NVML's code of an NVLink's version -> GB/s of one link per direction, without overhead.
The codes stand for the versions 1.0, 2.0, 2.2, 3.0, 3.1, 4.0, 5.0 and 6.0."""

_USUAL_GB_PER_S = 25.0
_MOST_LINKS = 36
_MASK_WORDS = 16


class NoNvmlError(Exception):
    """NVML cannot be asked; the message says why."""


def read_nvml() -> tuple[NvidiaGpu, ...]:
    """Return the GPUs of this machine as NVML describes them.

    Raises:
        NoNvmlError: The bindings or the driver's library are not there.

    """
    try:
        nvml = importlib.import_module("pynvml")
    except ImportError:
        raise NoNvmlError("the package nvidia-ml-py is not installed") from None
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as error:
        raise NoNvmlError(f"NVML does not start: {error}") from None
    try:
        return tuple(_gpu(nvml, index) for index in range(nvml.nvmlDeviceGetCount()))
    except nvml.NVMLError as error:
        raise NoNvmlError(f"NVML does not answer: {error}") from None
    finally:
        nvml.nvmlShutdown()


def _gpu(nvml: Any, index: int) -> NvidiaGpu:
    """Return one GPU; what NVML cannot say of it is left out."""
    lost = False

    def ask(function: str, *arguments: object) -> Any:
        """Return the answer, or None if this GPU, its driver or the bindings have none."""
        nonlocal lost
        call: Callable[..., Any] | None = getattr(nvml, function, None)
        if call is None:
            return None
        try:
            return call(*arguments)
        except nvml.NVMLError as error:
            codes = (nvml.NVML_ERROR_GPU_IS_LOST, nvml.NVML_ERROR_RESET_REQUIRED)
            lost = lost or error.value in codes
            return None

    handle = ask("nvmlDeviceGetHandleByIndex", index)
    if handle is None:
        return NvidiaGpu(index, healthy=False)
    minor = ask("nvmlDeviceGetMinorNumber", handle)
    pci = ask("nvmlDeviceGetPciInfo", handle)
    memory = ask("nvmlDeviceGetMemoryInfo", handle)
    rows = ask("nvmlDeviceGetRemappedRows", handle)
    mig = ask("nvmlDeviceGetMigMode", handle)
    peers, switch_links, rate = _links(nvml, ask, handle)
    return NvidiaGpu(
        minor=index if minor is None else int(minor),
        bus_id=_bus_id(pci),
        uuid=_text(ask("nvmlDeviceGetUUID", handle)),
        model=_text(ask("nvmlDeviceGetName", handle)),
        memory_bytes=0 if memory is None else int(memory.total),
        in_mig_mode=mig is not None and mig[0] == nvml.NVML_FEATURE_ENABLED,
        numa_node=_numa_node(ask, handle),
        peers=peers,
        switch_links=switch_links,
        link_gb_per_s=rate,
        # The last of the four counts says that a row could not be remapped.
        healthy=not (lost or (rows is not None and bool(rows[3]))),
    )


def _links(nvml: Any, ask: Callable[..., Any], handle: object) -> tuple[dict[str, int], int, float]:
    """Return the active NVLinks: to which GPUs, how many to switches, and what one carries."""
    peers: Counter[str] = Counter()
    switch_links = 0
    rates = []
    for link in range(getattr(nvml, "NVML_NVLINK_MAX_LINKS", _MOST_LINKS)):
        if ask("nvmlDeviceGetNvLinkState", handle, link) != nvml.NVML_FEATURE_ENABLED:
            continue
        kind = ask("nvmlDeviceGetNvLinkRemoteDeviceType", handle, link)
        peer = _bus_id(ask("nvmlDeviceGetNvLinkRemotePciInfo", handle, link))
        if kind == nvml.NVML_NVLINK_DEVICE_TYPE_IBMNPU:
            continue  # It leads to the CPU of a POWER9.
        if kind == nvml.NVML_NVLINK_DEVICE_TYPE_GPU and peer:
            peers[peer] += 1
        else:
            # In virtual machines switches are hidden: what is behind the link is unknown.
            switch_links += 1
        version = ask("nvmlDeviceGetNvLinkVersion", handle, link)
        rates.append(GB_PER_S_BY_VERSION.get(version, _USUAL_GB_PER_S))
    return dict(peers), switch_links, min(rates, default=0.0)


def _numa_node(ask: Callable[..., Any], handle: object) -> int | None:
    """Return the NUMA node whose memory is nearest, or None if NVML names none or several."""
    words = ask("nvmlDeviceGetMemoryAffinity", handle, _MASK_WORDS, 0)
    if words is None:
        return None
    near = [64 * i + bit for i, word in enumerate(words) for bit in range(64) if word >> bit & 1]
    return near[0] if len(near) == 1 else None


def _bus_id(pci: Any) -> str:
    """Return a bus id as the kernel writes it; empty where NVML says none."""
    try:
        return "" if pci is None else normalised_pci_bus_id(_text(pci.busId))
    except ValueError:
        return ""


def _text(answer: object) -> str:
    """Return a text; older bindings answer in bytes."""
    if isinstance(answer, bytes):
        return answer.decode("utf-8", "replace")
    return "" if answer is None else str(answer)
