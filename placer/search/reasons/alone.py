"""One pod alone on one node, and how much of a gang a cluster could hold: exactly (G7).

The greedy path mostly finds a place where there is one; where it finds none, the exact model
says whether there is any.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from placer.counting.account import Account
from placer.greedy.place import place_greedily
from placer.search.budget import SolveBudget
from placer.search.exact import (
    MOST_ASSIGNMENTS,
    assignment_count,
    ignore_progress,
    search_exactly,
    trivial_tier_bounds,
)
from placer.search.first_tier_bounds import bound_first_tiers
from placer.search.halt import SearchHalt
from placer.search.reasons.question import PodOnNode
from placer.state.batch import build_problem
from placer.state.out_of_time import OutOfTimeError, Stop, raise_if_out_of_time
from placer.state.problem_cache import ProblemCache
from placer_models.cluster import Instance, Node, RunningPod
from placer_models.node_rules import without_node_rules
from placer_models.placement import PodPlacement
from placer_models.pod import Pod, PodSpec, lone_gang
from placer_models.policy import QosClass
from placer_models.problem.node_state import CoreClassGranularity
from placer_models.relations import spec_inside_node, without_needs_met_later

WORK = 1.0
"""Deterministic seconds for all reasons if work is limited in place of time; a tenth of
the search's limit comes on top."""


def reason_budget(whole: SolveBudget) -> SolveBudget:
    """Return a budget for the reasons of a solve: the time until its answer has to be given."""
    left_s = whole.until_overdue_s
    stopped = whole.halt.called_s is not None
    options = replace(
        whole.options,
        halt=SearchHalt() if stopped else whole.halt,
        work_limit=whole.options.work_limit if left_s is None else None,
    )
    budget = SolveBudget(options)
    work = WORK + (options.work_limit or 0) / 10
    budget.total = work if left_s is None else max(0.0, left_s)
    return budget


def has_place_on_node(asked: PodOnNode, budget: SolveBudget) -> bool:
    """Return whether the pod has a place on the node.

    What the node is, and which pods affinity finds there, is left to
    `register.is_node_lacking_by_counting`.

    Raises:
        OutOfTimeError: The budget is spent.

    """
    spec = spec_inside_node(asked.spec)
    spec = without_needs_met_later(spec) if asked.crowd is None else spec
    spec, node = without_node_rules(spec, asked.node)
    pod = Pod("", asked.namespace, spec)
    node = replace(node, name="n", offered=False)
    running = [_settled(runner, node) for runner in asked.running]
    nodes = [node]
    ghosts = list(_ghosts(asked, pod))
    if ghosts:
        nodes.append(replace(node, name="elsewhere", closed=True))
        running += ghosts
    found = count_placeable_gang_pods(
        Instance(tuple(nodes), (lone_gang(pod),), running=tuple(running)), budget
    )
    if found.pods == 0 and found.most > 0:
        raise OutOfTimeError
    return found.pods > 0


def _settled(runner: RunningPod, node: Node) -> RunningPod:
    """Return a running pod on the node, with only what it asks inside of it."""
    return RunningPod(
        replace(runner.pod, spec=spec_inside_node(runner.pod.spec)),
        replace(runner.placement, node=node.name),
    )


def _ghosts(asked: PodOnNode, pod: Pod) -> Iterator[RunningPod]:
    """Yield a pod elsewhere for each term by which the pod wants running pods beside its CPUs."""
    for number, term in enumerate(pod.spec.affinity):
        if (
            term.required
            and not term.apart
            and asked.crowd
            and asked.crowd.company.has(term, pod.namespace)
        ):
            spec = PodSpec((), QosClass.LSR, labels=term.labels)
            name = f"ghost-{number}"
            place = PodPlacement(name, pod.namespace, None, "elsewhere", frozenset())
            yield RunningPod(Pod(name, pod.namespace, spec), place)


@dataclass(frozen=True, slots=True)
class PlaceableGangPodCountBounds:
    """How many of the pods that wait can run together.

    Attributes:
        pods: This many can.
        most: No more than this many can.

    """

    pods: int
    most: int


def count_placeable_gang_pods(
    instance: Instance,
    budget: SolveBudget,
    accounts: Sequence[Account] | None = None,
    stop: Stop | None = None,
) -> PlaceableGangPodCountBounds:
    """Return how many pods of one gang, or of one gang group, can run.

    Args:
        instance: The gang or the group, alone.
        budget: What the search for an answer may cost.
        accounts: What is left on each node, if that is known.
        stop: Asked now and then, in all that is done, whether the time is over.

    Raises:
        OutOfTimeError: The budget is spent, or the time is over.

    """
    if budget.over:
        raise OutOfTimeError
    everyone = sum(len(gang.pods) for gang in instance.gangs)
    cache = ProblemCache()
    problem = build_problem(instance, accounts, cache=cache, stop=stop)
    several = problem.granularity is CoreClassGranularity.PAIRS
    each_core = (
        build_problem(instance, accounts, each_core=True, cache=cache, stop=stop)
        if several
        else problem
    )
    raise_if_out_of_time(stop)
    pods = len(place_greedily(each_core, stop=stop))
    if pods == everyone:
        return PlaceableGangPodCountBounds(pods, everyone)
    raise_if_out_of_time(stop)
    minimum = sum(gang.minimum for gang in instance.gangs)
    value = minimum + pods if pods else 0
    limits = trivial_tier_bounds(problem)[:1]
    if assignment_count(problem) > MOST_ASSIGNMENTS:
        bound = bound_first_tiers(problem, (value,), limits, budget)[0]
    else:
        found = search_exactly(problem, {}, (value,), budget, ignore_progress, limits)
        value, bound = found.values[0], found.bounds[0]
    most = everyone if bound is None else max(0, bound - minimum)
    return PlaceableGangPodCountBounds(max(0, value - minimum), most)
