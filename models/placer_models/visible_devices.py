"""Which variable of its environment tells a container's runtime which GPUs to show (D13).

NVIDIA's and AMD's container runtimes each read one. Both take ``none`` for no GPU at all; what
they do where the variable is not set is up to the image, and many images say ``all``.
"""

import re
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
