"""Why pods were left out, so that no reason says what is not so (G7).

For each pod the first question that is answered yes gives the verdict: can no empty
node host it (never fits)? Do the running pods leave no room (not now)? Do the pods of
this answer leave none (outvoted)? Of gangs, and of gang groups, the same is asked as a
whole. Nothing is guessed: where the time is over before it is known, that is the reason.
"""

from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from placer.search.budget import Budget
from placer.search.reasons.alone import OutOfTimeError, budget_for
from placer.search.reasons.gangs import Short, gang_short, group_short, level_blocker
from placer.search.reasons.stages import Ask, Stage, When, stages_of
from placer.search.reasons.text import counts
from placer.search.reasons.unknown_names import KnownNames
from placer.state.account import Account
from placer.state.network import required_levels
from placer_models.cluster import Instance, Node
from placer_models.network import Grouping, LevelRule
from placer_models.placement import Placement, Unplaced
from placer_models.pod import Gang, GangGroup, Pod, pods_of
from placer_models.problem import Problem

NOT_NOW = "not now: running pods leave no room"
NO_COMPANY = "not now: no node has both room and the company that it requires"
TIME = "time: it ran out before the reason was looked into"
WORDS = {When.EMPTY: "never fits", When.RUNNING: "not now", When.PLACED: "outvoted"}
"""How a verdict begins."""


def why_unplaced(
    instance: Instance,
    asked: Instance,
    problem: Problem,
    accounts: Sequence[Account],
    placement: Placement,
    budget: Budget,
) -> tuple[Unplaced, ...]:
    """List the pods without a place, each with its reasons.

    Args:
        instance: The instance.
        asked: The same, with running pods that may move among those that wait.
        problem: That in integers.
        accounts: What the running pods of the instance leave, node by node.
        placement: The answer to what was asked.
        budget: Of the whole solve.

    """
    placed = {pod.key for pod in placement.pods}
    if all(pod.key in placed for pod in pods_of(instance.gangs)):
        return ()
    whole = budget_for(budget)
    stages = stages_of(instance, asked, problem, accounts, placement, whole)
    reasons = _Reasons(instance, asked, placement, stages, whole)
    return tuple(
        Unplaced(
            pod.name,
            pod.namespace,
            None if gang.lone else gang.name,
            tuple(reasons.of(pod, gang)),
        )
        for gang in instance.gangs
        for pod in gang.pods
        if pod.key not in placed
    )


@dataclass(frozen=True, slots=True)
class _Verdict:
    """What is so of a pod for itself.

    Attributes:
        short: From when on it has no place; None: it has one, beside all that is placed.
        room: Then, the name of a node where it has.

    """

    short: Short | None
    room: str = ""


class _Reasons:
    """Looks into the pods that one answer leaves out."""

    def __init__(
        self,
        instance: Instance,
        asked: Instance,
        placement: Placement,
        stages: tuple[Stage, Stage, Stage],
        budget: Budget,
    ) -> None:
        self._instance = instance
        self._moves = tuple(_move_reasons(asked))
        self._stages = stages
        self._budget = budget
        self._asks: dict[Hashable, Ask] = {}
        self._pods: dict[Hashable, _Verdict] = {}
        self._gangs: dict[Hashable, list[Short]] = {}
        self._names: KnownNames | None = None
        nodes = {node.name: node for node in instance.nodes}
        node_of = {place.key: nodes[place.node] for place in placement.pods}
        self._members = {
            gang.key: [node_of[pod.key] for pod in gang.pods if pod.key in node_of]
            for gang in instance.gangs
        }
        self._open = len(
            {
                self._question(pod, gang)
                for gang in instance.gangs
                for pod in gang.pods
                if pod.key not in node_of
            }
        ) + sum(not gang.lone and not self._members[gang.key] for gang in instance.gangs)

    @contextmanager
    def _share(self) -> Iterator[None]:
        """Have the next question spend a share of the time; what it leaves rolls on."""
        part = self._budget.part(self._budget.slice(self._open))
        self._open -= 1
        for stage in self._stages:
            stage.budget = part
        yield
        self._budget.spend(part)

    def of(self, pod: Pod, gang: Gang) -> Iterator[str]:
        """Yield the reasons for one pod, the verdict first."""
        verdict = self._verdict(pod, gang)
        short = self._short(gang)
        first = min(
            (found for found in (verdict.short, *short) if found),
            key=lambda found: (list(When).index(found.when), found.text is None),
            default=None,
        )
        if first is None:
            yield _unfound(gang, verdict.room, running=bool(self._members[gang.key]))
        elif first.text is None:
            yield TIME
        elif first is verdict.short:
            yield first.text
        else:
            yield f"{WORDS[first.when]}: {first.text}"
        if verdict.short and verdict.short.when is When.EMPTY:
            self._names = self._names or KnownNames(self._instance.nodes)
            yield from self._names.unknown_names(pod.spec)
        else:
            yield from self._moves
        if not gang.lone:
            yield from _gang_reasons(gang, len(self._members[gang.key]))
        yield from (found.text for found in short if found.text and found is not first)
        if not self._members[gang.key] and (group := self._group(gang)):
            names = ", ".join(name for _, name in group.gangs)
            yield f"gang group {group.name} runs whole or not at all: {names}"

    def _verdict(self, pod: Pod, gang: Gang) -> _Verdict:
        """Return what is so of a pod for itself, beside the members of its gang that run."""
        known = self._question(pod, gang)
        if known not in self._pods:
            with self._share():
                self._pods[known] = self._looked_into(known[0], gang, self._members[gang.key])
        return self._pods[known]

    def _question(self, pod: Pod, gang: Gang) -> tuple[Ask, tuple[str, str] | None]:
        """Return what makes one verdict do for several pods."""
        key = pod.spec, pod.namespace, required_levels(gang)
        ask = self._asks.setdefault(key, Ask(*key))
        return ask, gang.key if self._members[gang.key] else None

    def _looked_into(self, ask: Ask, gang: Gang, members: Sequence[Node]) -> _Verdict:
        _, second, third = self._stages
        room = 0
        for stage in self._stages:
            barred = None
            if stage is third and members:
                barred = partial(level_blocker, gang, members)
            try:
                found = stage.blockers(ask, barred)
                if isinstance(found, int):
                    room = found
                    continue
                word = WORDS[stage.when]
                lonely = any(blocker.demand.name == "affinity" for blocker in found)
                if stage is second:
                    word = NO_COMPANY if lonely else NOT_NOW
                    if lonely and not isinstance(later := third.blockers(ask), int):
                        found = later
            except OutOfTimeError:
                return _Verdict(Short(stage.when, None))
            text = f"{word} ({counts(found, ask.spec)})"
            return _Verdict(Short(stage.when, text))
        return _Verdict(None, room=self._instance.nodes[room].name)

    def _short(self, gang: Gang) -> list[Short]:
        """Return from when on a gang that does not run, and its group, are short of places."""
        if self._members[gang.key] or (gang.lone and not self._group(gang)):
            return []
        if gang.key not in self._gangs:
            with self._share():
                found = [] if gang.lone else [gang_short(gang, self._stages)]
                if group := self._group(gang):
                    known = group.namespace, group.name, group.gangs
                    if known not in self._gangs:
                        gangs = [g for g in self._instance.gangs if g.key in group.gangs]
                        short = group_short(group, gangs, self._stages)
                        self._gangs[known] = [short] if short else []
                    found += self._gangs[known]
            self._gangs[gang.key] = [short for short in found if short]
        return self._gangs[gang.key]

    def _group(self, gang: Gang) -> GangGroup | None:
        return next((group for group in self._instance.groups if gang.key in group.gangs), None)


def _unfound(gang: Gang, room: str, *, running: bool) -> str:
    """Say that there is room, and no place was found."""
    if gang.lone or running:
        return f"no place was found for it, though node {room} has room"
    return f"no place was found for gang {gang.name}, though there is room for its minimum"


def _move_reasons(asked: Instance) -> Iterator[str]:
    """Say how far running pods could make room; nothing where none may move."""
    if asked.homes:
        most = min(asked.move_budget, len(asked.homes))
        yield f"moves: of {len(asked.homes)} running pods that could move, {most} may"


def _gang_reasons(gang: Gang, running: int) -> Iterator[str]:
    """Say what holds for the members of a gang together."""
    yield from map(_said, (rule for rule in gang.levels if rule.required))
    if running:
        yield f"gang {gang.name} runs with {running} of {len(gang.pods)}, minimum {gang.minimum}"
    else:
        yield f"gang {gang.name} runs with its minimum of {gang.minimum} or not at all"


def _said(rule: LevelRule) -> str:
    match rule.grouping:
        case Grouping.GATHER:
            return f"gather: all members that run are in one {rule.level}"
        case Grouping.SPREAD:
            return f"spread: at most {rule.count} members in one {rule.level}"
        case Grouping.MULTIPLES:
            return f"multiples: the members in a {rule.level} are a multiple of {rule.count}"
