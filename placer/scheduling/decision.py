"""What the Scheduler is asked, what it decides, and what a call has changed."""

from dataclasses import dataclass

from placer.judge.misfits import Misfit
from placer_models.cluster import Instance
from placer_models.placement import (
    Answer,
    PartlyPlaced,
    Placed,
    Placement,
    PodPlacement,
)
from placer_models.pod import Gang, GangGroup, Pod
from placer_models.typed import check_types


@dataclass(frozen=True, slots=True)
class Batch:
    """What wants a place together.

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
                    f"Batch: gangs[{i}] is the pod {one.title!r}; give it a gang of its own by "
                    "lone_gang(pod)"
                )
        check_types(self)


@dataclass(frozen=True, slots=True)
class Change:
    """What a call has changed.

    Attributes:
        version: Of the state after the call; the one before it, if nothing changed.
        followers: Where LS and BE pods that ran before run now, if their pool is
            another one since the call (C7).
        misfits: Pods that no longer fit a node that was updated; they keep their places.
        laid_anew: Pods of a confirmed decision that got another place on its node than it
            says: the very CPUs, devices or bytes were gone.

    """

    version: int
    followers: tuple[PodPlacement, ...] = ()
    misfits: tuple[Misfit, ...] = ()
    laid_anew: tuple[PodPlacement, ...] = ()


@dataclass(frozen=True, slots=True)
class Decision:
    """Who of a batch runs where, decided on one version of the state.

    Attributes:
        answer: The outcome, with tiers, bounds and reasons.
        version: Of the state that it was decided on.
        change: What taking it has changed; None: nothing is taken yet.

    """

    batch: Batch
    answer: Answer
    version: int
    change: Change | None = None

    @property
    def placement(self) -> Placement:
        """The places that are given; empty if there are none."""
        if isinstance(self.answer, Placed | PartlyPlaced):
            return self.answer.placement
        return Placement()


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The whole state at one moment.

    Attributes:
        instance: The nodes, ascending by name, and what runs; nothing waits.
        version: Counts the calls that changed something.

    """

    instance: Instance
    version: int


def lone_gang(pod: Pod, *, priority: int = 0, weight: int = 1) -> Gang:
    """Return the gang of one that stands for a pod without a gang."""
    return Gang(
        name=pod.name,
        namespace=pod.namespace,
        pods=(pod,),
        minimum=1,
        priority=priority,
        weight=weight,
        lone=True,
    )
