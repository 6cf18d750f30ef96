"""Types of single fields in files: what text they take, said in their own words."""

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Annotated, Any, TypeVar, get_args

from pydantic import AfterValidator, BeforeValidator, Field, GetCoreSchemaHandler, WithJsonSchema
from pydantic_core import CoreSchema

from placer_models.cpuset import MAX_CPU_ID, parse_cpu_list
from placer_models.device_request import MAX_DEVICES
from placer_models.files.part import check_name
from placer_models.message_text import in_quotes
from placer_models.policy import (
    AlignmentPolicy,
    BindPolicy,
    CpuLocalityWish,
    ExclusivePolicy,
    NodeBindPolicy,
)
from placer_models.quantity import parse_milli

T = TypeVar("T")

_RANGE = re.compile(r"([0-9]{1,6})(?:-([0-9]{1,6}))?")

_KUBELET_POLICIES = {
    "none": "None",
    "best-effort": "BestEffort",
    "restricted": "Restricted",
    "single-numa-node": "SingleNUMANode",
}
_NODE_BIND_POLICIES = {
    "PCPUOnly": "FullPCPUsOnly",
    "full-pcpus-only": "FullPCPUsOnly",
}
_LOCALITIES = {"Socket": "Package", "UncoreCache": "LLC"}
_SWITCHES = {"true": True, "false": False}


def _check_cpu_list(text: str) -> str:
    """Check a CPU list without expanding it: many long lists would take long."""
    count = 0
    for part in text.split(",") if text else ():
        match = _RANGE.fullmatch(part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if not first <= last <= MAX_CPU_ID:
            parse_cpu_list(part or ",")  # Says what is wrong with it.
        count += last - first + 1
    if count > MAX_CPU_ID + 1:
        raise ValueError(f"CPU list {in_quotes(text)}: it names CPUs over and over")
    return text


def _check_gpu_list(text: str) -> str:
    try:
        return _check_cpu_list(text)
    except ValueError:
        raise ValueError(
            f"got {in_quotes(text)}; expected the GPUs of one partition, such as '0-3' or '0,2'"
        ) from None


def _spelt(others: Mapping[str, str]) -> BeforeValidator:
    """Return a validator that takes the words of other tools for ours."""
    return BeforeValidator(lambda word: others.get(word, word) if isinstance(word, str) else word)


def _words(ours: type[StrEnum], others: Iterable[str]) -> WithJsonSchema:
    """Return the schema of our words and those of other tools."""
    return WithJsonSchema({"type": "string", "enum": [*(word.value for word in ours), *others]})


def as_tuple(value: object) -> object:
    """Return a list of parts as a tuple, and a part alone as a tuple of one."""
    if isinstance(value, str | dict):
        return (value,)
    return tuple(value) if isinstance(value, list) else value  # no JSON any more


class _OneOrSeveral:
    """Makes a field of a tuple take a part alone for a list of one, also in the schema."""

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        part = get_args(source)[0]
        takes = BeforeValidator(as_tuple, json_schema_input_type=part | source)
        return takes.__get_pydantic_core_schema__(source, handler)


OneOrSeveral = Annotated[tuple[T, ...], _OneOrSeveral()]
"""One part, or a list of them."""


CpuList = Annotated[
    str, AfterValidator(_check_cpu_list), WithJsonSchema({"type": ["string", "integer"]})
]
"""CPUs in the kernel's list format; written in quotes or not."""

GpuList = Annotated[
    str, AfterValidator(_check_gpu_list), WithJsonSchema({"type": ["string", "integer"]})
]
"""Minors of GPUs, written as CPUs are."""

Count = Annotated[int, Field(ge=1, le=1_000_000)]

DeviceCount = Annotated[int, Field(ge=1, le=MAX_DEVICES)]

MoveBudget = Annotated[int, Field(ge=0, le=1_000_000)]

Percent = Annotated[int, Field(ge=1, le=100)]

Minor = Annotated[int, Field(ge=0, le=65_535)]

Pages = dict[str, dict[str, Annotated[int, Field(ge=0, le=2**40)]]]
"""NUMA node -> page size -> how many pages."""

Priority = Annotated[int, Field(ge=-(2**31), le=2**31 - 1)]
"""As in Kubernetes: a larger one goes first."""

Alignment = Annotated[
    AlignmentPolicy, _spelt(_KUBELET_POLICIES), _words(AlignmentPolicy, _KUBELET_POLICIES)
]
"""In Kubernetes' spelling or the kubelet's (``single-numa-node``)."""


class PodBindPolicy(StrEnum):
    """The bind policies of a pod that owns CPUs, and that of pods in the shared pool."""

    DEFAULT = BindPolicy.DEFAULT.value
    FULL_PCPUS = BindPolicy.FULL_PCPUS.value
    SPREAD_BY_PCPUS = BindPolicy.SPREAD_BY_PCPUS.value
    CONSTRAINED_BURST = "ConstrainedBurst"


NodeBind = Annotated[
    NodeBindPolicy, _spelt(_NODE_BIND_POLICIES), _words(NodeBindPolicy, _NODE_BIND_POLICIES)
]
"""In Koordinator's spelling, an older one or the kubelet's (``full-pcpus-only``)."""


def _localities(value: object) -> object:
    words = value if isinstance(value, list) else [value]
    known = [_LOCALITIES.get(word, word) if isinstance(word, str) else word for word in words]
    # In whatever order they are said, it is the same wish.
    wishes = [wish.value for wish in CpuLocalityWish]
    if any(word not in wishes for word in known):
        return tuple(known)
    return tuple(wish for wish in wishes if wish in known)


_LOCALITY = {"enum": [*(wish.value for wish in CpuLocalityWish), *_LOCALITIES]}

Localities = Annotated[
    tuple[CpuLocalityWish, ...],
    BeforeValidator(_localities),
    WithJsonSchema({"anyOf": [_LOCALITY, {"type": "array", "items": _LOCALITY}]}),
]
"""One word or a list of them: ``Package`` (``Socket``), ``LLC`` (``UncoreCache``)."""

Switch = Annotated[
    bool,
    BeforeValidator(lambda value: _SWITCHES.get(value, value) if isinstance(value, str) else value),
    WithJsonSchema({"enum": [True, False, *_SWITCHES]}),
]
"""An option of the kubelet: ``true``, also in quotes, as its configuration writes it."""


class PodExclusivePolicy(StrEnum):
    """The exclusive policies of a pod that owns CPUs; ``Default``: as the scheduler is set."""

    DEFAULT = "Default"
    NONE = ExclusivePolicy.NONE.value
    PCPU_LEVEL = ExclusivePolicy.PCPU_LEVEL.value
    NUMA_NODE_LEVEL = ExclusivePolicy.NUMA_NODE_LEVEL.value


def _in_thousandths(ratio: float) -> float:
    parse_milli(ratio)
    return ratio


Amplification = Annotated[float, Field(ge=1, le=100), AfterValidator(_in_thousandths)]
"""How many CPUs each CPU counts as, in thousandths at the finest."""

Level = Annotated[str, AfterValidator(check_name)]
"""The name of a level of the network, such as ``rack``."""
