"""Refusal of a decision that no longer holds: resources that are gone, pods without a place."""

from dataclasses import dataclass

from placer.judge.breaches import Breach
from placer.search.reasons.devices import asked_device_share_text
from placer_models.device_share import DeviceShare
from placer_models.placement import NamespacedName, Unplaced, pod_or_gang_title
from placer_models.quantity import format_bytes


@dataclass(frozen=True, slots=True)
class DecisionResourceShortage:
    """A resource of which a node has less left than a decision asks of it.

    Attributes:
        node: The name of the node.
        resource: ``node`` if the node itself is gone, else a class as in docs/quota.md:
            ``cpu`` or ``cpu.best-effort`` (thousandths), ``memory`` (bytes), ``hugepages-2Mi``
            (pages), an extended resource (its units), or a device type (devices).
        asked: How much of it the decision asks for.
        left: How much of it is left; for devices, how many could give what is asked of each.
        share: What is asked of each device; None: the whole device.

    """

    node: str
    resource: str
    asked: int
    left: int
    share: DeviceShare | None = None

    @property
    def message(self) -> str:
        """What is gone, in a few words for people."""
        if self.resource == "node":
            return f"node {self.node} is gone"
        what = (
            f"{asked_device_share_text(self.share)} of {self.resource}"
            if self.share
            else self.resource
        )
        asked, left = self._amount(self.asked), self._amount(self.left)
        return f"node {self.node}: {what}: {asked} asked, {left} left"

    def _amount(self, amount: int) -> str:
        if self.resource in ("cpu", "cpu.best-effort"):
            return f"{amount / 1000:g}"
        return format_bytes(amount) if self.resource == "memory" else str(amount)


@dataclass(frozen=True, slots=True)
class Refusal:
    """A decision that no longer holds (B16). Nothing was taken.

    Attributes:
        gone: The resources that its nodes have too little of.
        running: Those of its pods that run already.
        unplaced: Pods that no longer have a place on their node, even if there is enough of
            every resource; each with its reasons.
        undecided: Nodes where time ran out before a place was found or ruled out.
        breaches: What the judge finds wrong with the whole, if each node by itself is right.
        left_home: Running pods that were to move and are no longer where they were.

    """

    gone: tuple[DecisionResourceShortage, ...] = ()
    running: tuple[NamespacedName, ...] = ()
    unplaced: tuple[Unplaced, ...] = ()
    undecided: tuple[str, ...] = ()
    breaches: tuple[Breach, ...] = ()
    left_home: tuple[NamespacedName, ...] = ()

    @property
    def message(self) -> str:
        """The reasons in one line."""
        parts = [gone.message for gone in self.gone]
        if self.running:
            parts.append(f"running already: pods {pod_titles_text(self.running)}")
        parts += [f"pod {pod.title}: {pod.reasons[0]}" for pod in self.unplaced]
        if self.undecided:
            names = ", ".join(self.undecided)
            parts.append(f"no place was found in time on nodes {names}")
        if self.left_home:
            parts.append(
                f"no longer where they were to move from: pods {pod_titles_text(self.left_home)}"
            )
        parts += [f"{breach.rule}: {breach.message}" for breach in self.breaches]
        return "; ".join(parts) + "; place the batch again"


def pod_titles_text(keys: tuple[NamespacedName, ...]) -> str:
    """Return pods as text for a message: the first few, and how many more there are."""
    shown = [pod_or_gang_title(*key) for key in keys]
    more = f" and {len(shown) - 5} more" if len(shown) > 5 else ""
    return ", ".join(shown[:5]) + more
