"""``device-allocate-hint``: how a user wants devices of a type to be chosen (D9)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import assert_never

from placer_models.annotations.json_parts import LocatedJsonValue, parse_located_json
from placer_models.annotations.names import DEVICE_ALLOCATE_HINT
from placer_models.device_request import PERCENT_TYPES, DeviceRequestError, DeviceRequestRuleName
from placer_models.device_share import WHOLE_PERCENT, DeviceShare
from placer_models.device_strategy import DeviceCountStrategy, Strategies
from placer_models.files.cursor import Word
from placer_models.pod import DeviceRequest


class AllocateHintStrategy(StrEnum):
    """How many devices a request in percent is for."""

    DEFAULT = ""
    """For one device, or for one whole device per 100 percent."""

    APPLY_FOR_ALL = "ApplyForAll"
    """For this percent of every device that the selector matches."""

    REQUESTS_AS_COUNT = "RequestsAsCount"
    """For as many devices as its number says: it is a count, not a percent."""


class DeviceExclusivePolicy(StrEnum):
    """With whom a device is shared."""

    DEFAULT = ""
    """With anyone."""

    DEVICE_LEVEL = "DeviceLevel"
    """With nobody."""

    PCIE_LEVEL = "PCIeLevel"
    """With nobody, nor are the other devices of its PCIe switch."""


class DeviceTopologyScope(StrEnum):
    """What all of a pod's devices of a type must have in common, at least."""

    DEFAULT = ""
    DEVICE = "Device"
    PCIE = "PCIe"
    NUMA_NODE = "NUMANode"
    NODE = "Node"


class DeviceLabelOperator(StrEnum):
    """The condition that a requirement puts on a label, as in Kubernetes."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"


@dataclass(frozen=True, slots=True)
class DeviceLabelRequirement:
    """One condition of a selector on a device's labels."""

    key: str
    operator: DeviceLabelOperator
    values: tuple[str, ...] = ()

    def holds(self, labels: Mapping[str, str]) -> bool:
        """Return whether the labels are as wanted; a missing label is in no set."""
        match self.operator:
            case DeviceLabelOperator.IN:
                return labels.get(self.key) in self.values
            case DeviceLabelOperator.NOT_IN:
                return labels.get(self.key) not in self.values
            case DeviceLabelOperator.EXISTS:
                return self.key in labels
            case DeviceLabelOperator.DOES_NOT_EXIST:
                return self.key not in labels
            case _:
                assert_never(self.operator)


Selector = tuple[DeviceLabelRequirement, ...]
"""All of it must hold; an empty selector matches every device."""


@dataclass(frozen=True, slots=True)
class DeviceAllocateHint:
    """What a user says about the devices of one type."""

    selector: Selector = ()
    vf_selector: Selector | None = None
    strategy: AllocateHintStrategy = AllocateHintStrategy.DEFAULT
    exclusive: DeviceExclusivePolicy = DeviceExclusivePolicy.DEFAULT
    scope: DeviceTopologyScope = DeviceTopologyScope.DEFAULT


def hint_selects_device(selector: Selector, labels: Mapping[str, str]) -> bool:
    """Return whether the selector matches a device with these labels."""
    return all(requirement.holds(labels) for requirement in selector)


def with_device_hint_applied(
    demand: DeviceRequest, hint: DeviceAllocateHint, devices: Sequence[Mapping[str, str]]
) -> DeviceRequest:
    """Return the demand on a node once the hint is applied.

    Args:
        demand: The demand as translated. One for GPUs, for devices by name or for several
            whole devices stays as it is.
        hint: The hint for the demand's type.
        devices: The labels of each device of the type on the node.

    Raises:
        DeviceRequestError: All matching devices are asked for, and none matches.

    """
    percent = demand.share.percent if demand.share else WHOLE_PERCENT
    if demand.type not in PERCENT_TYPES.values() or percent is None or demand.count > 1:
        return demand
    match hint.strategy:
        case AllocateHintStrategy.DEFAULT:
            return demand
        case AllocateHintStrategy.APPLY_FOR_ALL:
            count = sum(hint_selects_device(hint.selector, labels) for labels in devices)
            if count == 0:
                raise DeviceRequestError(
                    DeviceRequestRuleName.MATCH,
                    f"{hint.strategy}: none of the node's {len(devices)} devices of type "
                    f"{demand.type} has the labels of the selector; change the selector",
                )
            return replace(demand, count=count)
        case AllocateHintStrategy.REQUESTS_AS_COUNT:
            alone = hint.exclusive is DeviceExclusivePolicy.DEVICE_LEVEL
            return DeviceRequest(
                demand.type, percent, DeviceShare(percent=WHOLE_PERCENT if alone else 1)
            )
        case _:
            assert_never(hint.strategy)


def device_strategies_of(
    hints: Mapping[str, DeviceAllocateHint],
    demands: Sequence[DeviceRequest],
    together: Sequence[str] = (),
) -> Strategies:
    """Return the strategies that say how many devices of a type a pod has, whatever its node.

    A percent of a NIC wanted beside GPUs means that percent of one NIC per switch of the GPUs.

    Args:
        hints: Device type -> hint.
        demands: What the pod asks for, as translated.
        together: Types that it wants side by side, the leading one first.

    Raises:
        DeviceRequestError: All devices with some labels are asked for, which a pod cannot say.

    """
    asked = {demand.type for demand in demands}
    found = []
    for demand in demands:
        kind, hint = demand.type, hints.get(demand.type, DeviceAllocateHint())
        if kind not in PERCENT_TYPES.values() or demand.count > 1:
            continue
        match hint.strategy:
            case AllocateHintStrategy.APPLY_FOR_ALL:
                if hint.selector:
                    raise DeviceRequestError(
                        DeviceRequestRuleName.MATCH,
                        f"{hint.strategy} of the {kind} with some labels; give devices of "
                        "different use types of their own, and leave the selector out",
                    )
                found.append((kind, DeviceCountStrategy.APPLY_FOR_ALL))
            case AllocateHintStrategy.DEFAULT:
                if kind in together[1:] and together[0] in asked:
                    found.append((kind, DeviceCountStrategy.APPLY_FOR_EACH_GROUP))
            case AllocateHintStrategy.REQUESTS_AS_COUNT:
                pass  # a number of devices, as ``with_device_hint_applied`` says
            case _:
                assert_never(hint.strategy)
    return tuple(sorted(found))


_HINT_FIELDS = (
    "selector",
    "vfSelector",
    "allocateStrategy",
    "exclusivePolicy",
    "requiredTopologyScope",
)


def read_device_hints_annotation(text: str) -> dict[str, DeviceAllocateHint]:
    """Read the annotation: device type -> hint.

    A field that is not known is refused: what a user asks for is never passed over.

    Raises:
        AnnotationError: The text is not such a document; the message has the JSON path.

    """
    hints = {}
    for kind, part in parse_located_json(text, DEVICE_ALLOCATE_HINT).members().items():
        fields = part.fields(_HINT_FIELDS, strict=True)
        selector, vf_selector, strategy, exclusive, scope = map(fields.get, _HINT_FIELDS)
        hints[kind] = DeviceAllocateHint(
            selector=_selector(selector) if selector else (),
            vf_selector=_selector(vf_selector) if vf_selector else None,
            strategy=_word(strategy, AllocateHintStrategy),
            exclusive=_word(exclusive, DeviceExclusivePolicy),
            scope=_word(scope, DeviceTopologyScope),
        )
    return hints


def _word(part: LocatedJsonValue | None, words: type[Word]) -> Word:
    return words("") if part is None else part.word(words)


def _selector(part: LocatedJsonValue) -> Selector:
    fields = part.fields(("matchLabels", "matchExpressions"), strict=True)
    labels, expressions = fields.get("matchLabels"), fields.get("matchExpressions")
    return (
        *(
            DeviceLabelRequirement(key, DeviceLabelOperator.IN, (value.text(),))
            for key, value in (labels.members().items() if labels else ())
        ),
        *(_requirement(item) for item in (expressions.items() if expressions else ())),
    )


def _requirement(part: LocatedJsonValue) -> DeviceLabelRequirement:
    fields = part.fields(("key", "operator", "values"), strict=True)
    values = fields.get("values")
    requirement = DeviceLabelRequirement(
        key=part.need(fields, "key").text(),
        operator=part.need(fields, "operator").word(DeviceLabelOperator),
        values=tuple(value.text() for value in values.items()) if values else (),
    )
    if (requirement.operator in (DeviceLabelOperator.IN, DeviceLabelOperator.NOT_IN)) != bool(
        requirement.values
    ):
        part.refuse(
            f"{requirement.operator} has {len(requirement.values)} values; "
            "In and NotIn need some, Exists and DoesNotExist none"
        )
    return requirement
