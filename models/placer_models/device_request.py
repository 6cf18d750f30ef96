"""Requests for devices in the names of Koordinator and Kubernetes, as words (D2 to D5)."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from enum import StrEnum

from placer_models.capacity import DeviceQuantity
from placer_models.device import GPU
from placer_models.device_share import WHOLE_PERCENT, DeviceShare
from placer_models.message_text import escaped_value_text
from placer_models.pod import DeviceRequest
from placer_models.quantity import parse_bytes, parse_milli

RDMA = "rdma"
FPGA = "fpga"

KOORD_GPU = "koordinator.sh/gpu"
GPU_SHARED = "koordinator.sh/gpu.shared"
GPU_CORE = "koordinator.sh/gpu-core"
GPU_MEMORY = "koordinator.sh/gpu-memory"
GPU_MEMORY_RATIO = "koordinator.sh/gpu-memory-ratio"
KOORD_RDMA = "koordinator.sh/rdma"
KOORD_FPGA = "koordinator.sh/fpga"
NPU_CORE = "huawei.com/npu-core"
NPU_CPU = "huawei.com/npu-cpu"
NPU_DVPP = "huawei.com/npu-dvpp"

WHOLE_GPUS = (GPU, "nvidia.com/gpu", "amd.com/gpu", "dcu.com/gpu")
"""Resource names that count whole GPUs."""

OTHER_SPELLINGS: Mapping[str, str] = {
    # The names in Koordinator's proposal, which it still reads.
    "kubernetes.io/gpu": KOORD_GPU,
    "kubernetes.io/gpu-core": GPU_CORE,
    "kubernetes.io/gpu-memory": GPU_MEMORY,
    "kubernetes.io/gpu-memory-ratio": GPU_MEMORY_RATIO,
    "kubernetes.io/gpu-mem": GPU_MEMORY,
    "kubernetes.io/gpu-mem-ratio": GPU_MEMORY_RATIO,
    "kubernetes.io/rdma": KOORD_RDMA,
    "kubernetes.io/fpga": KOORD_FPGA,
    # Without the domain, for people. `gpu` is left out: it counts GPUs; KOORD_GPU is in percent.
    "gpu-core": GPU_CORE,
    "gpu-memory": GPU_MEMORY,
    "gpu-memory-ratio": GPU_MEMORY_RATIO,
    "gpu.shared": GPU_SHARED,
}
"""Name as it may be written -> the current name."""

PERCENT_TYPES: Mapping[str, str] = {KOORD_RDMA: RDMA, KOORD_FPGA: FPGA}
"""Name that asks for percent of a device other than a GPU -> the type of the device."""

MAX_DEVICES = 10_000
"""The most devices of a type that may be asked for."""

GPU_COMBINATIONS = frozenset(
    frozenset(names)
    for names in (
        *((name,) for name in WHOLE_GPUS),
        (KOORD_GPU,),
        (GPU_MEMORY,),
        (GPU_MEMORY_RATIO,),
        (GPU_CORE, GPU_MEMORY),
        (GPU_CORE, GPU_MEMORY_RATIO),
        (NPU_CORE, GPU_MEMORY_RATIO),
        (GPU_SHARED, GPU_MEMORY),
        (GPU_SHARED, GPU_MEMORY_RATIO),
        (GPU_SHARED, GPU_CORE, GPU_MEMORY),
        (GPU_SHARED, GPU_CORE, GPU_MEMORY_RATIO),
        (GPU_SHARED, GPU_MEMORY, NPU_CORE, NPU_CPU),
        (GPU_SHARED, GPU_MEMORY, NPU_CORE, NPU_CPU, NPU_DVPP),
    )
)
"""Sets of names that may stand together; the names of a request for GPUs are one of these sets."""

_GPU_NAMES = frozenset(name for names in GPU_COMBINATIONS for name in names)

DEVICE_RESOURCES = _GPU_NAMES | PERCENT_TYPES.keys()
"""All names but those that simply count devices of the type of that name, GPUs excepted."""

_COUNT_NAMES = (*WHOLE_GPUS, GPU_SHARED)
_PERCENT_NAMES = (KOORD_GPU, GPU_CORE, GPU_MEMORY_RATIO, KOORD_RDMA, KOORD_FPGA)
_OUR_DOMAINS = ("koordinator.sh/", "kubernetes.io/")
_OUR_NAMES = sorted(n for n in (*_GPU_NAMES, *PERCENT_TYPES) if n.startswith(_OUR_DOMAINS))
_TYPE_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._/-]{0,251}[A-Za-z0-9])?")
_OF_THE_NODE = re.compile(
    r"cpu|memory|storage|ephemeral-storage|pods|(?:hugepages|attachable-volumes)-.*"
    r"|(?:koordinator\.sh|kubernetes\.io)/(?:batch|mid)-(?:cpu|memory)"
)


class DeviceRequestRuleName(StrEnum):
    """The rules for requests; each value is the rule's name on its page."""

    ASKED = "device-asked"
    NAME = "device-name"
    AMOUNT = "device-amount"
    ONCE = "device-once"
    COMBINATION = "device-combination"
    WHOLE = "device-whole"
    SPLIT = "device-split"
    NPU = "device-npu"
    MATCH = "device-match"


class DeviceRequestError(ValueError):
    """A request for devices that breaks a rule. ``str()`` is the whole message.

    Attributes:
        rule: The rule that the request breaks.

    """

    def __init__(self, rule: DeviceRequestRuleName, message: str) -> None:
        super().__init__(f"{rule}: {message}")
        self.rule = rule


def devices_asked(requests: Mapping[str, str | float]) -> tuple[DeviceRequest, ...]:
    """Return what a pod asks of each device type, ascending by type.

    Each request has a share, as it is asked for, also where that is a whole device.

    Args:
        requests: The pod's resource requests. Resources of the node, such as cpu and
            memory, are ignored, and so is an amount of 0.

    Raises:
        DeviceRequestError: The request breaks a rule, or asks for no device.

    """
    amounts = without_gpu_shorthands(checked_device_request_amounts(requests))
    demands = [_gpus(amounts)] if not _GPU_NAMES.isdisjoint(amounts) else []
    for name, amount in amounts.items():
        if name in PERCENT_TYPES:
            demands.append(_by_percent(PERCENT_TYPES[name], amount))
        elif name not in _GPU_NAMES:
            demands.append(DeviceRequest(name, amount, DeviceShare(percent=WHOLE_PERCENT)))
    return tuple(sorted(demands, key=lambda demand: demand.type))


def without_share_if_whole(request: DeviceRequest) -> DeviceRequest:
    """Return a translated request as specs have it: one for whole devices has no share."""
    whole = request.share is not None and request.share.whole
    return replace(request, share=None) if whole else request


def checked_device_request_amounts(requests: Mapping[str, str | float]) -> dict[str, int]:
    """Return the amounts asked for, by current name: bytes, percent or counts.

    Raises:
        DeviceRequestError: The request breaks a rule, or asks for no device.

    """
    amounts = _amounts(requests)
    if not amounts:
        raise DeviceRequestError(
            DeviceRequestRuleName.ASKED,
            "the request names no device; ask for one, such as nvidia.com/gpu: 1",
        )
    _known_combination(amounts)
    _whole_above_one(amounts)
    if GPU_SHARED in amounts:
        _even_split(amounts)
        _one_npu(amounts)
    return amounts


def without_gpu_shorthands(amounts: Mapping[str, int]) -> dict[str, int]:
    """Return amounts with the shorthands for GPUs written out as compute and memory (D3)."""
    converted: dict[str, int] = {}
    for name, amount in amounts.items():
        if name in WHOLE_GPUS or name == KOORD_GPU:
            percent = amount if name == KOORD_GPU else amount * WHOLE_PERCENT
            converted[GPU_CORE] = converted[GPU_MEMORY_RATIO] = percent
        else:
            converted[name] = amount
    return converted


def undo_request_translation(amounts: Mapping[str, int]) -> dict[str, int]:
    """Return what a scheduler translated a request to, as it may be asked for (D3).

    The proposal's scheduler writes compute, percent of memory and the bytes of that percent on
    the GPU that it has chosen; the bytes are left out, because the percent is exact.
    """
    found = dict(amounts)
    if {GPU_CORE, GPU_MEMORY_RATIO} <= found.keys():
        found.pop(GPU_MEMORY, None)
    return found


def _amounts(requests: Mapping[str, str | float]) -> dict[str, int]:
    amounts: dict[str, int] = {}
    for written, quantity in requests.items():
        name = OTHER_SPELLINGS.get(written, written)
        if _OF_THE_NODE.fullmatch(name):
            continue
        _known_name(name)
        amount = _amount(name, quantity)
        if amount and name in amounts:
            raise DeviceRequestError(
                DeviceRequestRuleName.ONCE,
                f"{name} is asked for twice, in two spellings; keep one of them",
            )
        if amount:
            amounts[name] = amount
    for name, kind in PERCENT_TYPES.items():
        if name in amounts and kind in amounts:
            raise DeviceRequestError(
                DeviceRequestRuleName.ONCE,
                f"{kind} counts devices and {name} is in percent; keep one of them",
            )
    return amounts


def _known_name(name: str) -> None:
    if name.startswith(_OUR_DOMAINS) and name not in _OUR_NAMES:
        known = ", ".join(_OUR_NAMES)
        raise DeviceRequestError(
            DeviceRequestRuleName.NAME,
            f"{escaped_value_text(name)} is no device resource; known are {known}",
        )
    if not _TYPE_NAME.fullmatch(name):
        raise DeviceRequestError(
            DeviceRequestRuleName.NAME,
            f"{escaped_value_text(name)} is no resource; write a name such as nvidia.com/gpu",
        )


def _amount(name: str, quantity: str | float) -> int:
    try:
        if name == GPU_MEMORY:
            return parse_bytes(quantity)
        amount = parse_whole(quantity)
    except ValueError as error:
        raise DeviceRequestError(DeviceRequestRuleName.AMOUNT, f"{name}: {error}") from None
    is_count = name in _COUNT_NAMES or name not in (*_GPU_NAMES, *PERCENT_TYPES)
    most = MAX_DEVICES if is_count else MAX_DEVICES * WHOLE_PERCENT
    if amount > most:
        raise DeviceRequestError(
            DeviceRequestRuleName.AMOUNT,
            f"{name}: got {escaped_value_text(quantity)}; expected up to {most:,}",
        )
    return amount


def _known_combination(amounts: Mapping[str, int]) -> None:
    names = _GPU_NAMES & amounts.keys()
    if not names or names in GPU_COMBINATIONS:
        return
    near = min(GPU_COMBINATIONS, key=lambda other: (len(other ^ names), len(other), sorted(other)))
    mends = [f"leave out {_listed(names - near)}"] if names - near else []
    mends += [f"add {_listed(near - names)}"] if near - names else []
    raise DeviceRequestError(
        DeviceRequestRuleName.COMBINATION,
        f"{_listed(names)} cannot be asked "
        f"for {'together' if len(names) > 1 else 'alone'}; {' and '.join(mends)}",
    )


def _whole_above_one(amounts: Mapping[str, int]) -> None:
    for name in _PERCENT_NAMES:
        if name in _GPU_NAMES and GPU_SHARED in amounts:
            continue  # This is the sum over several GPUs, which _even_split checks.
        amount = amounts.get(name, 0)
        if amount > WHOLE_PERCENT and amount % WHOLE_PERCENT:
            below = amount - amount % WHOLE_PERCENT
            raise DeviceRequestError(
                DeviceRequestRuleName.WHOLE,
                f"{name}: {amount} percent is more than one device, but not whole devices; "
                f"ask for up to 100, for {below} or for {below + WHOLE_PERCENT}",
            )


def _even_split(amounts: Mapping[str, int]) -> None:
    count = amounts[GPU_SHARED]
    for name in (GPU_CORE, GPU_MEMORY_RATIO):
        amount = amounts.get(name, 0)
        if amount % count or amount > count * WHOLE_PERCENT:
            raise DeviceRequestError(
                DeviceRequestRuleName.SPLIT,
                f"{name}: {amount} percent over {count} GPUs ({GPU_SHARED}); ask for a multiple "
                f"of {count}, up to {count * WHOLE_PERCENT}",
            )


def _one_npu(amounts: Mapping[str, int]) -> None:
    for name, most in ((GPU_SHARED, 1), (NPU_DVPP, WHOLE_PERCENT)):
        amount = amounts.get(name, 0)
        if NPU_CORE in amounts and amount > most:
            raise DeviceRequestError(
                DeviceRequestRuleName.NPU,
                f"{name}: got {amount}; expected {most} at most beside {NPU_CORE}",
            )


def _gpus(amounts: Mapping[str, int]) -> DeviceRequest:
    count = amounts.get(GPU_SHARED, 0)
    if not count:
        # Memory in bytes does not say how many GPUs are meant; the compute does.
        percent = amounts.get(GPU_MEMORY_RATIO, amounts.get(GPU_CORE, 0))
        count = max(1, percent // WHOLE_PERCENT)
    each = {name: amount // count for name, amount in amounts.items() if name in _GPU_NAMES}
    each.pop(GPU_SHARED, None)
    share = DeviceShare(
        percent=each.pop(GPU_CORE, None),
        memory_bytes=each.pop(GPU_MEMORY, None),
        memory_percent=each.pop(GPU_MEMORY_RATIO, None),
        capacity=tuple(DeviceQuantity(name, each[name]) for name in sorted(each) if each[name]),
    )
    return DeviceRequest(GPU, count, share)


def _by_percent(kind: str, percent: int) -> DeviceRequest:
    count = max(1, percent // WHOLE_PERCENT)
    return DeviceRequest(kind, count, DeviceShare(percent=percent // count))


def _listed(names: Iterable[str]) -> str:
    return " and ".join(sorted(names))


def parse_whole(quantity: str | float) -> int:
    """Read an amount that is a whole number, such as percent or a count.

    Raises:
        ValueError: The text is no amount, or it is negative, not whole, or absurdly large.

    """
    milli = parse_milli(quantity)
    if milli % 1000:
        raise ValueError(f"{escaped_value_text(quantity)} is not a whole number; round it")
    return milli // 1000
