"""Smallest change of each kind that gives all pods in question a place (G7).

A kind is looked at in the same way each time: if all that it could change together does not do,
no smaller part of it would, which is a proof where the solver has one. Otherwise the fewest that
do are looked for, one by one, two by two. Smaller means fewer, or less, while all else keeps its
place; that no smaller one does is proven only where the solver ruled each smaller one out.
"""

from collections.abc import Callable, Collection, Iterable, Iterator

from placer.explain.alike_nodes import NodeSamplesForTrials, has_broken_device
from placer.explain.explanation import SufficientChange
from placer.explain.fewest import smallest_change_combining_options, with_equally_small_alternatives
from placer.explain.kind_outcome import (
    KindOutcome,
    Option,
    all_change_outcomes_proven,
    has_domain_limits,
    is_placing_all_ruled_out,
    outcome_if_no_change_found,
)
from placer.explain.least_less import LargestFittingCountSearch, smallest_change_by_reducing_one_ask
from placer.explain.making_room import (
    first_by_name_of_equal_moves,
    smallest_change_by_ending_pods,
    smallest_change_by_moving_pods,
)
from placer.explain.node_labels import missing_labels_to_set_by_node
from placer.explain.relaxed import instance_without_domain_limits
from placer.explain.trial import (
    ChangeTrials,
    DeterministicWorkCounter,
    TrialVerdict,
    trial_outcome_of,
)
from placer.search.baseline import StartingAccounts
from placer_models.cluster import Instance, Node
from placer_models.node_rules import node_rules_allow
from placer_models.placement import Placed
from placer_models.pod import Gang, PodSpec, pods_of_gangs
from placer_models.reach import any_pod_asks_beyond_node
from placer_models.taints import UNSCHEDULABLE, untolerated_taints_of_strength
from placer_models.whatif.change import InstanceChange
from placer_models.whatif.language import instance_with_all_changes
from placer_models.whatif.nodes import AddNodes, MarkDevicesHealthy, Uncordon, fresh_copy_of_node
from placer_models.whatif.pods import POLICIES, GiveUpConstraint, RelaxPolicy, ScalePods

LEAST_TRIAL_S, TRIALS_AT_LEAST = 1.0, 10
"""How long one trial may take at least, and how many of the longest there is time for."""

MOST_TYPES, MOST_TYPES_IN_TIME = 6, 24
"""How many types of nodes are tried as new nodes, those first that take the pods and of which there
are most; and how many while half of the time is left."""

OF_NODES_THEMSELVES = ("node-role.kubernetes.io/", "node.kubernetes.io/")
"""What keys of taints begin with that tell of control planes, and of what a node suffers from."""

SHARE_OF_MORE_TYPES = 0.5
"""The share of the time that is left when more than the first types are no longer tried."""

MOST_ADDED = 64
"""How many new nodes are proposed at most."""


def smallest_change_by_mending_nodes(trials: ChangeTrials) -> KindOutcome:
    """Look for the fewest nodes to uncordon or to mend."""
    return smallest_change_combining_options("mend-node", _to_mend(trials.instance), trials)


def _to_mend(instance: Instance) -> list[Option]:
    options: list[Option] = []
    for node in instance.nodes:
        if node.cordoned or UNSCHEDULABLE in node.taints:
            options.append((Uncordon(node.name),))
        if has_broken_device(node):
            options.append((MarkDevicesHealthy(node.name),))
    return options


def smallest_change_by_relaxing_policies(trials: ChangeTrials) -> KindOutcome:
    """Look for the fewest policies that are only preferred then."""
    return smallest_change_combining_options("relax", _to_relax(trials.instance), trials)


def _to_relax(instance: Instance) -> list[Option]:
    options = (
        tuple(RelaxPolicy(gang.key, policy) for gang in instance.gangs if _changed(gang, relaxed))
        for policy, relaxed in POLICIES.items()
    )
    return [option for option in options if option]


def _changed(gang: Gang, relaxed: Callable[[PodSpec], PodSpec]) -> bool:
    return any(relaxed(pod.spec) != pod.spec for pod in gang.pods)


def smallest_change_by_giving_up_terms(trials: ChangeTrials) -> KindOutcome:
    """Look for the fewest terms to do without: labels, affinities, staying off taints.

    Of equally few a toleration comes first: with it the pods still go where they are meant to.
    """
    return smallest_change_combining_options("give-up", _to_give_up(trials.instance), trials)


def _to_give_up(instance: Instance) -> list[Option]:
    options: dict[tuple[str, str], list[InstanceChange]] = {}
    for gang in instance.gangs:
        for term, which in dict.fromkeys(_terms(gang, instance)):
            options.setdefault((term, which), []).append(GiveUpConstraint(gang.key, term, which))
    return [tuple(options[term]) for term in sorted(options, key=_reluctance)]


def _reluctance(term: tuple[str, str]) -> int:
    """Return how late a term is given up among equally many; a control plane is shared last."""
    kind, which = term
    if kind != "taint":
        return 1
    return 2 if which.startswith(OF_NODES_THEMSELVES) else 0


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
        for taint in untolerated_taints_of_strength(node.taints, spec.tolerations, keep_off=True)
        if taint != UNSCHEDULABLE
    )
    return [taint.key for taint in taints]


def smallest_change_by_labeling_nodes(trials: ChangeTrials) -> KindOutcome:
    """Look for the fewest nodes that get the labels which the pods ask for."""
    return smallest_change_combining_options(
        "label-node", missing_labels_to_set_by_node(trials.instance), trials
    )


def smallest_change_by_shrinking_gang(trials: ChangeTrials) -> KindOutcome:
    """Look for the most members of the gang that fit together."""
    gangs = trials.instance.gangs
    if len(gangs) != 1 or gangs[0].lone:
        return TrialVerdict.RULED_OUT
    (gang,) = gangs
    steps = LargestFittingCountSearch(low=1, high=len(gang.pods))
    alike = (
        len({pod.spec for pod in gang.pods}) == 1
        and not gang.levels
        and gang.gather is None
        and not any_pod_asks_beyond_node(gang.pods)
    )
    found = steps.most_that_fits(
        lambda count: trials.outcome((ScalePods(gang.key, count),)), plain=alike
    )
    if found is None:
        return steps.beyond
    certain = steps.beyond is TrialVerdict.RULED_OUT
    return SufficientChange("fewer-members", (ScalePods(gang.key, found),), certain)


def smallest_change_by_adding_nodes(trials: ChangeTrials) -> KindOutcome:
    """Look for the fewest new nodes, each like one that is there."""
    types: dict[Node, list[str]] = {}
    for node in trials.instance.nodes:
        types.setdefault(fresh_copy_of_node(node, "new"), []).append(node.name)
    best: AddNodes | None = None
    outcomes: list[KindOutcome] = []
    specs = {pod.spec for pod in pods_of_gangs(trials.instance.gangs)}

    def takes_none(node: Node) -> bool:
        return not any(node_rules_allow(node, spec) for spec in specs)

    order = sorted(types, key=lambda node: (takes_none(node), -len(types[node])))
    half_s, tried = SHARE_OF_MORE_TYPES * trials.left_s, 0
    for names in (types[node] for node in order[:MOST_TYPES_IN_TIME]):
        if tried >= MOST_TYPES and trials.left_s < half_s:
            break
        tried += 1
        found = _fewest_added(names[0], MOST_ADDED if best is None else best.count - 1, trials)
        outcomes.append(found)
        if isinstance(found, SufficientChange) and isinstance(found.changes[0], AddNodes):
            best = found.changes[0]
    if best is None:
        return outcome_if_no_change_found(outcomes) if tried == len(types) else TrialVerdict.OPEN
    certain = (
        tried == len(types)
        and all_change_outcomes_proven(outcomes)
        and not has_domain_limits(trials.instance)
    )
    return SufficientChange("add-nodes", (best,), best.count == 1 or certain)


def _fewest_added(like: str, most: int, trials: ChangeTrials) -> KindOutcome:
    """Look for how many nodes like one would do."""
    pods = sum(len(gang.pods) for gang in trials.instance.gangs)
    enough, most = most >= pods or most < MOST_ADDED, min(most, pods)
    if most < 1:
        return TrialVerdict.RULED_OUT
    if has_domain_limits(trials.instance):
        return _fewest_by_doubling(like, most, trials, enough=enough)
    changed = instance_with_all_changes((AddNodes(most, like),), trials.instance)
    answer = trials.answer(changed)
    outcome = TrialVerdict.OPEN if answer is None else trial_outcome_of(answer, trials.instance)
    if not isinstance(answer, Placed):
        return outcome if enough else TrialVerdict.OPEN
    known = {node.name for node in trials.instance.nodes}
    used = len({place.node for place in answer.placement.pods} - known)
    # Where so many are used, one fewer often is too few, which is a proof.
    return _halved(0, TrialVerdict.RULED_OUT, most, (used, used - 1), like, trials)


def _fewest_by_doubling(like: str, most: int, trials: ChangeTrials, *, enough: bool) -> KindOutcome:
    """Look for how many nodes would do where one more may be another empty domain."""
    refused, beyond, count = 0, TrialVerdict.RULED_OUT, 1
    while (outcome := trials.outcome((AddNodes(count, like),))) is not TrialVerdict.FITS:
        if count == most:
            if not enough:
                return TrialVerdict.OPEN
            changed = instance_with_all_changes(
                (AddNodes(most, like),), instance_without_domain_limits(trials.instance)
            )
            return (
                TrialVerdict.RULED_OUT
                if is_placing_all_ruled_out(changed, trials)
                else TrialVerdict.OPEN
            )
        refused, beyond, count = count, outcome, min(2 * count, most)
    return _halved(refused, beyond, count, (), like, trials)


def _halved(
    refused: int,
    beyond: TrialVerdict,
    fits: int,
    first: Iterable[int],
    like: str,
    trials: ChangeTrials,
) -> SufficientChange:
    """Return the fewest nodes that do, of more than do not and no more than do.

    Args:
        refused: So many do not do.
        beyond: What is known of them.
        fits: So many do.
        first: What is tried first.
        like: What the nodes are like.
        trials: The trials.

    """
    likely = list(first)
    while fits - refused > 1:
        middle = likely.pop(0) if likely else (fits + refused) // 2
        if not refused < middle < fits:
            continue
        outcome = trials.outcome((AddNodes(middle, like),))
        if outcome is TrialVerdict.FITS:
            fits = middle
        else:
            refused, beyond = middle, outcome
    return SufficientChange("add-nodes", (AddNodes(fits, like),), beyond is TrialVerdict.RULED_OUT)


KINDS: dict[str, Callable[[ChangeTrials], KindOutcome]] = {
    "mend-node": smallest_change_by_mending_nodes,
    "relax": smallest_change_by_relaxing_policies,
    "give-up": smallest_change_by_giving_up_terms,
    "label-node": smallest_change_by_labeling_nodes,
    "ask-less": smallest_change_by_reducing_one_ask,
    "fewer-members": smallest_change_by_shrinking_gang,
    "move": smallest_change_by_moving_pods,
    "end": smallest_change_by_ending_pods,
    "add-nodes": smallest_change_by_adding_nodes,
}
"""All kinds of changes that are looked for, the cheapest for people first."""

EQUALLY_SMALL: dict[str, Callable[[Instance], list[Option]]] = {
    "mend-node": _to_mend,
    "relax": _to_relax,
    "give-up": _to_give_up,
    "label-node": missing_labels_to_set_by_node,
}
"""Kinds of which all that are as small are told, with what there is to choose from."""


class SmallestChangeSearch:
    """The search for changes that give some pods a place, which can be taken up again.

    Attributes:
        found: What was found of each kind that was looked at: a change that was tried, or that
            there is none, or that it is not known.

    """

    def __init__(
        self,
        instance: Instance,
        baseline: StartingAccounts | None = None,
        alike: NodeSamplesForTrials | None = None,
        kinds: Collection[str] = KINDS.keys(),
        work: DeterministicWorkCounter | None = None,
    ) -> None:
        """Look at nothing yet.

        Args:
            instance: All that wait in it are to have a place, and nothing else changes.
            baseline: The nodes of the instance, if they have been counted.
            alike: Its nodes, if those of a sort may stand for each other.
            kinds: The kinds that are looked at.
            work: What is counted in place of wall time.

        """
        self.found: dict[str, KindOutcome] = {}
        self._settled: set[str] = set()
        self._kinds = {kind: look for kind, look in KINDS.items() if kind in kinds}
        self._trials = every = ChangeTrials(instance, 0.0, baseline=baseline, work=work)
        if alike is not None:
            few, counted = alike.where_wait(every.instance.gangs)
            self._trials = ChangeTrials(few, 0.0, baseline=counted, whole=every, work=work)

    def go_on(self, seconds: float, most: int | None = None) -> None:
        """Look at the kinds that were not looked at yet, the cheapest for people first.

        Args:
            seconds: How long that may take. What there is no time for is open.
            most: How many changes are enough in all; None: one of each kind.

        """
        self._trials.give(seconds, max(LEAST_TRIAL_S, seconds / TRIALS_AT_LEAST))
        for kind, look in self._kinds.items():
            changes = sum(isinstance(one, SufficientChange) for one in self.found.values())
            if self._trials.left_s <= 0 or (most is not None and changes >= most):
                return
            if kind in self.found:
                continue
            outcome = look(self._trials)
            if outcome is not TrialVerdict.OPEN or self._trials.left_s > 0:
                self.found[kind] = outcome
        if most is None:
            self._settle_ties()

    def _settle_ties(self) -> None:
        """Look at changes that are as small as those that were found, once for each of them."""
        for kind, found in self.found.items():
            if kind in self._settled or not isinstance(found, SufficientChange):
                continue
            if kind in EQUALLY_SMALL:
                options = EQUALLY_SMALL[kind](self._trials.instance)
                self.found[kind] = with_equally_small_alternatives(found, options, self._trials)
            elif kind == "move":
                self.found[kind] = first_by_name_of_equal_moves(found, self._trials)
            if self._trials.left_s > 0:
                self._settled.add(kind)

    @property
    def outcomes(self) -> dict[str, KindOutcome]:
        """What is known of each kind."""
        return {kind: self.found.get(kind, TrialVerdict.OPEN) for kind in KINDS}
