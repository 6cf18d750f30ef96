"""Devices of a machine, from all sources."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from placer.node.discover.accelerators import read_non_gpu_accelerators
from placer.node.discover.inventory import DiscoveredDevices
from placer.node.discover.kfd import read_kfd
from placer.node.discover.machine_files import DiscoverMachineFiles
from placer.node.discover.nvidia import gpus_to_devices, read_nvidia_gpus
from placer.node.discover.nvidia_smi import NvidiaSmiContents, run_smi, smi_devices
from placer.node.discover.nvml import NoNvmlError, read_nvml
from placer.node.discover.pci import pci_place_of
from placer.node.discover.rdma import read_rdma_from_sysfs
from placer_models.device import GPU


def discover_devices(
    files: DiscoverMachineFiles, texts: Sequence[NvidiaSmiContents]
) -> DiscoveredDevices:
    """Return the devices that drivers, sysfs and texts of nvidia-smi report.

    Raises:
        InputError: A file is not what the kernel writes, or the texts are of another machine.

    """
    ports, others = read_rdma_from_sysfs(files), read_non_gpu_accelerators(files)
    more = replace(ports, devices=(*ports.devices, *others.devices))
    return merged_devices(_nvidia(files, texts), read_kfd(files), more)


def merged_devices(
    nvidia: DiscoveredDevices, amd: DiscoveredDevices, others: DiscoveredDevices
) -> DiscoveredDevices:
    """Return all the devices; if `others` has some type, such as ports, `nvidia`'s are dropped."""
    warnings = [*nvidia.warnings, *amd.warnings, *others.warnings]
    known = {device.type for device in others.devices}
    first = [device for device in nvidia.devices if device.type not in known]
    gpus = [device for device in first if device.type == GPU]
    links = nvidia.links or amd.links
    second = list(amd.devices)
    if gpus and second:
        above = max(gpu.minor for gpu in gpus) + 1
        second = [replace(gpu, minor=gpu.minor + above) for gpu in second]
        links = None
        warnings.append(
            "there are GPUs of two vendors; "
            f"rule: AMD's are numbered from {above} on, and links are left out"
        )
    return DiscoveredDevices(
        (*first, *second, *others.devices),
        links,
        nvidia.modes,
        notes=(*nvidia.notes, *amd.notes, *others.notes),
        warnings=tuple(warnings),
    )


def _nvidia(files: DiscoverMachineFiles, texts: Sequence[NvidiaSmiContents]) -> DiscoveredDevices:
    """Return NVIDIA's GPUs: from the texts given, else NVML, else nvidia-smi, else the kernel."""
    where = partial(pci_place_of, files)
    if texts:
        return smi_devices(texts, where)
    seen = read_nvidia_gpus(files)
    if files.is_host:
        try:
            return gpus_to_devices(read_nvml(), where)
        except NoNvmlError as error:
            reason = str(error)
        if seen and (said := run_smi()) is not None:
            return smi_devices([said], where)
    else:
        reason = "a dump has none of NVML"
    found = gpus_to_devices(seen, where, links_known=False)
    if not seen:
        return found
    advice = (
        f"memory, links and health of NVIDIA's GPUs are unknown ({reason}); give what "
        "nvidia-smi -q and nvidia-smi topo -m print there beside it"
    )
    if files.is_host:
        advice += ", or install the extra placer[nvidia]"
    return replace(found, warnings=(*found.warnings, advice))
