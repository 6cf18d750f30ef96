"""The schema of what pods wish or demand of their CPUs, devices and neighbours."""

from typing import Annotated, ClassVar, Self

from pydantic import BeforeValidator, ConfigDict, Field, model_validator

from placer_models.affinity import AffinityLevel
from placer_models.files.part import Part
from placer_models.instance.fields import Exclusive, PodBind, one_or_more
from placer_models.policy import JointScope


class StrengthPart(Part):
    """What is required, what is preferred, or both.

    Attributes:
        expected: What to write, where nothing is said or too much.
        at_most: How many of the two may be said.

    """

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    expected: ClassVar[str] = ""
    at_most: ClassVar[int] = 2

    @model_validator(mode="after")
    def _is_given(self) -> Self:
        given = [name for name in type(self).model_fields if getattr(self, name)]
        if not 1 <= len(given) <= self.at_most:
            raise ValueError(f"expected {self.expected}")
        return self


ONE_STRENGTH = ConfigDict(json_schema_extra={"minProperties": 1, "maxProperties": 1})


class BindPart(StrengthPart):
    """A bind policy and its strength: one of the two is given."""

    model_config = ONE_STRENGTH

    at_most = 1
    expected = "one policy with its strength, such as 'required: FullPCPUs'"

    preferred: PodBind | None = None
    required: PodBind | None = None


class JointPart(Part):
    """Devices of several types side by side; without a scope SamePCIe is a wish."""

    model_config = ConfigDict(json_schema_extra={"maxProperties": 2})

    device_types: tuple[str, ...] = Field(min_length=2)
    required_scope: JointScope | None = None
    preferred_scope: JointScope | None = None

    @model_validator(mode="after")
    def _one_scope_at_most(self) -> Self:
        if self.required_scope and self.preferred_scope:
            raise ValueError("expected requiredScope or preferredScope, not both")
        return self


OneOf = Annotated[
    tuple[str, ...],
    Field(min_length=1),
    BeforeValidator(
        one_or_more,
        json_schema_input_type=str | Annotated[tuple[str, ...], Field(min_length=1)],
    ),
]
"""``general`` or ``[general, storage]``: one of these values."""


def _wished(value: object) -> object:
    return {"preferred": value} if isinstance(value, str) else value


Bind = Annotated[BindPart, BeforeValidator(_wished, json_schema_input_type=PodBind | BindPart)]
"""``FullPCPUs`` alone is a wish; ``{required: FullPCPUs}`` is a demand."""


class ExclusivePart(StrengthPart):
    """An exclusive policy and its strength: one of the two is given."""

    model_config = ONE_STRENGTH

    at_most = 1
    expected = "one policy with its strength, such as 'required: PCPULevel'"

    preferred: Exclusive | None = None
    required: Exclusive | None = None


ExclusiveWish = Annotated[
    ExclusivePart, BeforeValidator(_wished, json_schema_input_type=Exclusive | ExclusivePart)
]
"""As for the bind policy: ``PCPULevel`` alone is a wish."""


class AffinityTermPart(Part):
    """Pods that have these labels, and what it is to be together."""

    match_labels: dict[str, str] = Field(min_length=1)
    level: AffinityLevel = AffinityLevel.NODE


Terms = Annotated[
    tuple[AffinityTermPart, ...],
    BeforeValidator(one_or_more, json_schema_input_type=AffinityTermPart | list[AffinityTermPart]),
]
"""One term, or several."""


class AffinityPart(StrengthPart):
    """Pods to be with, or apart from, as a demand or a wish."""

    expected = "terms, such as 'required: {matchLabels: {app: web}}'"

    required: Terms = ()
    preferred: Terms = ()
