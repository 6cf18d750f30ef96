"""The schemas of plans: the question as people write it, and the answer as programs read it."""

from typing import Annotated, Literal

from placer_models.files.part import Amount, Field, Name, Part, PlacerFileMetadataPart
from placer_models.instance.fields import Priority
from placer_models.instance.placement_file import PlacementFile
from placer_models.instance.schema import (
    OTHER_SPELLINGS,
    SHORT_FORMS,
    UNSUPPORTED,
    GangPart,
    InstanceNodePart,
    WaitingPodPart,
)

Number = Annotated[int, Field(ge=1, le=1_000_000)]


MOST_MORE = 1_000_000
"""So many more pods like one may be asked for."""


class OfferPart(InstanceNodePart):
    """A node that can be bought, as often as needed; its name is the offer's."""

    machine: str = Field(
        "", description="A machine of the catalogue or of `machines`, or the path of its file."
    )
    like: str | None = Field(
        None,
        description="A node that is there, in place of a machine: another one like it.",
    )
    price: Amount = Field(description="What one node costs, in any one currency: 12.50.")
    most: Number | None = Field(
        None, alias="max", description="The most nodes that there are; without it any number."
    )
    pack_of: Number = Field(1, description="Nodes are bought in multiples of this.")


class PlanDemandGangPart(GangPart):
    """A gang that is asked for, or as many alike as there are replicas."""

    replicas: Annotated[int, Field(ge=1)] | None = None


class PlanDemandPart(Part):
    """What is to be placed, beside what waits in the instance."""

    pods: tuple[WaitingPodPart, ...] = ()
    gangs: tuple[PlanDemandGangPart, ...] = ()
    more: dict[str, Annotated[int, Field(ge=1, le=MOST_MORE)]] = Field(
        default_factory=dict,
        description="So many more pods like one of the instance, or gangs like one: {ml/web: 9}.",
    )


class ScenarioPart(Part):
    """A time that may come: so many times what is asked for, rounded up, and other changes."""

    name: str
    scale: Amount = Field("1", description="How many times as much of everything: 1.5.")
    pods: dict[str, Amount] = Field(
        default_factory=dict,
        description="How many times as much of single pods or gangs instead: {web: 3}.",
    )
    changes: tuple[str, ...] = Field(
        (),
        description="Changes made before that, as --what-if of solve takes them, and "
        "reprice=OFFER:PRICE and maxOf=OFFER:COUNT.",
    )


class SurvivePart(Part):
    """What may be lost without a pod losing its place for good."""

    nodes: Annotated[int, Field(ge=1, le=100)] | None = Field(
        None, description="Any one node: 1; a plan looks at no more."
    )
    domain: str | None = Field(
        None, description="Domains: a label of nodes, or a level of the network."
    )
    count: Annotated[int, Field(ge=1, le=100)] = Field(
        1, description="How many domains are lost at once."
    )
    priority: Priority | None = Field(
        None, description="Pods and gangs that wait with less than this need no place then."
    )


class PlanFile(Part):
    """One document of ``kind: Plan``."""

    other_spellings = OTHER_SPELLINGS | {"count": "replicas", "maximum": "max", "cost": "price"}
    unsupported = UNSUPPORTED
    short_forms = SHORT_FORMS

    api_version: Literal["placer/v1"]
    kind: Literal["Plan"]
    metadata: PlacerFileMetadataPart = PlacerFileMetadataPart()
    currency: str = Field("", description="What prices are in; it is only shown.")
    offers: tuple[OfferPart, ...]
    demand: PlanDemandPart = PlanDemandPart()
    scenarios: tuple[ScenarioPart, ...] = Field(
        (), description="What is bought has to do for each; without any, for what is asked for."
    )
    survive: SurvivePart | None = Field(
        None, description="What may be lost, in each scenario, without a pod without a place."
    )
    headroom: tuple[WaitingPodPart, ...] = Field(
        (), description="Pods for which there has to be room besides, as long as nothing is lost."
    )


class PurchaseEntry(Part):
    """Nodes of one offer."""

    offer: Name
    count: int
    price: str


class OfferResourceUseEntry(Part):
    """How much of a resource is in use."""

    resource: str
    percent: float


class OfferBindingResourceEntry(Part):
    """What the price of an offer is paid for."""

    offer: Name
    resource: str | None
    percent: float
    uses: tuple[OfferResourceUseEntry, ...]


class PlanExcludingOfferEntry(Part):
    """What a plan without one of the offers costs."""

    without: Name
    price: str | None
    mix: tuple[dict[str, str | int], ...]


class ScenarioUnderLossEntry(Part):
    """A scenario, as it comes or after a loss, and how much it asks for."""

    name: str
    lost: str | None
    pods: int


class PlanPodWithoutPlaceEntry(Part):
    """A pod without a place; without a name it is any, as any node may be lost."""

    name: str
    reasons: tuple[str, ...] = ()
    count: int | None = None
    case: str | None = None


class QuestionChangeEntry(Part):
    """A change of the question with which there would be a plan, or a node for a pod."""

    changes: tuple[str, ...]
    alike: int
    price: str | None
    smallest: bool


class PlanAnswerFile(Part):
    """One document of ``kind: PlanAnswer``; prices are decimals, written as text."""

    api_version: Literal["placer/v1"]
    kind: Literal["PlanAnswer"]
    status: Literal["bought", "infeasible", "gave-up"]
    currency: str
    price: str | None
    bound: str | None
    gap_percent: float | None
    proven: bool
    mix: tuple[PurchaseEntry, ...]
    binding: tuple[OfferBindingResourceEntry, ...]
    runners_up: tuple[PlanExcludingOfferEntry, ...]
    scenarios: tuple[ScenarioUnderLossEntry, ...]
    relaxed: tuple[str, ...]
    unplaced: tuple[PlanPodWithoutPlaceEntry, ...]
    mends: tuple[QuestionChangeEntry, ...]
    looked_for: tuple[str, ...]
    placements: tuple[PlacementFile, ...]


class PlanAnswersFile(Part):
    """One document of ``kind: PlanAnswers``: a mix for each scenario by itself."""

    api_version: Literal["placer/v1"]
    kind: Literal["PlanAnswers"]
    answers: tuple[PlanAnswerFile, ...]


class FitBlockerEntry(Part):
    """Nodes of one kind on which the next pod is stopped by the same."""

    machine: str
    nodes: tuple[Name, ...]
    count: int
    rule: str | None
    reason: str


class FitCountEntry(Part):
    """How many further pods fit, as it is or with changes."""

    changes: tuple[str, ...]
    count: int
    bound: int
    proven: bool
    classes: tuple[FitBlockerEntry, ...]
    placement: PlacementFile


class FitAnswerFile(Part):
    """One document of ``kind: FitAnswer``; the first step is the cluster as it is."""

    api_version: Literal["placer/v1"]
    kind: Literal["FitAnswer"]
    pod: Name
    namespace: Name
    waiting: int
    steps: tuple[FitCountEntry, ...]


class LossPurchaseEntry(Part):
    """What of the offers mends a loss; without a price nothing was found that does."""

    price: str | None
    bound: str | None
    mix: tuple[PurchaseEntry, ...]


class LossOutcomeEntry(Part):
    """What becomes of a loss."""

    name: str
    nodes: tuple[Name, ...]
    alike: tuple[str, ...]
    pods: int
    survives: bool
    proven: bool
    moves: int
    unplaced: tuple[PlanPodWithoutPlaceEntry, ...]
    mend: LossPurchaseEntry | None
    placement: PlacementFile


class SurvivalAnswerFile(Part):
    """One document of ``kind: SurvivalAnswer``; losses stand worst first.

    ``unmended`` says of how many of them nobody looked for a mend, though there are offers: the
    time was over.
    """

    api_version: Literal["placer/v1"]
    kind: Literal["SurvivalAnswer"]
    survives: bool
    tried: int
    choices: int
    unmended: int
    move_budget: int
    outside: tuple[Name, ...]
    currency: str
    losses: tuple[LossOutcomeEntry, ...]


class OfferCountEntry(Part):
    """Nodes of one offer."""

    offer: Name
    count: int


class GrowthStepBindingResourceEntry(Part):
    """The resource that most of an offer's price is paid for."""

    offer: Name
    resource: str | None


class GrowthStepEntry(Part):
    """What to buy for so many times the demand; without a price there is no plan."""

    scale: str
    case: str = Field(description="Which of several questions was scaled; empty for one alone.")
    pods: int
    price: str | None
    bound: str | None
    gap_percent: float | None
    nodes: int
    mix: tuple[OfferCountEntry, ...]
    binds: tuple[GrowthStepBindingResourceEntry, ...]
    reason: str = Field(description="Why there is no plan; else empty.")


class GrowthRangeWithSameBindingEntry(Part):
    """Sizes of the demand for which the same binds."""

    first: str = Field(alias="from")
    last: str = Field(alias="to")
    binds: tuple[GrowthStepBindingResourceEntry, ...]


class UnsolvedGrowthStepEntry(Part):
    """A step that was not solved, because the sweep was ended."""

    scale: str
    case: str


class PlanGrowthFile(Part):
    """One document of ``kind: PlanGrowth``; prices and scales are decimals, written as text."""

    api_version: Literal["placer/v1"]
    kind: Literal["PlanGrowth"]
    currency: str
    enough_up_to: str | None = Field(description="Up to this scale nothing has to be bought.")
    bought_from: str | None = Field(description="At this scale something has to be bought.")
    steps: tuple[GrowthStepEntry, ...]
    stretches: tuple[GrowthRangeWithSameBindingEntry, ...]
    missing: tuple[UnsolvedGrowthStepEntry, ...]
