"""Which of NVIDIA's GPUs are ill, as far as NVML says (the extra ``placer[nvidia]``)."""

from placer.node.discover.nvml import NoNvmlError, read_nvml


class GpuHealth:
    """Asks NVML; GPUs that it has told of before and tells of no more are ill, too."""

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def __call__(self) -> dict[str, str]:
        """Return the UUID of each GPU that is ill, and what it has."""
        try:
            gpus = read_nvml()
        except NoNvmlError:
            gpus = ()
        healthy = {gpu.uuid for gpu in gpus if gpu.healthy}
        told = {gpu.uuid for gpu in gpus}
        ill = dict.fromkeys(told - healthy, "the driver calls it unhealthy")
        ill |= dict.fromkeys(self._seen - told, "the driver does not know it any more")
        self._seen |= told
        return ill
