"""The nodes empty, beside what runs, and beside what is placed: what keeps a pod off each."""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from placer.search.budget import Budget
from placer.search.reasons.blocking import blocker_of
from placer.search.reasons.order import Blocker
from placer.search.reasons.question import Crowd, Question
from placer.state.account import Account, account_of, alike_when_idle
from placer_models.cluster import Instance, Node, RunningPod
from placer_models.placement import Placement
from placer_models.pod import PodSpec, pods_of
from placer_models.problem import Problem


class When(Enum):
    """From when on a pod has no place."""

    EMPTY = "on empty nodes"
    RUNNING = "beside what runs"
    PLACED = "beside what is placed"


@dataclass(frozen=True, eq=False, slots=True)
class Ask:
    """What pods that are alike ask for. Compared by identity."""

    spec: PodSpec
    namespace: str
    levels: tuple[str, ...]


@dataclass(slots=True)
class Stage:
    """The nodes at one stage, and what is known of them.

    Attributes:
        running: Node -> what runs there.
        account_at: What is left on a node.
        alike: Equal of nodes that are alike at this stage.
        crowd: As of a Question.
        before: Who has no place on a node at that stage has none at this one.

    """

    when: When
    nodes: Sequence[Node]
    running: Mapping[str, Sequence[RunningPod]]
    account_at: Callable[[int], Account]
    alike: Callable[[int], Hashable]
    budget: Budget
    crowd: Crowd | None = None
    before: "Stage | None" = None
    _known: dict[tuple[Ask, Hashable], Blocker | None] = field(default_factory=dict)

    def blocker(self, ask: Ask, index: int) -> Blocker | None:
        """Return why pods that are alike have no place on a node; None: they have one.

        Raises:
            OutOfTimeError: It cannot be known in time.

        """
        if self.before and (found := self.before.blocker(ask, index)):
            return found
        key = ask, self.alike(index)
        if key not in self._known:
            node = self.nodes[index]
            asked = Question(
                ask.spec,
                ask.namespace,
                ask.levels,
                node,
                tuple(self.running.get(node.name, ())),
                self.crowd,
            )
            self._known[key] = blocker_of(asked, self.account_at(index), self.budget)
        return self._known[key]

    def blockers(
        self, ask: Ask, barred: Callable[[Node], Blocker | None] | None = None
    ) -> Counter[Blocker] | int:
        """Count what blocks the pod, over all nodes; or return a node where it has a place.

        Raises:
            OutOfTimeError: It cannot be known in time.

        """
        found: Counter[Blocker] = Counter()
        for index in range(len(self.nodes)):
            never = self.before.blocker(ask, index) if self.before else None
            blocker = never or (barred and barred(self.nodes[index])) or self.blocker(ask, index)
            if blocker is None:
                return index
            found[blocker] += 1
        return found


def stages_of(
    instance: Instance,
    asked: Instance,
    problem: Problem,
    accounts: Sequence[Account],
    placement: Placement,
    budget: Budget,
) -> tuple[Stage, Stage, Stage]:
    """Return the nodes empty, beside what runs, and beside what is placed as well.

    Args:
        instance: The instance.
        asked: The same, with running pods that may move among those that wait.
        problem: That in integers.
        accounts: What the running pods of the instance leave, node by node.
        placement: The answer to what was asked.
        budget: What looking may cost.

    """
    nodes = instance.nodes
    kinds = [state.kind for state in problem.nodes]
    idle: dict[Hashable, Account] = {}

    def empty(index: int) -> Account:
        alike = alike_when_idle(nodes[index])
        if alike not in idle:
            idle[alike] = account_of(nodes[index], ())
        return idle[alike]

    first = Stage(When.EMPTY, nodes, {}, empty, kinds.__getitem__, budget)
    running = _by_node(instance.running)
    # With homes the states are those of nodes that some running pods have left.
    alike = (lambda index: index) if asked.homes else problem.nodes.__getitem__
    second = Stage(
        When.RUNNING,
        nodes,
        running,
        accounts.__getitem__,
        alike,
        budget,
        Crowd(instance.running),
        first,
    )
    pods = {pod.key: pod for pod in pods_of(asked.gangs)}
    arrived = [RunningPod(pods[place.key], place) for place in placement.pods]
    everyone = [*asked.running, *arrived]
    together = _by_node(everyone)
    touched = {place.node for place in (*placement.pods, *asked.homes)}
    after: dict[int, Account] = {}

    def left(index: int) -> Account:
        if nodes[index].name not in touched:
            return accounts[index]
        if index not in after:
            after[index] = account_of(nodes[index], together.get(nodes[index].name, ()))
        return after[index]

    third = Stage(
        When.PLACED,
        nodes,
        together,
        left,
        lambda index: index if nodes[index].name in touched else alike(index),
        budget,
        Crowd(everyone),
        first,
    )
    return first, second, third


def _by_node(running: Sequence[RunningPod]) -> dict[str, list[RunningPod]]:
    on_node: defaultdict[str, list[RunningPod]] = defaultdict(list)
    for runner in running:
        on_node[runner.placement.node].append(runner)
    return dict(on_node)
