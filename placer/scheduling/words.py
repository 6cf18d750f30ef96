"""The words of the Scheduler: what goes in, and what comes out."""

from dataclasses import dataclass

from placer.judge.breaches import Breach
from placer.judge.misfits import Misfit
from placer.search.reasons.text import share_text
from placer_models.cluster import Instance
from placer_models.device_share import DeviceShare
from placer_models.placement import (
    Answer,
    PartlyPlaced,
    Placed,
    Placement,
    PodPlacement,
    Unplaced,
    title_of,
)
from placer_models.pod import Gang, GangGroup, Pod
from placer_models.quantity import format_bytes
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
class Gone:
    """A resource of which a node has less left than a decision asks of it.

    Attributes:
        node: Where.
        resource: ``node``, where that itself is gone; else a class as in docs/quota.md:
            ``cpu`` or ``cpu.best-effort`` (thousandths), ``memory`` (bytes), ``hugepages-2Mi``
            (pages), an extended resource (its units), or a device type (devices).
        asked: How much of it is asked.
        left: How much of it is left; of devices, how many could give what is asked of each.
        share: What is asked of each device; None: all of it.

    """

    node: str
    resource: str
    asked: int
    left: int
    share: DeviceShare | None = None

    @property
    def message(self) -> str:
        """What is gone, in a few words."""
        if self.resource == "node":
            return f"node {self.node} is gone"
        what = f"{share_text(self.share)} of {self.resource}" if self.share else self.resource
        asked, left = self._amount(self.asked), self._amount(self.left)
        return f"node {self.node}: {what}: {asked} asked, {left} left"

    def _amount(self, amount: int) -> str:
        if self.resource in ("cpu", "cpu.best-effort"):
            return f"{amount / 1000:g}"
        return format_bytes(amount) if self.resource == "memory" else str(amount)


@dataclass(frozen=True, slots=True)
class Refusal:
    """A decision that does not hold any more (B16). Nothing was taken.

    Attributes:
        gone: What its nodes have too little of.
        running: Its pods that run already.
        unplaced: Pods for which there is no place on their node any more, though there
            may be enough of everything; each with its reasons.
        undecided: Nodes on which none was found, and time ran out before that was proven.
        breaches: What the judge finds of the whole, where each node for itself would do.

    """

    gone: tuple[Gone, ...] = ()
    running: tuple[Key, ...] = ()
    unplaced: tuple[Unplaced, ...] = ()
    undecided: tuple[str, ...] = ()
    breaches: tuple[Breach, ...] = ()

    @property
    def message(self) -> str:
        """The reasons in one line."""
        parts = [gone.message for gone in self.gone]
        if self.running:
            parts.append(f"running already: pods {titles(self.running)}")
        parts += [
            f"pod {titles(((pod.namespace, pod.name),))}: {pod.reasons[0]}" for pod in self.unplaced
        ]
        if self.undecided:
            names = ", ".join(self.undecided)
            parts.append(f"no place was found in time on nodes {names}")
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
    shown = [title_of(*key) for key in keys]
    more = f" and {len(shown) - 5} more" if len(shown) > 5 else ""
    return ", ".join(shown[:5]) + more
