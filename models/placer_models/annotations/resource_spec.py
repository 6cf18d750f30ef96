"""``resource-spec``: what a user asks of the CPUs of a pod (C8, C9, C14)."""

from dataclasses import dataclass
from enum import StrEnum

from placer_models.annotations.json_parts import LocatedJsonValue, parse_located_json
from placer_models.annotations.names import RESOURCE_SPEC
from placer_models.files.cursor import Word
from placer_models.policy import RequiredOrPreferred


class CpuBindPolicy(StrEnum):
    """The bind policies that the annotation knows (C8); see BindPolicy for those we solve."""

    DEFAULT = "Default"
    FULL_PCPUS = "FullPCPUs"
    SPREAD_BY_PCPUS = "SpreadByPCPUs"
    CONSTRAINED_BURST = "ConstrainedBurst"
    """An LS pod stays in the shared pool of NUMA nodes that can hold its limit."""


class CpuExclusivePolicy(StrEnum):
    """How far a pod wants to be apart from pods of the same policy (C9)."""

    DEFAULT = "Default"
    """As the scheduler is set up."""

    NONE = "None"
    """Not at all."""

    PCPU_LEVEL = "PCPULevel"
    """Not on the same core."""

    NUMA_NODE_LEVEL = "NUMANodeLevel"
    """Not on the same NUMA node; if there is no such node left, not on the same core."""


@dataclass(frozen=True, slots=True)
class ResourceSpecAnnotation:
    """What the annotation asks for; None where it says nothing."""

    required_bind: CpuBindPolicy | None = None
    preferred_bind: CpuBindPolicy | None = None
    required_exclusive: CpuExclusivePolicy | None = None
    preferred_exclusive: CpuExclusivePolicy | None = None

    @property
    def bind(self) -> tuple[CpuBindPolicy, RequiredOrPreferred]:
        """The bind policy and its strength: required takes precedence over preferred."""
        strength = (
            RequiredOrPreferred.PREFERRED
            if self.required_bind is None
            else RequiredOrPreferred.REQUIRED
        )
        return self.required_bind or self.preferred_bind or CpuBindPolicy.DEFAULT, strength


_FIELDS = (
    "requiredCPUBindPolicy",
    "preferredCPUBindPolicy",
    "requiredCPUExclusivePolicy",
    "preferredCPUExclusivePolicy",
)


def read_resource_spec_annotation(text: str) -> ResourceSpecAnnotation:
    """Read the annotation; an empty policy counts as left out.

    A field that is not known is refused: what a user asks for is never passed over.

    Raises:
        AnnotationError: The text is not such a document; the message has the JSON path.

    """
    fields = parse_located_json(text, RESOURCE_SPEC).fields(_FIELDS, strict=True)
    required_bind, preferred_bind, required_exclusive, preferred_exclusive = map(
        fields.get, _FIELDS
    )
    return ResourceSpecAnnotation(
        required_bind=_policy(required_bind, CpuBindPolicy),
        preferred_bind=_policy(preferred_bind, CpuBindPolicy),
        required_exclusive=_policy(required_exclusive, CpuExclusivePolicy),
        preferred_exclusive=_policy(preferred_exclusive, CpuExclusivePolicy),
    )


def _policy(part: LocatedJsonValue | None, policies: type[Word]) -> Word | None:
    return part.word(policies) if part and part.value != "" else None
