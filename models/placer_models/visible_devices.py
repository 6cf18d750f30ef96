"""Variables that tell a container's runtime which GPUs to show, written and read (D12, D13).

NVIDIA's and AMD's container runtimes each read one variable. Both take ``none`` for no GPU at
all. If the variable is not set, the image decides what they do, and many images say ``all``.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Sequence
from enum import StrEnum
from functools import lru_cache

from placer_models.device import Device
from placer_models.environment import Env

NO_GPU = "none"
"""The value that shows no GPU."""

UNNAMED_GPUS = ("placer:gpu-names", "unknown")
"""A label of nodes whose GPUs are only counted: their minors are made up, so nothing names them."""

_SHOW_NONE = ("", NO_GPU, "void")
_SHOW_ALL = "all"


class GpuVendor(StrEnum):
    """The vendor whose container runtime shows a GPU. The value is the variable it reads."""

    NVIDIA = "NVIDIA_VISIBLE_DEVICES"
    AMD = "AMD_VISIBLE_DEVICES"


_AMD_MODELS = ("MI", "Instinct", "Radeon", "Vega", "gfx")
"""Prefixes of the names of AMD's GPU models."""

_AMD_ID = re.compile(r"0[xX][0-9a-fA-F]+|[0-9a-fA-F]{9,}")
"""Ids that AMD's runtime can tell apart from indices and ranges."""

_MIG_OF_GPU = re.compile(r"MIG-(GPU-[0-9a-fA-F-]+)/[0-9]+/[0-9]+")
"""The name of an instance in drivers up to 450."""

_MINORS = re.compile(r"([0-9]{1,6})(?:-([0-9]{1,6})|:[0-9]{1,6})?")
"""A minor, a range of them, or an instance of one."""


def gpu_vendor_of(gpu: Device) -> GpuVendor:
    """Return the vendor whose runtime shows the GPU; NVIDIA if the model does not tell."""
    return _vendor_of_model(gpu.model)


@lru_cache(maxsize=1024)
def _vendor_of_model(model: str) -> GpuVendor:
    return GpuVendor.AMD if model.startswith(_AMD_MODELS) else GpuVendor.NVIDIA


def gpu_has_runtime_readable_id(gpu: Device) -> bool:
    """Return whether the GPU has an id that its runtime can read."""
    if gpu_vendor_of(gpu) is GpuVendor.AMD:
        return _AMD_ID.fullmatch(gpu.id) is not None
    return gpu.id != ""


def gpu_environment(
    held: Collection[int], gpus: Sequence[Device], *, has_instances: bool, unnamed: bool = False
) -> Env:
    """Return the variables that name a container's GPUs, one per vendor of the node's GPUs.

    A MIG instance has no name before it is cut, so NVIDIA's variable of a container with
    instances is left to whoever cuts them. Where GPUs are only counted, the variable of a
    container that has some is left to the device plugin, which alone knows which they are.

    Args:
        held: Minors of the GPUs that the container has.
        gpus: The GPUs of the node.
        has_instances: Whether the container has MIG instances, too.
        unnamed: Whether the node's GPUs are only counted (`UNNAMED_GPUS`).

    """
    by_vendor: defaultdict[GpuVendor, list[Device]] = defaultdict(list)
    for gpu in gpus:
        by_vendor[_vendor_of_model(gpu.model)].append(gpu)
    lines = []
    for vendor, of_vendor in by_vendor.items():
        if not (has_instances and vendor is GpuVendor.NVIDIA):
            own = [gpu for gpu in of_vendor if gpu.minor in held]
            if not (unnamed and own):
                lines.append((vendor.value, _names(own, of_vendor)))
    return tuple(sorted(lines))


def _names(own: Sequence[Device], of_vendor: Sequence[Device]) -> str:
    """Return the GPUs' names as a list: ids if each has an id of its own, else minors."""
    if not own:
        return NO_GPU
    ids = [gpu.id for gpu in of_vendor]  # partitions of a GPU may share its id
    by_id = all(gpu_has_runtime_readable_id(gpu) and ids.count(gpu.id) == 1 for gpu in own)
    return ",".join(gpu.id if by_id else str(gpu.minor) for gpu in own)


def gpu_minors_named_by_variable(value: str, gpus: Sequence[Device]) -> frozenset[int] | None:
    """Return the minors of the GPUs that a variable's value shows, or None if one is not known.

    A MIG instance belongs to its GPU: ``MIG-GPU-...`` and ``0:1`` name that GPU, too.

    Args:
        value: A list of UUIDs, minors and ranges of minors; or a word.
        gpus: The GPUs of the node.

    """
    if value in _SHOW_NONE:
        return frozenset()
    if value == _SHOW_ALL:
        return frozenset(gpu.minor for gpu in gpus)
    found: set[int] = set()
    for name in value.split(","):
        named = _gpus_of(name.strip(), gpus)
        if not named:
            return None
        found |= named
    return frozenset(found)


def _gpus_of(name: str, gpus: Sequence[Device]) -> frozenset[int]:
    """Return the minors of the GPUs that one name in a list means; none if it is not known."""
    by_id = frozenset(gpu.minor for gpu in gpus if gpu.id and gpu.id == name)
    if by_id:
        return by_id
    if match := _MIG_OF_GPU.fullmatch(name):
        return frozenset(gpu.minor for gpu in gpus if gpu.id == match[1])
    if match := _MINORS.fullmatch(name):
        first = int(match[1])
        last = first if match[2] is None else int(match[2])
        known = {gpu.minor for gpu in gpus}
        wanted = frozenset(minor for minor in known if first <= minor <= last)
        return wanted if len(wanted) == last - first + 1 else frozenset()
    return frozenset()
