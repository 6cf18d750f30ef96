"""Decisions: from a batch to a decision, and from places to a state that holds them."""

from collections.abc import Iterable
from dataclasses import replace
from time import monotonic

from placer.judge.breaches import breaches
from placer.scheduling.arriving import BatchArrivals
from placer.scheduling.decision import Batch, Decision
from placer.scheduling.in_turn import are_pods_placed_in_turn, place_pods_in_turn
from placer.scheduling.scheduler_state import NodesAndPods
from placer.search.baseline import CacheBetweenSolves
from placer.search.cp import SolverError
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.cluster import RunningPod
from placer_models.left_out import GangsWithoutIllegalPods
from placer_models.node_strategy import NodeStrategy
from placer_models.placement import Placement, PodPlacement
from placer_models.pod import pods_of_gangs

LEAST_TIME_S = 0.001
"""Seconds that a solve gets if waiting and counting have used up all of its time."""


def solve_and_judge(
    state: NodesAndPods,
    batch: Batch,
    legal: GangsWithoutIllegalPods,
    options: SolveOptions,
    arriving: BatchArrivals | None,
    cache: CacheBetweenSolves,
    move_budget: int = 0,
    earlier: Placement | None = None,
) -> tuple[Decision, NodesAndPods | None]:
    """Solve a batch that `check_batch` has passed, and let the judge check the answer.

    Beside the decision stands the cluster with its pods in their places, if that is known already.

    Args:
        state: The cluster.
        batch: The pods that wait.
        legal: The part of the batch that is asked about, and who is left out of it.
        options: How to solve; the time limit is from this call to its end.
        arriving: The pods of the batch as they come, where the strategy looks at what is expected
            then. If they are placed in turn and their places hold, all have come in the end.
        cache: What earlier batches have left.
        move_budget: How many running pods may move.
        earlier: Places that the search may begin with.

    Raises:
        SolverError: Parts of Placer contradict each other: a defect of ours.

    """
    began_s = monotonic()
    # The solver is asked about this very object, so that the judge knows it again.
    demand = None if arriving is None else arriving.demand
    instance = state.asking(legal, move_budget, options.strategy, demand)
    baseline, first = state.baseline(cache), None
    if are_pods_placed_in_turn(instance, options):
        first = place_pods_in_turn(state, instance, options, cache, arriving)
    if first is not None and arriving is not None and arriving.demand is not demand:
        demand = arriving.demand
        instance = state.asking(legal, move_budget, options.strategy, demand)
    left_s = max(LEAST_TIME_S, options.time_limit_s - (monotonic() - began_s))
    options = replace(options, strategy=None, time_limit_s=left_s)
    places = None if first is None else first.placement
    answer = solve(instance, options, baseline=baseline, earlier=earlier, greedy=places)
    decision = Decision(batch, answer, state.version, demand=demand)
    found = breaches(instance, decision.placement, baseline.nodes_before)
    if found:
        raise SolverError("; ".join(f"{b.rule}: {b.message}" for b in found[:3]))
    if first is None or decision.placement != first.placement:
        if arriving is not None:
            arriving.restart()
        return decision, None
    after = first.state
    if after is not None:
        after = replace(after, version=state.version + 1) if first.placement.pods else state
    return decision, after


def node_strategy_or_default(state: NodesAndPods, options: SolveOptions) -> NodeStrategy | None:
    """Return the strategy of a call: what its options say, else what is best by default.

    The fast path alone keeps room for expected pods, where there are GPUs to reason with.
    """
    by_default = options.engine is Engine.GREEDY and options.scoring is None
    if options.strategy is None and by_default and state.nodes.have_gpus:
        return NodeStrategy.EXPECTED
    return options.strategy


def cluster_with_batch_placed(
    state: NodesAndPods, batch: Batch, places: Iterable[PodPlacement]
) -> NodesAndPods:
    """Return the state with the pods of a batch in their places, and of running pods that move.

    Those that move leave before anybody comes, so they may go to each other's places.
    """
    pods = {pod.key: pod for pod in pods_of_gangs(batch.gangs)}
    came, gone = [], []
    for place in places:
        if place.key in pods:
            came.append(RunningPod(pods[place.key], place))
        else:
            came.append(replace(state.runner(place.key), placement=place, guessed=False))
            gone.append(place.key)
    return state.replaced(gone, came)
