"""Smallest change of each kind that gives all pods in question a place (G7).

A kind is looked at in the same way each time: if all that it could change together does not do,
no smaller part of it would, which is a proof where the solver has one. Otherwise the fewest that
do are looked for, one by one, two by two. Smaller means fewer, or less, while all else keeps its
place; that no smaller one does is proven only where the solver ruled each smaller one out.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import comb

from placer.explain.explanation import ProposedChange
from placer.explain.relaxed import asking_nothing, without_policies, without_spread
from placer.explain.trial import Outcome, Trials, outcome_of
from placer_models.cluster import Instance, Node, RunningPod
from placer_models.legal import IllegalPodError
from placer_models.placement import Placed
from placer_models.pod import Gang, PodSpec
from placer_models.reach import any_reaches_beyond
from placer_models.taints import UNSCHEDULABLE, untolerated
from placer_models.whatif.change import ChangeError, InstanceChange
from placer_models.whatif.language import apply_all
from placer_models.whatif.nodes import Add, Mend, Uncordon, as_another
from placer_models.whatif.pods import POLICIES, AskLess, GiveUpTerm, MovePods, Relax, Remove, Scale
from placer_models.whatif.shares import is_bytes, parts_asked

MOST_TRIALS = 64
"""How many sets of one size are tried; beyond that one that is small enough is looked for."""

LEAST_TRIAL_S, TRIALS_AT_LEAST = 1.0, 10
"""How long one trial may take at least, and how many of the longest there is time for."""

MOST_MOVES = 8
"""How many running pods a proposed change moves at most."""

MOST_ENDED = 16
"""Of how many running pods some may have to end where nodes cannot be looked at one by one."""

MOST_TYPES = 6
"""How many types of nodes are tried as new nodes, those first of which there are most."""

MOST_ADDED = 64
"""How many new nodes are proposed at most."""

CPU_STEP_MILLI, MEMORY_STEP_BYTES = 100, 1 << 20
"""In what steps less CPU and less memory are looked for."""

Option = tuple[InstanceChange, ...]
"""Changes that go together: one pod of a shape does without a label, so all of the shape do."""

KindOutcome = ProposedChange | Outcome
"""A change that does; or that none of the kind would, or that it is not known."""


def mend_node(trials: Trials) -> KindOutcome:
    """Look for the fewest nodes to uncordon or to mend."""
    options: list[Option] = []
    for node in trials.instance.nodes:
        if node.cordoned or UNSCHEDULABLE in node.taints:
            options.append((Uncordon(node.name),))
        if node.unhealthy or any(not device.healthy for device in node.machine.devices):
            options.append((Mend(node.name),))
    return fewest("mend-node", options, trials)


def relax(trials: Trials) -> KindOutcome:
    """Look for the fewest policies that are only preferred then."""
    gangs = trials.instance.gangs
    options = [
        tuple(Relax(gang.key, policy) for gang in gangs if _changed(gang, relaxed))
        for policy, relaxed in POLICIES.items()
    ]
    return fewest("relax", [option for option in options if option], trials)


def _changed(gang: Gang, relaxed: Callable[[PodSpec], PodSpec]) -> bool:
    return any(relaxed(pod.spec) != pod.spec for pod in gang.pods)


def give_up(trials: Trials) -> KindOutcome:
    """Look for the fewest terms to do without: labels, affinities, staying off taints."""
    options: dict[tuple[str, str], list[InstanceChange]] = {}
    for gang in trials.instance.gangs:
        for term, which in dict.fromkeys(_terms(gang, trials.instance)):
            options.setdefault((term, which), []).append(GiveUpTerm(gang.key, term, which))
    return fewest("give-up", [tuple(some) for some in options.values()], trials)


def _terms(gang: Gang, instance: Instance) -> Iterator[tuple[str, str]]:
    """Yield what the pods of a gang could give up: the term, and which."""
    for spec in dict.fromkeys(pod.spec for pod in gang.pods):
        yield from (("nodeSelector", key) for key, _ in spec.node_selector)
        if spec.node_affinity is not None and spec.node_affinity.required:
            yield "nodeAffinity", ""
        yield from (("affinity", str(i)) for i, one in enumerate(spec.affinity) if one.required)
        yield from (("topologySpread", str(i)) for i in range(len(spec.spread)))
        yield from (("taint", key) for key in _taints_that_keep_off(spec, instance))


def _taints_that_keep_off(spec: PodSpec, instance: Instance) -> list[str]:
    """Return the keys of taints that the pod does not tolerate. A cordon is mended instead."""
    taints = dict.fromkeys(
        taint
        for node in instance.nodes
        for taint in untolerated(node.taints, spec.tolerations, keep_off=True)
        if taint != UNSCHEDULABLE
    )
    return [taint.key for taint in taints]


def ask_less(trials: Trials) -> KindOutcome:
    """Look for the least that has to be asked less of one resource; not of several at once."""
    if _is_ruled_out(asking_nothing(trials.instance), trials):
        return Outcome.RULED_OUT
    specs = {pod.spec for gang in trials.instance.gangs for pod in gang.pods}
    if len(specs) > 1 or any(spec.variants for spec in specs):
        return Outcome.OPEN
    outcomes: list[KindOutcome] = []
    for resource, asked, step in _resources(specs.pop()):
        found = _least_less(resource, asked, step, trials)
        if isinstance(found, ProposedChange):
            return found
        outcomes.append(found)
    return _none_of(outcomes)


def _resources(spec: PodSpec) -> Iterator[tuple[str, int, int]]:
    """Yield what a pod asks for, and in what steps it could be less; what few nodes have first."""
    asked = spec.requests
    for device in asked.devices:
        if device.share is None:
            yield device.type, device.count, 1
    types = [device.type for device in asked.devices if device.share is not None]
    for device in asked.devices:
        if types.count(device.type) == 1:  # of two shares of a type one alone may have to be less
            for part, amount in parts_asked(device):
                yield part, amount, MEMORY_STEP_BYTES if is_bytes(part) else 1
    yield from ((name, amount, 1) for name, amount in asked.extended)
    if asked.cpu_milli:
        yield "cpu", asked.cpu_milli, 1000 if spec.qos.owns_cpus else CPU_STEP_MILLI
    if asked.memory_bytes:
        yield "memory", asked.memory_bytes, MEMORY_STEP_BYTES


def _least_less(resource: str, asked: int, step: int, trials: Trials) -> KindOutcome:
    """Look for the largest amount below what is asked for with which all fit."""
    gangs = trials.instance.gangs

    def less(steps: int) -> Option:
        return tuple(AskLess(gang.key, resource, steps * step) for gang in gangs)

    steps = _Steps(low=1, high=-(-asked // step))  # to ask for nothing is not to ask for less
    # Where less may not fit though more does, nothing follows from what does not fit.
    plain = not _may_need_more(trials.instance)
    if not plain and _without_policies_none_fits(less(steps.low), trials):
        return Outcome.RULED_OUT
    found = steps.most_that_fits(lambda count: trials.outcome(less(count)), plain=plain)
    if found is None:
        return steps.beyond
    return ProposedChange("ask-less", less(found), steps.beyond is Outcome.RULED_OUT)


def _without_policies_none_fits(least: Option, trials: Trials) -> bool:
    """Return whether even the least does not fit, where no policy makes less harder than more."""
    try:
        changed = apply_all(least, trials.instance)
    except ChangeError:
        return False
    return _is_ruled_out(without_policies(changed), trials)


def _is_ruled_out(instance: Instance, trials: Trials) -> bool:
    """Return whether it is proven that not all that wait in another instance have a place."""
    try:
        answer = trials.answer(instance)
    except IllegalPodError:
        return False
    return answer is not None and outcome_of(answer, instance) is Outcome.RULED_OUT


@dataclass(slots=True)
class _Steps:
    """A search for the largest count, from low to below high, with which all fit.

    Attributes:
        beyond: What is known of all that is more than that: ruled out, or open.

    """

    low: int
    high: int
    beyond: Outcome = Outcome.RULED_OUT

    def most_that_fits(self, outcome: Callable[[int], Outcome], *, plain: bool) -> int | None:
        """Return it, or None if none fits.

        Args:
            outcome: What is known of a count.
            plain: Whether less fits wherever more does. Else each count is tried, from the
                largest on, where there are few.

        """
        if self.low >= self.high:
            return None
        if not plain and self.high - self.low <= MOST_TRIALS:
            for count in range(self.high - 1, self.low - 1, -1):
                known = outcome(count)
                if known is Outcome.FITS:
                    return count
                if known is Outcome.OPEN:
                    self.beyond = known
            return None
        if not plain:
            self.beyond = Outcome.OPEN
        lowest = outcome(self.low)
        if lowest is not Outcome.FITS:
            self.beyond = lowest if plain else Outcome.OPEN
            return None
        fits, refused = self.low, self.high
        while refused - fits > 1:
            middle = (fits + refused) // 2
            known = outcome(middle)
            if known is Outcome.FITS:
                fits = middle
                continue
            refused = middle
            if plain:
                self.beyond = known
        return fits


def fewer_members(trials: Trials) -> KindOutcome:
    """Look for the most members of the gang that fit together."""
    gangs = trials.instance.gangs
    if len(gangs) != 1 or gangs[0].lone:
        return Outcome.RULED_OUT
    (gang,) = gangs
    steps = _Steps(low=1, high=len(gang.pods))
    alike = (
        len({pod.spec for pod in gang.pods}) == 1
        and not gang.levels
        and gang.gather is None
        and not any_reaches_beyond(gang.pods)
    )
    found = steps.most_that_fits(
        lambda count: trials.outcome((Scale(gang.key, count),)), plain=alike
    )
    if found is None:
        return steps.beyond
    certain = steps.beyond is Outcome.RULED_OUT
    return ProposedChange("fewer-members", (Scale(gang.key, found),), certain)


def move(trials: Trials) -> KindOutcome:
    """Look for the fewest running pods whose move makes room."""
    could = sum(one.movable for one in trials.instance.running)
    if not could:
        return Outcome.RULED_OUT
    answer = trials.answer(replace(trials.instance, move_budget=MOST_MOVES))
    if answer is None or not isinstance(answer, Placed):
        known = Outcome.OPEN if answer is None else outcome_of(answer, trials.instance)
        return known if could <= MOST_MOVES else Outcome.OPEN
    if not answer.moves:
        return Outcome.OPEN
    changes = tuple(MovePods(one.home.key) for one in answer.moves)
    if trials.outcome(changes) is not Outcome.FITS:
        return Outcome.OPEN
    proven = any(value.tier.name == "moves" and value.proven for value in answer.tiers)
    return ProposedChange("move", changes, proven or len(changes) == 1)


def end(trials: Trials) -> KindOutcome:
    """Look for the fewest running pods whose end makes room.

    For a lone pod each node is looked at by itself, which is the same question as long as no rule
    looks beyond it. Else all running pods are, if there are few. Nobody says the priority of a
    running pod, so of equally many the first ones win.
    """
    instance = trials.instance
    pods = [pod for gang in instance.gangs for pod in gang.pods]
    runners = [one.pod for one in instance.running]
    if len(pods) != 1 or any_reaches_beyond((*pods, *runners)):
        if len(runners) > MOST_ENDED:
            return Outcome.OPEN
        return fewest("end", [(Remove(pod.key),) for pod in runners], trials)
    on_node: dict[str, list[RunningPod]] = {}
    for one in instance.running:
        on_node.setdefault(one.placement.node, []).append(one)
    best: Option | None = None
    outcomes: list[KindOutcome] = []
    for node in sorted(instance.nodes, key=lambda node: len(on_node.get(node.name, ()))):
        running = on_node.get(node.name, [])
        if not running or (best is not None and len(best) == 1):
            continue
        alone = replace(instance, nodes=(node,), running=tuple(running), running_gangs=())
        inside = Trials(alone, trials.left_s)
        found = fewest("end", [(Remove(one.pod.key),) for one in running], inside)
        outcomes.append(found)
        if isinstance(found, ProposedChange) and (best is None or len(found.changes) < len(best)):
            best = found.changes
    if best is None:
        return _none_of(outcomes)
    if trials.outcome(best) is not Outcome.FITS:
        return Outcome.OPEN
    return ProposedChange("end", best, len(best) == 1 or _all_certain(outcomes))


def add_nodes(trials: Trials) -> KindOutcome:
    """Look for the fewest new nodes, each like one that is there."""
    types: dict[Node, list[str]] = {}
    for node in trials.instance.nodes:
        types.setdefault(as_another(node, "new"), []).append(node.name)
    best: Add | None = None
    outcomes: list[KindOutcome] = []
    for names in sorted(types.values(), key=len, reverse=True)[:MOST_TYPES]:
        found = _fewest_added(names[0], MOST_ADDED if best is None else best.count - 1, trials)
        outcomes.append(found)
        if isinstance(found, ProposedChange) and isinstance(found.changes[0], Add):
            best = found.changes[0]
    if best is None:
        return _none_of(outcomes) if len(types) <= MOST_TYPES else Outcome.OPEN
    certain = len(types) <= MOST_TYPES and _all_certain(outcomes) and not _spreads(trials.instance)
    return ProposedChange("add-nodes", (best,), best.count == 1 or certain)


def _fewest_added(like: str, most: int, trials: Trials) -> KindOutcome:
    """Look for how many nodes like one would do, doubling their number and then halving it."""
    pods = sum(len(gang.pods) for gang in trials.instance.gangs)
    enough, most = most >= pods or most < MOST_ADDED, min(most, pods)
    if most < 1:
        return Outcome.RULED_OUT
    refused, beyond, count = 0, Outcome.RULED_OUT, 1
    while (outcome := trials.outcome((Add(count, like),))) is not Outcome.FITS:
        if count == most:
            if not enough:
                return Outcome.OPEN
            if not _spreads(trials.instance):
                return outcome
            changed = apply_all((Add(most, like),), without_spread(trials.instance))
            return Outcome.RULED_OUT if _is_ruled_out(changed, trials) else Outcome.OPEN
        refused, beyond, count = count, outcome, min(2 * count, most)
    fits = count
    while fits - refused > 1:
        middle = (fits + refused) // 2
        outcome = trials.outcome((Add(middle, like),))
        if outcome is Outcome.FITS:
            fits = middle
        else:
            refused, beyond = middle, outcome
    return ProposedChange("add-nodes", (Add(fits, like),), beyond is Outcome.RULED_OUT)


def fewest(kind: str, options: Sequence[Option], trials: Trials) -> KindOutcome:
    """Look for the fewest of some changes that do together.

    Returns:
        Them; or that it is ruled out that any do, or that it is not known.

    """
    if not options:
        return Outcome.RULED_OUT
    every = trials.outcome(_all_of(options))
    if every is not Outcome.FITS:
        if not _more_may_be_worse(trials.instance):
            return every
        return _any_of(kind, options, trials)
    certain = True
    size = 1
    while size < len(options) and comb(len(options), size) <= MOST_TRIALS:
        for some in combinations(options, size):
            outcome = trials.outcome(_all_of(some))
            if outcome is Outcome.FITS:
                return ProposedChange(kind, _all_of(some), certain or size == 1)
            certain = certain and outcome is Outcome.RULED_OUT
        size += 1
    kept = _without_needless(options, trials)
    # Every set smaller than `size` was tried.
    return ProposedChange(kind, _all_of(kept), len(kept) == 1 or (certain and len(kept) == size))


def _any_of(kind: str, options: Sequence[Option], trials: Trials) -> KindOutcome:
    """Look for the fewest that do, where they may do though all of them together do not."""
    if 2 ** len(options) > MOST_TRIALS:
        return Outcome.OPEN
    found: KindOutcome = Outcome.RULED_OUT
    for size in range(1, len(options) + 1):
        for some in combinations(options, size):
            outcome = trials.outcome(_all_of(some))
            if outcome is Outcome.FITS:
                certain = size == 1 or found is Outcome.RULED_OUT
                return ProposedChange(kind, _all_of(some), certain)
            if outcome is Outcome.OPEN:
                found = outcome
    return found


def _without_needless(options: Sequence[Option], trials: Trials) -> list[Option]:
    """Return a part of the changes of which each is needed; whole halves are left out first."""
    kept = list(options)
    size = len(kept) // 2
    while size:
        start = 0
        while start < len(kept):
            fewer = kept[:start] + kept[start + size :]
            if fewer and trials.outcome(_all_of(fewer)) is Outcome.FITS:
                kept = fewer
            else:
                start += size
        size //= 2
    return kept


def _spreads(instance: Instance) -> bool:
    """Return whether a pod is to be spread: then another node may be another empty domain."""
    return any(pod.spec.spread for gang in instance.gangs for pod in gang.pods)


def _more_may_be_worse(instance: Instance) -> bool:
    """Return whether a change may hinder though others of its kind would do without it.

    Nodes that come, or that a pod may look at, may be empty domains; who ends may be company; and
    a pod without a NUMA policy of its own is under that of its node.
    """
    return _spreads(instance) or _have_numa_policy(instance) or _wants_company(instance)


def _wants_company(instance: Instance) -> bool:
    """Return whether a pod has to be with others, which may be those that end."""
    return any(
        term.required and not term.apart
        for gang in instance.gangs
        for pod in gang.pods
        for term in pod.spec.affinity
    )


def _may_need_more(instance: Instance) -> bool:
    """Return whether less of something may not fit though more does.

    NUMA policies allow sets of NUMA nodes by what is asked for; whole cores and partitions of
    GPUs come in certain sizes.
    """
    return (
        _have_numa_policy(instance)
        or any(node.honors_table for node in instance.nodes)
        or any(pod.spec.qos.owns_cpus for gang in instance.gangs for pod in gang.pods)
    )


def _have_numa_policy(instance: Instance) -> bool:
    nodes = any(node.alignment or node.defaults.alignment for node in instance.nodes)
    return nodes or any(pod.spec.alignment for gang in instance.gangs for pod in gang.pods)


def _all_of(options: Iterable[Option]) -> Option:
    return tuple(change for option in options for change in option)


def _none_of(outcomes: Sequence[KindOutcome]) -> Outcome:
    return Outcome.OPEN if Outcome.OPEN in outcomes else Outcome.RULED_OUT


def _all_certain(outcomes: Sequence[KindOutcome]) -> bool:
    return all(
        one is Outcome.RULED_OUT or (isinstance(one, ProposedChange) and one.smallest)
        for one in outcomes
    )


KINDS: dict[str, Callable[[Trials], KindOutcome]] = {
    "mend-node": mend_node,
    "relax": relax,
    "give-up": give_up,
    "ask-less": ask_less,
    "fewer-members": fewer_members,
    "move": move,
    "end": end,
    "add-nodes": add_nodes,
}
"""All kinds of changes that are looked for, the cheapest for people first."""


def changes_for(
    instance: Instance, seconds: float, most: int | None = None
) -> dict[str, KindOutcome]:
    """Return what was found of each kind: a change that was tried, or that there is none.

    Args:
        instance: All that wait in it are to have a place, and nothing else changes.
        seconds: How long that may take. What there is no time for is open.
        most: How many changes are enough; None: one of each kind.

    """
    trials = Trials(instance, seconds, max(LEAST_TRIAL_S, seconds / TRIALS_AT_LEAST))
    found: dict[str, KindOutcome] = {}
    for kind, look in KINDS.items():
        changes = sum(isinstance(one, ProposedChange) for one in found.values())
        enough = most is not None and changes >= most
        found[kind] = look(trials) if trials.left_s > 0 and not enough else Outcome.OPEN
    return found
