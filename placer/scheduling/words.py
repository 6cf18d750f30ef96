"""What goes into the Scheduler, and what comes out of it."""

from dataclasses import dataclass

from placer.judge.breaches import Breach
from placer_models.cluster import Instance
from placer_models.placement import Answer, PartlyPlaced, Placed, Placement, PodPlacement
from placer_models.pod import Gang, GangGroup, Pod
from placer_models.typed import check_types

Key = tuple[str, str]
"""Namespace and name."""


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
class Misfit:
    """A running pod that could not come to where it is, if it came now.

    Attributes:
        rule: The rule that it would break, as in docs/rules.md.
        message: What is wrong and what is allowed, in one line.

    """

    pod: Key
    node: str
    rule: str
    message: str


@dataclass(frozen=True, slots=True)
class Change:
    """What a call has changed.

    Attributes:
        version: Of the state after the call; the one before it, if nothing changed.
        followers: Where LS and BE pods that ran before run now, if their pool is
            another one since the call (C7).
        misfits: Pods that no longer fit a node that was updated; they keep their places.

    """

    version: int
    followers: tuple[PodPlacement, ...] = ()
    misfits: tuple[Misfit, ...] = ()


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
class Refusal:
    """A decision that does not hold any more (B16). Nothing was taken.

    Attributes:
        stale: Nodes it touches that changed after its version, or are gone.
        running: Its pods that run already.
        breaches: What the judge finds, where nothing is stale: the decision was not
            made by this Scheduler.

    """

    stale: tuple[str, ...] = ()
    running: tuple[Key, ...] = ()
    breaches: tuple[Breach, ...] = ()

    @property
    def message(self) -> str:
        """The reasons in one line."""
        parts = []
        if self.stale:
            parts.append(f"changed since the decision, or gone: nodes {', '.join(self.stale)}")
        if self.running:
            parts.append(f"running already: pods {titles(self.running)}")
        parts += [f"{breach.rule}: {breach.message}" for breach in self.breaches]
        return "; ".join(parts) + "; place the batch again"


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


def titles(keys: tuple[Key, ...]) -> str:
    """Return pods for a message: the first few, and how many more there are."""
    shown = [name if namespace == "default" else f"{namespace}/{name}" for namespace, name in keys]
    more = f" and {len(shown) - 5} more" if len(shown) > 5 else ""
    return ", ".join(shown[:5]) + more
