"""Requests and limits of containers in files, read into exact amounts, and written."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from placer_models.device import GPU, is_mig_instance
from placer_models.device import INSTANCE_PREFIX as MIG
from placer_models.device_request import (
    DEVICE_RESOURCES,
    FPGA,
    GPU_MEMORY,
    MAX_DEVICES,
    RDMA,
    WHOLE_GPUS,
    parse_whole,
)
from placer_models.files.faults import DocumentLocation
from placer_models.files.part import Json
from placer_models.instance.device_shares import (
    current_share_resource_name,
    device_requests_for_amounts,
    merged_device_requests,
    read_shares_field,
    share_to_dict,
)
from placer_models.instance.hugepages import (
    PREFIX,
    hugepages_asked,
    hugepages_resource_name,
    parse_hugepages_request_bytes,
    parse_page_size,
)
from placer_models.instance.schema import DeviceSharePart
from placer_models.legal_shares import SharedQuantityUnits
from placer_models.limits import ContainerLimits
from placer_models.message_text import in_quotes, spelling_suggestion
from placer_models.mig import mig_device_types
from placer_models.pod import Container, DeviceRequest, Resources
from placer_models.quantity import format_bytes, parse_bytes, parse_milli

_RESOURCE = re.compile(
    r"""(?P<npu>huawei\.com/npu-(?:core|cpu|dvpp))
    |(?P<overcommitted>(?:kubernetes\.io/)?(?:batch|mid)-(?:cpu|memory))
    |(?P<storage>ephemeral-storage)""",
    re.VERBOSE,
)
_RESOURCE_REASONS = {
    "npu": "ask for GPUs by percent or memory, or for whole devices of a type",
    "overcommitted": "ask for cpu and memory",
    "storage": "leave it out",
}


def why_resource_is_refused(name: str) -> str | None:
    """Return why a known resource is refused, or None if the name is not that of one."""
    match = _RESOURCE.fullmatch(name)
    if match is None or match.lastgroup is None:
        return None
    return f"'{name}' is not supported yet: {_RESOURCE_REASONS[match.lastgroup]}"


CPU = "cpu"
MEMORY = "memory"
PIDS = "pids"
SWAP = "swap"

MAX_CPU_MILLI = 1_000_000_000
MAX_MEMORY_BYTES = 2**50
MAX_EXTENDED = 2**50
MAX_PIDS = 2**22
"""Linux gives out no more process ids."""

_SHARE_DOMAINS = ("koordinator.sh/", "kubernetes.io/")
"""Prefixes under which only shares have names."""

_NVIDIA_INSTANCE = f"nvidia.com/{MIG}"

_LIMITS_ONLY = frozenset({PIDS, SWAP})
"""What has a limit and no request."""

_NO_PROFILE = ("mig", "nvidia.com/mig")

_NEGATIVE = re.compile(r"-[0-9.]+[A-Za-z]*")
_WHOLE = re.compile(r"[0-9]{1,9}")
_PART_OF_A_GPU = re.compile(r"[0-9]*\.[0-9]+|[0-9]+m")
_TYPE_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._/-]{0,251}[A-Za-z0-9])?")


class InstanceRequestsReader:
    """Reads requests and limits.

    Args:
        shared_units: Types of devices that the machines have, and what they share.
        extended: Names of the resources that nodes have as plain amounts.

    """

    def __init__(self, shared_units: SharedQuantityUnits, extended: Collection[str]) -> None:
        self._shared_units = shared_units
        self._types = frozenset(shared_units)
        self._extended = frozenset(extended)

    def read(
        self,
        requests: Mapping[str, str],
        limits: Mapping[str, str],
        shares: Sequence[DeviceSharePart],
        place: DocumentLocation,
    ) -> tuple[Resources, ContainerLimits]:
        """Return what is asked for, and the limits.

        As in Kubernetes, a limit without a request is the request, a limit is never
        below its request, and devices are asked for and limited alike.
        """
        for name in _LIMITS_ONLY & requests.keys():
            message = f"there is no request of {name}; move it to limits"
            place.at("requests", name).fault(message)
        asked = self._amounts(_without_limits_only(requests), place.at("requests"))
        capped = self._amounts(_without_limits_only(limits), place.at("limits"))
        for name, cap in capped.items():
            want = asked.setdefault(name, cap)
            if want > cap or (want != cap and name not in (CPU, MEMORY)):
                allowed = "at least" if name in (CPU, MEMORY) else "equal to"
                place.at("limits", _written(name, limits)).fault(
                    f"got {in_quotes(limits[_written(name, limits)])}; "
                    f"expected a limit {allowed} the request "
                    f"({requests[_written(name, requests)]})",
                    illegal=True,
                )
        self._check_shares(shares, place.at("shares"))
        extended = tuple(
            (name, amount)
            for name in sorted(asked.keys() & self._extended)
            if (amount := asked.pop(name))
        )
        resources = Resources(
            cpu_milli=asked.pop(CPU, 0),
            memory_bytes=asked.pop(MEMORY, 0),
            hugepages=hugepages_asked(
                {name: asked.pop(name) for name in list(asked) if name.startswith(PREFIX)}
            ),
            devices=merged_device_requests(
                [
                    *self._devices(asked, place.at("requests")),
                    *read_shares_field(shares, self._shared_units, place.at("shares")),
                ]
            ),
            extended=extended,
        )
        pids = self._pids(limits, place.at("limits", PIDS))
        swap = self._swap(limits, place.at("limits", SWAP))
        return resources, ContainerLimits(capped.get(CPU), capped.get(MEMORY), pids, swap)

    def _pids(self, limits: Mapping[str, str], place: DocumentLocation) -> int | None:
        text = limits.get(PIDS)
        if text is None or (_WHOLE.fullmatch(text) and 1 <= int(text) <= MAX_PIDS):
            return None if text is None else int(text)
        place.fault(f"got {in_quotes(text)}; expected 1 to {MAX_PIDS:,} processes", illegal=True)
        return None

    def _swap(self, limits: Mapping[str, str], place: DocumentLocation) -> int | None:
        if SWAP not in limits:
            return None
        if MEMORY not in limits:
            place.fault("is beside the memory; give limits.memory, too", illegal=True)
            return None
        return place.parsed(parse_memory_bytes, limits[SWAP], None)

    def _check_shares(self, shares: Sequence[DeviceSharePart], place: DocumentLocation) -> None:
        """Refuse shares of what is not a device type, or is one under another name."""
        for i, part in enumerate(shares):
            if part.type in self._types | {GPU}:
                continue
            # A type that no machine has is a legal wish; a slip of the pen is not.
            hint = spelling_suggestion(part.type, {GPU, *self._types}, cutoff=0.75)
            if part.type in WHOLE_GPUS or hint:
                why = f"no machine has a device type {in_quotes(part.type)}"
                problem = f"{why}{hint or f'; write {GPU}'}"
            elif part.type in (CPU, MEMORY) or is_mig_instance(part.type):
                problem = f"there are no shares of {in_quotes(part.type)}; ask for it in requests"
            elif not _TYPE_NAME.fullmatch(part.type):
                problem = f"{in_quotes(part.type)} is no device type; expected such as {GPU}"
            else:
                continue
            place.at(i, "type").fault(problem)

    def _devices(self, asked: Mapping[str, int], place: DocumentLocation) -> list[DeviceRequest]:
        """Return what is asked of devices, by count, by percent or by memory."""
        if not any(current_share_resource_name(name) for name in asked):
            return [DeviceRequest(t, n) for t, n in sorted(asked.items()) if n > 0]
        together = {
            name: n
            for name, n in asked.items()
            if current_share_resource_name(name) or name in (GPU, RDMA, FPGA)
        }
        others = [
            DeviceRequest(t, n) for t, n in sorted(asked.items()) if n > 0 and t not in together
        ]
        return [*others, *device_requests_for_amounts(together, place)]

    def _amounts(self, written: Mapping[str, str], place: DocumentLocation) -> dict[str, int]:
        amounts: dict[str, int] = {}
        for key, text in written.items():
            name = _name(key)
            problems = list(self._refusals(name, text, amounts))
            for problem in problems:
                place.at(key).fault(problem)
            if problems:
                continue
            try:
                extended = name in self._extended
                amounts[name] = parse_extended_amount(text) if extended else _amount(name, text)
            except ValueError as error:
                place.at(key).fault(str(error))
        return amounts

    def _refusals(self, name: str, text: str, amounts: Mapping[str, int]) -> Iterator[str]:
        """Yield why a resource is refused by its name; at most one reason."""
        if reason := why_resource_is_refused(name):
            yield reason
        elif name == GPU and _PART_OF_A_GPU.fullmatch(text):
            yield (
                f"got {in_quotes(text)}; expected a whole number of GPUs: a part of one is asked "
                "for in percent, such as koordinator.sh/gpu: 50"
            )
        elif name in amounts:
            names = ", ".join(WHOLE_GPUS)
            yield (
                f"GPUs are asked for twice; keep one of {names}"
                if name == GPU
                else f"{name} is asked for twice, in two spellings; keep one"
            )
        elif name.startswith(PREFIX):
            return  # what is wrong with its size is said with its amount
        elif current_share_resource_name(name):
            return
        elif is_mig_instance(name) and name not in mig_device_types():
            hint = spelling_suggestion(name, sorted(mig_device_types()))
            yield f"no GPU has the MIG profile {in_quotes(name)}{hint}"
        elif name not in (CPU, MEMORY, GPU) and name not in self._types | self._extended:
            # A type that no machine has is a legal wish; a slip of the pen is not.
            hint = spelling_suggestion(name, (CPU, MEMORY, GPU), cutoff=0.75) or _other_gpu(name)
            if name in _NO_PROFILE:
                yield f"{in_quotes(name)} is no resource; name a profile, such as {MIG}1g.5gb"
            elif name.startswith(_SHARE_DOMAINS):
                hint = spelling_suggestion(name, DEVICE_RESOURCES, cutoff=0.75)
                yield f"{in_quotes(name)} is no resource{hint} (rule device-name)"
            elif hint:
                yield f"no machine has a device type {in_quotes(name)}{hint}"
            elif not _TYPE_NAME.fullmatch(name):
                yield f"{in_quotes(name)} is no resource; expected cpu, memory or a device type"


def _other_gpu(name: str) -> str:
    """Return a hint if a name nearly spells the GPUs of a vendor, such as ``nvidia.com/gpus``."""
    domain, slash, kind = name.partition("/")
    if slash and f"{domain}/{GPU}" in WHOLE_GPUS and spelling_suggestion(kind, (GPU,), cutoff=0.75):
        return f"; did you mean '{domain}/{GPU}'?"
    return ""


def check_extended_name(name: str) -> None:
    """Refuse what cannot be the name of an extended resource.

    Raises:
        ValueError: It is not such a name, or means something else already.

    """
    if reason := why_resource_is_refused(name):
        raise ValueError(reason)
    if (
        name in (CPU, MEMORY, *WHOLE_GPUS)
        or name.startswith(PREFIX)
        or current_share_resource_name(name)
    ):
        raise ValueError(f"{in_quotes(name)} is what a machine has; take another name")
    if is_mig_instance(device_type_of_written_name(name)):
        raise ValueError(
            f"{in_quotes(name)} is cut out of a GPU; say by 'mig' which are in MIG mode"
        )
    if not _TYPE_NAME.fullmatch(name):
        raise ValueError(
            f"{in_quotes(name)} is no name of a resource; expected such as example.com/licences"
        )


def _without_limits_only(amounts: Mapping[str, str]) -> Mapping[str, str]:
    return {name: text for name, text in amounts.items() if name not in _LIMITS_ONLY}


def parse_extended_amount(text: str) -> int:
    """Return the amount of an extended resource; it may be written as ``2k`` or ``4Gi``.

    Raises:
        ValueError: It is no amount, or too large.

    """
    try:
        amount = parse_bytes(text)
    except ValueError:
        _refuse_negative(text)
        raise ValueError(
            f"got {in_quotes(text)}; expected a whole amount, such as 8 or 2k"
        ) from None
    return _at_most(amount, MAX_EXTENDED, text, "1Pi")


def device_type_of_written_name(written: str) -> str:
    """Return the device type that a file means by this name."""
    if written in WHOLE_GPUS:
        return GPU
    return written.removeprefix("nvidia.com/") if written.startswith(_NVIDIA_INSTANCE) else written


def parse_cpu_milli(text: str) -> int:
    """Return an amount of CPUs that files may name.

    Raises:
        ValueError: It is none, or more than anyone has.

    """
    return _at_most(parse_milli(text), MAX_CPU_MILLI, text, "1,000,000 CPUs")


def parse_memory_bytes(text: str) -> int:
    """Return an amount of memory that files may name.

    Raises:
        ValueError: It is none, or more than anyone has.

    """
    return _at_most(parse_bytes(text), MAX_MEMORY_BYTES, text, "1Pi")


def _amount(name: str, text: str) -> int:
    if name == CPU:
        return parse_cpu_milli(text)
    if name == GPU_MEMORY:
        return parse_bytes(text)
    if current_share_resource_name(name):
        return parse_whole(text)
    if name == MEMORY:
        return parse_memory_bytes(text)
    if name.startswith(PREFIX):
        return _at_most(parse_hugepages_request_bytes(name, text), MAX_MEMORY_BYTES, text, "1Pi")
    if not _WHOLE.fullmatch(text):
        _refuse_negative(text)
        raise ValueError(
            f"got {in_quotes(text)}; expected a whole number of devices of type {in_quotes(name)} "
            "(cpu, memory and gpu are the other resources)"
            if name != GPU
            else f"got {in_quotes(text)}; expected a whole number of GPUs"
        )
    return _at_most(int(text), MAX_DEVICES, text, f"{MAX_DEVICES:,}")


def _refuse_negative(text: str) -> None:
    if _NEGATIVE.fullmatch(text):
        raise ValueError(f"{in_quotes(text)} is negative; an amount is 0 or more")


def _at_most(amount: int, limit: int, text: str, limit_text: str) -> int:
    if amount > limit:
        raise ValueError(f"got {in_quotes(text)}; expected {limit_text} at most")
    return amount


def _written(name: str, amounts: Mapping[str, str]) -> str:
    """Return the key under which the resource was written."""
    return next(key for key in amounts if _name(key) == name)


def _name(key: str) -> str:
    """Return the one name of a resource that may be spelt in several ways."""
    if key in WHOLE_GPUS or key.startswith(_NVIDIA_INSTANCE):
        return device_type_of_written_name(key)
    if key.startswith(PREFIX):
        try:
            return hugepages_resource_name(parse_page_size(key.removeprefix(PREFIX)))
        except ValueError:
            return key  # its amount is refused
    return current_share_resource_name(key) or key


def requests_to_dict(container: Container, limits: ContainerLimits) -> Json:
    """Return what a file says of a container's requests, limits and shares."""
    cpu_milli = container.cpu_limit_milli if limits.cpu_milli is None else limits.cpu_milli
    capped: Json = {
        CPU: None if cpu_milli is None else _cpus(cpu_milli),
        MEMORY: None if limits.memory_bytes is None else format_bytes(limits.memory_bytes),
        PIDS: limits.pids,
        SWAP: None if limits.swap_bytes is None else format_bytes(limits.swap_bytes),
    }
    capped = {name: amount for name, amount in capped.items() if amount is not None}
    requests = container.requests
    # A request of 0 is written where there is a limit, which would be the request otherwise.
    asked: Json = {name: 0 for name in (CPU, MEMORY) if name in capped}
    asked.update({CPU: _cpus(requests.cpu_milli)} if requests.cpu_milli else {})
    asked.update({MEMORY: format_bytes(requests.memory_bytes)} if requests.memory_bytes else {})
    for pages in requests.hugepages:
        asked[hugepages_resource_name(pages.page_bytes)] = format_bytes(
            pages.page_bytes * pages.count
        )
    asked.update({d.type: d.count for d in requests.devices if d.share is None})
    asked.update(requests.extended)
    shares = [share_to_dict(request) for request in requests.devices if request.share]
    return {"requests": asked, "limits": capped, "shares": shares}


def _cpus(milli: int) -> int | str:
    return f"{milli}m" if milli % 1000 else milli // 1000
