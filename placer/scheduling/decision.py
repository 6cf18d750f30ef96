"""Decisions of the Scheduler: the batch it is asked about, the answer, and the change."""

from dataclasses import dataclass, field

from placer.judge.misfits import Misfit
from placer.scheduling.expectation import NOTHING_EXPECTED, Expectation
from placer_models.cluster import Instance
from placer_models.demand import ExpectedDemand
from placer_models.placement import Answer, Move, PartlyPlaced, Placed, Placement, PodPlacement
from placer_models.pod import Gang, GangGroup, Pod
from placer_models.typed import TypeChecked, check_field_types, suggest_argument_names


@suggest_argument_names
@dataclass(frozen=True, slots=True)
class Batch:
    """The gangs that are placed together in one call.

    Attributes:
        gangs: Keys of gangs and of pods are unique; a pod without a gang stands in a
            gang of its own (``lone_gang``).
        groups: Each names gangs of this batch.

    """

    gangs: tuple[Gang, ...]
    groups: tuple[GangGroup, ...] = ()

    def __post_init__(self) -> None:
        for i, one in enumerate(self.gangs if isinstance(self.gangs, tuple) else ()):
            if isinstance(one, Pod):
                raise TypeError(
                    f"Batch: gangs[{i}] is the pod {one.title!r}; "
                    "give it a gang of its own by lone_gang(pod)"
                )
        check_field_types(self)


@dataclass(frozen=True, slots=True)
class ClusterChange(TypeChecked):
    """The change that a call has made.

    Attributes:
        version: The version of the state after the call; unchanged if nothing changed.
        followers: The new places of LS and BE pods that ran before, if the call has changed
            their pool (C7).
        misfits: Pods that no longer fit a node that was updated; they keep their places.
        laid_anew: Pods of a confirmed decision that got another place on the same node,
            because the very CPUs, devices or bytes were gone.
        moved: The running pods that have got other places, as the decision says. They left before
            anybody came.

    """

    version: int
    followers: tuple[PodPlacement, ...] = ()
    misfits: tuple[Misfit, ...] = ()
    laid_anew: tuple[PodPlacement, ...] = ()
    moved: tuple[Move, ...] = ()


@dataclass(frozen=True, slots=True)
class Decision(TypeChecked):
    """Where the pods of a batch run, decided on one version of the state.

    Attributes:
        answer: The outcome, with tiers, bounds and reasons.
        version: The version of the state that it was decided on.
        change: The change that taking it has made; None if it is not taken yet.
        demand: The pods that were expected when the last pod came, with prices: by these its tier
            ``expected`` is measured. Where pods are placed in turn, earlier ones of the batch
            were placed by the demand and the prices that held when they came. None under another
            strategy.

    """

    batch: Batch
    answer: Answer
    version: int
    change: ClusterChange | None = None
    demand: ExpectedDemand | None = None

    @property
    def moves(self) -> tuple[Move, ...]:
        """The running pods that get other places, in an order in which each finds its own free.

        They leave before the pods of the batch come.
        """
        return self.answer.moves if isinstance(self.answer, Placed | PartlyPlaced) else ()

    @property
    def placement(self) -> Placement:
        """The places that the answer gives, to running pods that move too; empty if none."""
        if isinstance(self.answer, Placed | PartlyPlaced):
            return self.answer.placement
        return Placement()


@dataclass(frozen=True, slots=True)
class SchedulerSnapshot(TypeChecked):
    """The whole state at one moment.

    Attributes:
        instance: The nodes, ascending by name, and what runs; nothing waits.
        version: Counts the calls that changed something.
        expectation: What the Scheduler expects, and has learned, also in dry runs. Snapshots are
            compared by the cluster alone.

    """

    instance: Instance
    version: int
    expectation: Expectation = field(default=NOTHING_EXPECTED, compare=False)
