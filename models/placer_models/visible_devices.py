"""Variables that tell a container's runtime which GPUs to show (D13).

NVIDIA's and AMD's container runtimes each read one. Both take ``none`` for no GPU at all; what
they do where the variable is not set is up to the image, and many images say ``all``.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from enum import StrEnum

from placer_models.device import Device

Env = tuple[tuple[str, str], ...]
"""(Variable, value), ascending by variable."""

NO_GPU = "none"
"""The value that shows no GPU."""


class GpuVendor(StrEnum):
    """Whose container runtime shows a GPU. The value is its variable."""

    NVIDIA = "NVIDIA_VISIBLE_DEVICES"
    AMD = "AMD_VISIBLE_DEVICES"


_AMD_MODELS = ("MI", "Instinct", "Radeon", "Vega", "gfx")
"""How the names of AMD's GPU models begin."""

_AMD_ID = re.compile(r"0[xX][0-9a-fA-F]+|[0-9a-fA-F]{9,}")
"""The ids that AMD's runtime tells from indices and ranges."""


def vendor_of(gpu: Device) -> GpuVendor:
    """Return whose runtime shows the GPU; NVIDIA's, where the model does not say."""
    return GpuVendor.AMD if gpu.model.startswith(_AMD_MODELS) else GpuVendor.NVIDIA


def has_readable_id(gpu: Device) -> bool:
    """Return whether the GPU has an id that its runtime can read."""
    if vendor_of(gpu) is GpuVendor.AMD:
        return _AMD_ID.fullmatch(gpu.id) is not None
    return gpu.id != ""


def gpu_environment(held: Collection[int], gpus: Sequence[Device], *, has_instances: bool) -> Env:
    """Name a container's GPUs to each vendor of which the node has some.

    A MIG instance has no name before it is cut: its container's variable is left to whoever
    cuts it.

    Args:
        held: Minors of the GPUs that the container has.
        gpus: Those of the node.
        has_instances: Whether the container has MIG instances besides.

    """
    by_vendor: defaultdict[GpuVendor, list[Device]] = defaultdict(list)
    for gpu in gpus:
        by_vendor[vendor_of(gpu)].append(gpu)
    lines = []
    for vendor, of_vendor in by_vendor.items():
        if not (has_instances and vendor is GpuVendor.NVIDIA):
            own = [gpu for gpu in of_vendor if gpu.minor in held]
            lines.append((vendor.value, _names(own, of_vendor)))
    return tuple(sorted(lines))


def _names(own: Sequence[Device], of_vendor: Sequence[Device]) -> str:
    """Name GPUs by id where each has one of its own, else by minor."""
    if not own:
        return NO_GPU
    sharing = Counter(gpu.id for gpu in of_vendor)  # partitions of a GPU may have its id
    by_id = all(has_readable_id(gpu) and sharing[gpu.id] == 1 for gpu in own)
    return ",".join(gpu.id if by_id else str(gpu.minor) for gpu in own)
