"""The schema of what pods wish or demand of their CPUs, devices and neighbours."""

from typing import Annotated, Self

from pydantic import BeforeValidator, ConfigDict, Field, model_validator

from placer_models.affinity import AffinityLevel
from placer_models.files.part import Part
from placer_models.instance.fields import Exclusive, PodBind
from placer_models.policy import JointScope


class BindPart(Part):
    """A bind policy and its strength: one of the two is given."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1, "maxProperties": 1})

    preferred: PodBind | None = None
    required: PodBind | None = None

    @model_validator(mode="after")
    def _one_is_given(self) -> Self:
        if (self.preferred is None) == (self.required is None):
            raise ValueError("expected one policy with its strength, such as 'required: FullPCPUs'")
        return self


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


def _one_of(value: object) -> object:
    if isinstance(value, list):
        return tuple(value)  # what a validator returns is no JSON any more
    return (value,) if isinstance(value, str) else value


OneOf = Annotated[
    tuple[str, ...],
    Field(min_length=1),
    BeforeValidator(
        _one_of,
        json_schema_input_type=str | Annotated[tuple[str, ...], Field(min_length=1)],
    ),
]
"""``general`` or ``[general, storage]``: one of these values."""


def _wished(value: object) -> object:
    return {"preferred": value} if isinstance(value, str) else value


Bind = Annotated[BindPart, BeforeValidator(_wished, json_schema_input_type=PodBind | BindPart)]
"""``FullPCPUs`` alone is a wish; ``{required: FullPCPUs}`` is a demand."""


class ExclusivePart(Part):
    """An exclusive policy and its strength: one of the two is given."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1, "maxProperties": 1})

    preferred: Exclusive | None = None
    required: Exclusive | None = None

    @model_validator(mode="after")
    def _one_is_given(self) -> Self:
        if (self.preferred is None) == (self.required is None):
            raise ValueError("expected one policy with its strength, such as 'required: PCPULevel'")
        return self


ExclusiveWish = Annotated[
    ExclusivePart, BeforeValidator(_wished, json_schema_input_type=Exclusive | ExclusivePart)
]
"""As for the bind policy: ``PCPULevel`` alone is a wish."""


class AffinityTermPart(Part):
    """Pods that have these labels, and what it is to be together."""

    match_labels: dict[str, str] = Field(min_length=1)
    level: AffinityLevel = AffinityLevel.NODE


def _one_term_or_more(value: object) -> object:
    if isinstance(value, dict):
        return (value,)
    return tuple(value) if isinstance(value, list) else value


Terms = Annotated[
    tuple[AffinityTermPart, ...],
    BeforeValidator(
        _one_term_or_more, json_schema_input_type=AffinityTermPart | list[AffinityTermPart]
    ),
]
"""One term, or several."""


class AffinityPart(Part):
    """Pods to be with, or apart from, as a demand or a wish."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    required: Terms = ()
    preferred: Terms = ()

    @model_validator(mode="after")
    def _one_is_given(self) -> Self:
        if not self.required and not self.preferred:
            raise ValueError("expected terms, such as 'required: {matchLabels: {app: web}}'")
        return self
