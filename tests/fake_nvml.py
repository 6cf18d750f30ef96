"""NVML without a GPU: a module that answers as the driver's would, in shapes of our own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace

NOT_SUPPORTED, NO_PERMISSION, NOT_LOADED, LOST = 3, 4, 9, 15
GPU, NPU, SWITCH, UNKNOWN = 0, 1, 2, 255


class NVMLError(Exception):
    """An error of NVML, with its code."""

    def __init__(self, value: int) -> None:
        super().__init__(f"error {value}")
        self.value = value


@dataclass
class FakeGpu:
    """One GPU.

    Attributes:
        links: (kind of the far end, its bus id) of each NVLink that is up.
        refuses: Function -> the code with which it fails.

    """

    bus_id: str
    minor: int
    name: str = "NVIDIA H100 80GB HBM3"
    memory_gib: int = 80
    links: Sequence[tuple[int, str]] = ()
    version: int = 6
    failed_rows: int = 0
    mig: int = 0
    near: Sequence[int] = ()
    refuses: Mapping[str, int] = field(default_factory=dict)


class FakeNvml:
    """Stands in the place of the module ``pynvml``."""

    NVMLError = NVMLError
    NVML_FEATURE_ENABLED = 1
    NVML_ERROR_GPU_IS_LOST = LOST
    NVML_ERROR_NO_PERMISSION = NO_PERMISSION
    NVML_ERROR_DRIVER_NOT_LOADED = NOT_LOADED
    NVML_ERROR_LIBRARY_NOT_FOUND = 12
    NVML_ERROR_RESET_REQUIRED = 16
    NVML_NVLINK_MAX_LINKS = 18
    NVML_NVLINK_DEVICE_TYPE_GPU = GPU
    NVML_NVLINK_DEVICE_TYPE_IBMNPU = NPU

    def __init__(self, gpus: Sequence[FakeGpu], starts: bool = True) -> None:
        self.gpus = gpus
        self.starts = starts
        self.refuses_all = 0
        self.running = 0

    def nvmlInit(self) -> None:
        if not self.starts:
            raise NVMLError(NOT_LOADED)
        if self.refuses_all:
            raise NVMLError(self.refuses_all)
        self.running += 1

    def nvmlShutdown(self) -> None:
        self.running -= 1

    def nvmlDeviceGetCount(self) -> int:
        return len(self.gpus)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> FakeGpu:
        gpu = self.gpus[index]
        self._answer(gpu, "nvmlDeviceGetHandleByIndex")
        return gpu

    def nvmlDeviceGetMinorNumber(self, gpu: FakeGpu) -> int:
        return self._answer(gpu, "nvmlDeviceGetMinorNumber", gpu.minor)

    def nvmlDeviceGetPciInfo(self, gpu: FakeGpu) -> SimpleNamespace:
        return SimpleNamespace(busId=f"0000{gpu.bus_id.upper()}".encode())

    def nvmlDeviceGetUUID(self, gpu: FakeGpu) -> str:
        return f"GPU-{gpu.bus_id[5:7]}"

    def nvmlDeviceGetName(self, gpu: FakeGpu) -> bytes:
        return gpu.name.encode()

    def nvmlDeviceGetMemoryInfo(self, gpu: FakeGpu) -> SimpleNamespace:
        self._answer(gpu, "nvmlDeviceGetMemoryInfo")
        return SimpleNamespace(total=gpu.memory_gib * 2**30)

    def nvmlDeviceGetRemappedRows(self, gpu: FakeGpu) -> tuple[int, int, int, int]:
        return (0, 0, 0, gpu.failed_rows)

    def nvmlDeviceGetMigMode(self, gpu: FakeGpu) -> tuple[int, int]:
        return (gpu.mig, gpu.mig)

    def nvmlDeviceGetMemoryAffinity(self, gpu: FakeGpu, words: int, scope: int) -> list[int]:
        return [sum(1 << node for node in gpu.near), *[0] * (words - 1)]

    def nvmlDeviceGetNvLinkState(self, gpu: FakeGpu, link: int) -> int:
        return int(link < len(gpu.links))

    def nvmlDeviceGetNvLinkRemoteDeviceType(self, gpu: FakeGpu, link: int) -> int:
        if gpu.links[link][0] == UNKNOWN:
            raise NVMLError(NOT_SUPPORTED)
        return gpu.links[link][0]

    def nvmlDeviceGetNvLinkRemotePciInfo(self, gpu: FakeGpu, link: int) -> SimpleNamespace:
        return SimpleNamespace(busId=f"0000{gpu.links[link][1]}")

    def nvmlDeviceGetNvLinkVersion(self, gpu: FakeGpu, link: int) -> int:
        return gpu.version

    def _answer(self, gpu: FakeGpu, function: str, answer: int = 0) -> int:
        if function in gpu.refuses:
            raise NVMLError(gpu.refuses[function])
        return answer
