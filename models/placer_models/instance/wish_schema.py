"""The schema of what pods wish or demand of their CPUs, devices and neighbours."""

from enum import StrEnum
from typing import Annotated, ClassVar, Self

from pydantic import BeforeValidator, ConfigDict, Field, model_validator

from placer_models.affinity import InNodeAffinityLevel
from placer_models.files.part import Part
from placer_models.host_ports import ANY_IP, MOST_PORT, HostPort, PortProtocol
from placer_models.instance.fields import (
    Count,
    OneOrSeveral,
    PodBindPolicy,
    PodExclusivePolicy,
    as_tuple,
)
from placer_models.node_affinity import NodeTerm
from placer_models.policy import MOST_WEIGHT, JointDevicesScope
from placer_models.selectors import COMPARING, LabelExpression, SelectorOperator
from placer_models.taints import TaintEffect, Toleration, TolerationOperator


class RequiredOrPreferredPart(Part):
    """What is required, what is preferred, or both.

    Attributes:
        expected: What to write, for the message if none is given or too many.
        at_most: How many of the two may be given.

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


class BindPolicyPart(RequiredOrPreferredPart):
    """A bind policy and its strength: one of the two is given."""

    model_config = ONE_STRENGTH

    at_most = 1
    expected = "one policy with its strength, such as 'required: FullPCPUs'"

    preferred: PodBindPolicy | None = None
    required: PodBindPolicy | None = None


class JointDevicesPart(Part):
    """Devices of several types side by side; without a scope SamePCIe is a wish."""

    model_config = ConfigDict(json_schema_extra={"maxProperties": 2})

    device_types: tuple[str, ...] = Field(min_length=2)
    required_scope: JointDevicesScope | None = None
    preferred_scope: JointDevicesScope | None = None

    @model_validator(mode="after")
    def _one_scope_at_most(self) -> Self:
        if self.required_scope and self.preferred_scope:
            raise ValueError("expected requiredScope or preferredScope, not both")
        return self


OneOf = Annotated[
    tuple[str, ...],
    Field(min_length=1),
    BeforeValidator(
        as_tuple,
        json_schema_input_type=str | Annotated[tuple[str, ...], Field(min_length=1)],
    ),
]
"""``general`` or ``[general, storage]``: one of these values."""


def _wished(value: object) -> object:
    return {"preferred": value} if isinstance(value, str) else value


Bind = Annotated[
    BindPolicyPart, BeforeValidator(_wished, json_schema_input_type=PodBindPolicy | BindPolicyPart)
]
"""``FullPCPUs`` alone is a wish; ``{required: FullPCPUs}`` is a demand."""


class ExclusivePolicyPart(RequiredOrPreferredPart):
    """An exclusive policy and its strength: one of the two is given."""

    model_config = ONE_STRENGTH

    at_most = 1
    expected = "one policy with its strength, such as 'required: PCPULevel'"

    preferred: PodExclusivePolicy | None = None
    required: PodExclusivePolicy | None = None


ExclusiveWish = Annotated[
    ExclusivePolicyPart,
    BeforeValidator(_wished, json_schema_input_type=PodExclusivePolicy | ExclusivePolicyPart),
]
"""As for the bind policy: ``PCPULevel`` alone is a wish."""


class LabelExpressionPart(Part):
    """A condition on one label."""

    key: str
    operator: SelectorOperator
    values: OneOf | None = None

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        label_expression_of(self)
        return self


class PodLabelExpressionPart(LabelExpressionPart):
    """A condition on one label of pods."""

    @model_validator(mode="after")
    def _compares_no_numbers(self) -> Self:
        if self.operator in COMPARING:
            raise ValueError(f"got {self.operator}, which is for labels of nodes; write In")
        return self


def label_expression_of(part: LabelExpressionPart) -> LabelExpression:
    """Return what one label must say."""
    return LabelExpression(part.key, part.operator, tuple(sorted({*(part.values or ())})))


class PodSelectorPart(Part):
    """Labels that pods have; ``matchLabels: {}`` matches every pod."""

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [{"required": ["matchLabels"]}, {"required": ["matchExpressions"]}]
        }
    )

    match_labels: dict[str, str] | None = None
    match_expressions: OneOrSeveral[PodLabelExpressionPart] = ()

    @model_validator(mode="after")
    def _is_given(self) -> Self:
        if self.match_labels is None and not self.match_expressions:
            raise ValueError(
                "expected labels, such as 'matchLabels: {app: web}'; '{}' are every pod's"
            )
        return self

    @property
    def labels(self) -> tuple[tuple[str, str], ...]:
        """Labels that a pod must have, ascending."""
        return tuple(sorted((self.match_labels or {}).items()))

    @property
    def expressions(self) -> tuple[LabelExpression, ...]:
        """Further conditions on the pod's labels."""
        return tuple(map(label_expression_of, self.match_expressions))


class WhenUnsatisfiable(StrEnum):
    """Whether a spread constraint is a demand or a wish."""

    DO_NOT_SCHEDULE = "DoNotSchedule"
    SCHEDULE_ANYWAY = "ScheduleAnyway"


class NodeInclusionPolicy(StrEnum):
    """Whether it limits the nodes that are looked at."""

    HONOR = "Honor"
    IGNORE = "Ignore"


class TopologySpreadPart(Part):
    """How evenly pods with such labels are to be over domains of nodes."""

    topology_key: str
    label_selector: PodSelectorPart
    max_skew: Count = 1
    when_unsatisfiable: WhenUnsatisfiable = WhenUnsatisfiable.DO_NOT_SCHEDULE
    min_domains: Count = 1
    node_affinity_policy: NodeInclusionPolicy = NodeInclusionPolicy.HONOR
    node_taints_policy: NodeInclusionPolicy = NodeInclusionPolicy.IGNORE

    @model_validator(mode="after")
    def _is_one_or_the_other(self) -> Self:
        if self.min_domains > 1 and self.when_unsatisfiable is WhenUnsatisfiable.SCHEDULE_ANYWAY:
            raise ValueError("got minDomains with ScheduleAnyway; it goes with DoNotSchedule only")
        return self


class PodAffinityTermPart(PodSelectorPart):
    """Pods that have these labels, and what being together with them means."""

    level: InNodeAffinityLevel = InNodeAffinityLevel.NODE
    topology_key: str = ""
    namespaces: OneOf | None = None

    @model_validator(mode="after")
    def _is_inside_or_beyond(self) -> Self:
        if self.topology_key and self.level is not InNodeAffinityLevel.NODE:
            raise ValueError(
                f"got topologyKey {self.topology_key!r} and level {self.level}, which is inside "
                "a node; give one of them"
            )
        return self


class PreferredPodAffinityTermPart(PodAffinityTermPart):
    """Pods that a pod would like to be with, or apart from, and how much."""

    weight: Annotated[int, Field(ge=1, le=MOST_WEIGHT)] = 1


class PodAffinityPart(RequiredOrPreferredPart):
    """Pods to be with, or apart from, as a demand or a wish."""

    expected = "terms, such as 'required: {matchLabels: {app: web}}'"

    required: OneOrSeveral[PodAffinityTermPart] = ()
    preferred: OneOrSeveral[PreferredPodAffinityTermPart] = ()


class NodeTermPart(Part):
    """Conditions on a node, all of which it must meet."""

    match_expressions: OneOrSeveral[LabelExpressionPart] = ()
    match_fields: OneOrSeveral[LabelExpressionPart] = ()

    @model_validator(mode="after")
    def _is_a_term(self) -> Self:
        _ = self.term  # making it refuses what is none
        return self

    @property
    def term(self) -> NodeTerm:
        """The term."""
        return NodeTerm(
            tuple(map(label_expression_of, self.match_expressions)),
            tuple(map(label_expression_of, self.match_fields)),
        )


class PreferredNodeTermPart(NodeTermPart):
    """What a pod would like of its node, and how much."""

    weight: Annotated[int, Field(ge=1, le=MOST_WEIGHT)]


class NodeAffinityPart(RequiredOrPreferredPart):
    """What a pod asks of its node, or would like; meeting one of the required terms is enough."""

    expected = "terms, such as 'required: {matchExpressions: {key: zone, operator: Exists}}'"

    required: OneOrSeveral[NodeTermPart] = ()
    preferred: OneOrSeveral[PreferredNodeTermPart] = ()


class TaintPart(Part):
    """A taint of a node: it keeps off pods that do not tolerate it."""

    key: Annotated[str, Field(min_length=1)]
    value: str = ""
    effect: TaintEffect


class TolerationPart(Part):
    """Taints that a pod tolerates; for how long it tolerates them plays no part here."""

    key: str = ""
    operator: TolerationOperator = TolerationOperator.EQUAL
    value: str = ""
    effect: TaintEffect | None = None
    toleration_seconds: int | None = None

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        _ = self.toleration  # making it refuses what is none
        return self

    @property
    def toleration(self) -> Toleration:
        """The toleration."""
        return Toleration(self.key, self.operator, self.value, self.effect)


class HostPortPart(Part):
    """A port of the node, on one of its addresses or on all of them."""

    port: int = Field(ge=1, le=MOST_PORT)
    protocol: PortProtocol = PortProtocol.TCP
    host_ip: str = Field(ANY_IP, alias="hostIP", description="An address of the node.")

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        _ = self.host_port  # making it refuses what is none
        return self

    @property
    def host_port(self) -> HostPort:
        """The port."""
        return HostPort(self.port, self.protocol, self.host_ip)
