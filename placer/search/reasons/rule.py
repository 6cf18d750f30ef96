"""The record of a rule among the reasons: all that they know of what keeps one pod off one node."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from placer.counting.account import Account
from placer.search.reasons.question import PodOnNode
from placer_models.pod import PodSpec
from placer_models.reasons import RuleDemand

Said = tuple[str, Sequence[RuleDemand]]
"""The text, and the other demands that it tells already."""

PerNumaNode = tuple[int, Mapping[int | None, int]]
"""What a demand asks for, and NUMA node -> what it has left of that.

None stands for what is on no NUMA node: it may be taken along with any of them.
"""


CPU, BYTES = "milliCpu", "bytes"
"""Units of amounts that are no whole things."""


class AskedAndLeft(NamedTuple):
    """How much is asked of a node, and how much it has left, of what a demand is about.

    Attributes:
        unit: ``milliCpu``, ``bytes``, or what is counted: a type of devices, a resource.

    """

    asked: int
    left: int
    unit: str


def rule_demand_key(demand: RuleDemand, _: PodSpec) -> Hashable:
    """Tell columns of what is left apart by what the demand is about."""
    return demand.rule, demand.subject


def rule_demand_text(demand: RuleDemand, _: PodSpec) -> str:
    """Return a demand by its rule, and by what else it says of itself."""
    return " ".join(filter(None, (demand.name, demand.subject, demand.word)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasonRule:
    """One rule, as the reasons ask for it, count it, drop it and say it.

    A rule that says no more than its name is asked of nobody by itself: gangs, or pods
    elsewhere, ask it.

    Attributes:
        name: As in ``RuleDemand.rule``.
        asked: Returns what it demands of the node for the pod.
        without: Returns the question with what the demand asks for taken out. A pod that fits a
            question also fits it with less asked. What means nothing without the demand is
            dropped along with it.
        brief: What is demanded, as one part of a sentence.
        said: The sentence. None: "{name} asks {brief}".
        lacks: Whether the node cannot give it, by counting alone. True is always right; False is
            sure only where ``settles``.
        settles: Whether counting says all about the demand, beside other demands of which it
            says all.
        amounts: How much it asks for, and how much is left, where it asks for an amount.
        column: What tells a column of ``amounts`` left apart, so that asks share it; None where the
            demand does not lack exactly if more is asked than is left. It looks at the pod alone.
        needs: The rule without which a demand that counting settles means nothing; None: no rule.
        inside: Whether it says something about places inside a node, and not only about what the
            node is and who is there.
        is_amount: Whether it asks for an amount, which an alignment may ask to be near others.
        per_numa_node: What a demand asks of NUMA nodes, if its amount is simply the sum of what
            some of them have, without a look at other demands. None: it is not that simple.
        opened_by_others: Whether it can be met once more pods have come, and not before. All
            other rules only get harder.
        of_any_device: Whether it looks at devices and names no type of them.
        binds_to_numa_nodes: Whether it holds a pod to NUMA nodes, so that it may hang on guesses
            of where running pods have their memory.
        takes_memory: Whether it asks for memory, of which such guesses tell the place.

    """

    name: str
    asked: Callable[[PodOnNode], Iterable[RuleDemand]] = lambda _: ()
    without: Callable[[PodOnNode, RuleDemand], PodOnNode] = lambda asked, _: asked
    brief: Callable[[RuleDemand, PodSpec], str] = rule_demand_text
    said: Callable[[RuleDemand, Sequence[RuleDemand], PodSpec], Said] | None = None
    lacks: Callable[[RuleDemand, PodOnNode, Account], bool] = lambda *_: False
    settles: Callable[[RuleDemand, PodOnNode], bool] = lambda *_: False
    amounts: Callable[[RuleDemand, PodOnNode, Account], AskedAndLeft | None] = lambda *_: None
    column: Callable[[RuleDemand, PodSpec], Hashable] = lambda *_: None
    needs: str | None = None
    inside: bool = True
    is_amount: bool = False
    per_numa_node: Callable[[RuleDemand, PodOnNode, Account], PerNumaNode] | None = None
    opened_by_others: bool = False
    of_any_device: bool = False
    binds_to_numa_nodes: bool = False
    takes_memory: bool = False

    def tell(self, demand: RuleDemand, others: Sequence[RuleDemand], spec: PodSpec) -> Said:
        """Return the sentence about a demand of the rule, beside others that clash with it."""
        if self.said is not None:
            return self.said(demand, others, spec)
        return f"{demand.name} asks {self.brief(demand, spec)}", ()


def always_settled_by_counting(_: RuleDemand, __: PodOnNode) -> bool:
    """Say that counting says all about a demand."""
    return True


def nothing_per_numa_node(_: RuleDemand, __: PodOnNode, ___: Account) -> PerNumaNode:
    """Say that a demand asks nothing of NUMA nodes."""
    return 0, {}


def only_demands_of_rule(rule: str, demands: Iterable[RuleDemand]) -> list[RuleDemand]:
    """Return those of some demands that are of a rule."""
    return [demand for demand in demands if demand.rule == rule]


def only_demands_of_device_type(kind: str, demands: Iterable[RuleDemand]) -> list[RuleDemand]:
    """Return those of some demands that are about a type of device."""
    return [demand for demand in demands if demand.subject == kind]


def owned_cpu_count(spec: PodSpec) -> int:
    """Return how many CPUs a pod would own."""
    return spec.requests.cpu_milli // 1000
