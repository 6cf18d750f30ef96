"""The library's face: the Scheduler, which holds the state of a cluster."""

from collections import deque
from collections.abc import Iterable
from dataclasses import replace
from threading import Lock
from time import monotonic

from placer.counting.account import Account
from placer.explain.explain import DEFAULT_SECONDS, explain
from placer.explain.explanation import Explanation
from placer.greedy.expected.loading import preload_compiled_scores
from placer.judge.misfits import Misfit, misfits_on_node
from placer.scheduling.arriving import BatchArrivals
from placer.scheduling.checks import (
    check_batch,
    check_deadline,
    check_node_names,
    check_running_pods,
    defaults_shared_by_all_nodes,
    legal_gangs_of_batch,
)
from placer.scheduling.decide import (
    LEAST_TIME_S,
    cluster_with_batch_placed,
    node_strategy_or_default,
    solve_and_judge,
)
from placer.scheduling.decision import Batch, ClusterChange, Decision, SchedulerSnapshot
from placer.scheduling.deployment import cluster_after_decision, places_changed_since_decision
from placer.scheduling.errors import (
    ContradictionError,
    NodeExistsError,
    NodeInUseError,
    StaleDecisionError,
    UnknownPodError,
)
from placer.scheduling.expectation import Expectation
from placer.scheduling.expecting import ExpectationTracker
from placer.scheduling.refusal import Refusal
from placer.scheduling.scheduler_state import NodesAndPods, changed_places, nodes_and_pods_of
from placer.search.baseline import CacheBetweenSolves
from placer.search.garbage import without_garbage_collection
from placer.search.options import Engine, SolveOptions
from placer_models.cluster import Instance, Node, RunningPod, nodes_with_defaults
from placer_models.defaults import NO_DEFAULTS, Defaults
from placer_models.demand import ExpectedDemand
from placer_models.node_strategy import NodeStrategy
from placer_models.placement import Move, NamespacedName, Placement, PodPlacement
from placer_models.pod import pods_of_gangs
from placer_models.typed import check_argument_types

CONFIRM_S = 1.0
"""Seconds that `confirm` may take if pods are laid anew, unless told otherwise."""

MOST_CACHES = 4
"""How many copies are kept of what calls leave to later ones: one for each thread at work."""


class Scheduler:
    """A cluster: its nodes, what runs on them, and who runs where next.

    Three parts that can be used alone (B17): resources (nodes come and go, pods are
    released), scheduling (``place`` as a dry run), and deployment (``confirm``, which asks
    the nodes as they are by then).

    A call takes effect whole, at its end, or not at all, also when it raises. What is
    free is counted from the words, so the accounts always equal a fresh count (D14).

    Threads: every method may be called from any thread. Calls that change something go
    one at a time; a ``place`` that takes its decision holds the others up while it
    solves. Reading and dry runs wait for nobody, and see one version of the state.
    Processes share nothing; a signal handler must not call what changes something.
    """

    @check_argument_types
    def __init__(
        self,
        nodes: Iterable[Node] = (),
        running: Iterable[RunningPod] = (),
        defaults: Defaults | None = None,
        demand: ExpectedDemand | None = None,
    ) -> None:
        """Begin with nodes and the pods that run on them, as found.

        Running pods may break rules, which ``misfits`` tells: the cluster is as it is.

        Args:
            nodes: The nodes.
            running: What runs on them.
            defaults: What holds where neither a pod nor its node says anything, for these nodes
                and those that come (C22). None: those that the nodes have, if they are of an
                instance with defaults.
            demand: The pods that are expected (strategy ``expected``). None: it is learned from
                the pods that run and arrive.

        Raises:
            SchedulerError: Two nodes have one name or different defaults, or a running pod is
                there twice or on no node.

        """
        self._lock = Lock()
        self._caches: deque[CacheBetweenSolves] = deque(maxlen=MOST_CACHES)
        self._earlier = Placement()  # of the last decision that places anybody
        nodes = tuple(nodes)
        self._defaults = defaults_shared_by_all_nodes(nodes) if defaults is None else defaults
        self._state = _open(nodes_with_defaults(nodes, self._defaults), tuple(running), 0)
        self._expecting = ExpectationTracker(Expectation(demand, demand is not None))
        self._expecting.arrive(
            runner.pod for record in self._state.records for runner in record.pods
        )
        preload_compiled_scores(self._state.nodes)

    @classmethod
    @check_argument_types
    def restore(cls, snapshot: SchedulerSnapshot) -> "Scheduler":
        """Return a Scheduler that continues from a snapshot.

        Decisions made before it can be confirmed, as in the Scheduler that it was taken of.
        """
        instance = snapshot.instance
        scheduler = cls(defaults=instance.common_defaults)
        scheduler._state = _open(instance.nodes, tuple(instance.running), snapshot.version)
        scheduler._expecting = ExpectationTracker(snapshot.expectation)
        preload_compiled_scores(scheduler._state.nodes)
        return scheduler

    def fork(self) -> "Scheduler":
        """Return a Scheduler that begins with the state as it is now, and goes its own way.

        It answers "what if", and costs next to nothing: states never change, so both share this
        one. Its decisions can be confirmed here.
        """
        scheduler = Scheduler()
        scheduler._caches = self._caches
        scheduler._earlier = self._earlier
        scheduler._state = self._state
        scheduler._expecting = self._expecting.forked()
        return scheduler

    @property
    def version(self) -> int:
        """The number of calls so far that changed something."""
        return self._state.version

    def snapshot(self) -> SchedulerSnapshot:
        """Return the whole state as it is now."""
        state, expectation = self._state, self._expecting.now
        return SchedulerSnapshot(
            Instance(
                nodes=state.nodes,
                gangs=(),
                running=tuple(runner for record in state.records for runner in record.pods),
                defaults=None if self._defaults == NO_DEFAULTS else self._defaults,
                demand=expectation.given,
            ),
            state.version,
            expectation,
        )

    @property
    def demand(self) -> ExpectedDemand:
        """The pods that are expected, given or learned, with the prices of their places."""
        return self._expecting.demand_on(self._state)

    @check_argument_types
    def placement_of(self, pod: NamespacedName) -> PodPlacement:
        """Return where a pod runs now; LS and BE pods run in their pool as it is now (C7).

        Raises:
            UnknownPodError: The pod does not run.

        """
        state = self._state
        if pod not in state.node_of:
            raise UnknownPodError((pod,))
        return state.runner(pod).placement

    @check_argument_types
    def running_on(self, node: str) -> tuple[RunningPod, ...]:
        """Return what runs on a node, ascending by key.

        Raises:
            UnknownNodeError: There is no such node.

        """
        return self._state.of(node).pods

    @check_argument_types
    def account_of(self, node: str) -> Account:
        """Count what is left on a node.

        Raises:
            UnknownNodeError: There is no such node.

        """
        return self._state.of(node).account

    def misfits(self) -> tuple[Misfit, ...]:
        """Return all running pods that would not be allowed on their node if they came now."""
        return tuple(
            misfit
            for record in self._state.records
            for misfit in misfits_on_node(record.node, record.pods)
        )

    @check_argument_types
    def place(
        self,
        batch: Batch,
        deadline_s: float,
        dry_run: bool = False,
        options: SolveOptions | None = None,
        skip_illegal: bool = False,
        move_budget: int = 0,
    ) -> Decision:
        """Decide where the pods of a batch run, and make it so unless it is a dry run.

        A search, under any engine but ``greedy``, begins with the places that the last decision
        had for pods that wait again, where they keep all rules still and are better than the
        greedy answer. So a dry run that is repeated goes on where the last one stopped.

        Args:
            batch: Pods that do not run yet.
            deadline_s: Seconds from this call to its end, waiting for other calls
                included. It takes the place of the time limit in the options.
            dry_run: Change nothing; ``confirm`` takes the decision later.
            options: How to solve.
            skip_illegal: Whether pods that ask for what no pod may ask for are left out, each
                with its reason in the answer. A gang that lacks them for its minimum is left
                out whole, and so is its group.
            move_budget: How many running pods may get other places to make room (G5). They
                are part of the decision (``moves``), and taken with it or not at all: they leave
                their places before anybody comes. Members of gangs do not move, for the
                Scheduler does not know what their gangs ask for.

        Raises:
            PodAlreadyRunningError: Pods of the batch run already.
            BadPodError: A pod asks for what no pod may ask for, and none is to be skipped.
            ContradictionError: The batch contradicts itself.
            SolverError: Parts of Placer contradict each other: a defect of ours.
            ValueError: The deadline is not later than now, or the move budget is negative.

        """
        check_deadline(deadline_s)
        if move_budget < 0:
            raise ValueError(f"move_budget is {move_budget}; it is 0 pods or more")
        options = options or SolveOptions()
        if dry_run:
            return self._decide(
                self._state, batch, options, deadline_s, skip_illegal, move_budget, dry_run=True
            )[0]
        called_s = monotonic()
        with self._lock:
            left_s = max(LEAST_TIME_S, deadline_s - (monotonic() - called_s))
            state = self._state
            decision, after = self._decide(
                state, batch, options, left_s, skip_illegal, move_budget, dry_run=False
            )
            if after is None:
                after = cluster_with_batch_placed(state, batch, decision.placement.pods)
            change = self._become(after, moved=decision.moves)
        return replace(decision, change=change)

    @check_argument_types
    def confirm(
        self,
        decision: Decision,
        deadline_s: float = CONFIRM_S,
        options: SolveOptions | None = None,
    ) -> ClusterChange | Refusal:
        """Take a decision, if its pods still fit the nodes that it gives them (B16).

        If the very CPUs, devices or bytes that it names are gone, the pods of that node are
        laid anew there, as well as was decided if possible, provided that all of them have
        a place. The tiers of the decision remain those of its version. The judge checks
        everything before anything is taken, so nothing is ever given out twice.

        Args:
            decision: All of its pods are taken, or none.
            deadline_s: Seconds from this call to its end, waiting for other calls
                included, where pods are laid anew.
            options: How to solve in that case.

        Raises:
            ValueError: The deadline is not later than now.

        """
        check_deadline(deadline_s)
        options = options or SolveOptions(workers=1)
        called_s = monotonic()
        with self._lock:
            left_s = max(LEAST_TIME_S, deadline_s - (monotonic() - called_s))
            state = self._state
            after = cluster_after_decision(state, decision, replace(options, time_limit_s=left_s))
            if isinstance(after, Refusal):
                self._earlier = decision.placement
                return after
            laid_anew = places_changed_since_decision(after, decision)
            return self._become(after, laid_anew=laid_anew, moved=decision.moves)

    @check_argument_types
    def explain(
        self,
        decision: Decision,
        pod: NamespacedName | None = None,
        seconds: float = DEFAULT_SECONDS,
    ) -> tuple[Explanation, ...]:
        """Explain why pods of a decision have no place, and what would give them one (G7).

        Args:
            decision: A dry run on the cluster as it is, or what the last call that changed
                something has taken.
            pod: The pod or the gang that is asked about; None: all without a place.
            seconds: How long changes are looked for.

        Raises:
            StaleDecisionError: The cluster has changed since.
            ContradictionError: No such pod waits in the batch.

        """
        state = self._state
        known = decision.version if decision.change is None else decision.change.version
        if known != state.version:
            raise StaleDecisionError(known, state.version)
        if decision.change is not None:
            homes = [replace(state.runner(m.home.key), placement=m.home) for m in decision.moves]
            state = state.replaced((place.key for place in decision.placement.pods), homes)
        legal = legal_gangs_of_batch(decision.batch, state.nodes, skip_illegal=True)
        asked = None if pod is None else (pod,)
        try:
            return explain(state.asking(legal), decision.answer, asked, seconds)
        except ValueError as error:
            raise ContradictionError(str(error)) from None

    @check_argument_types
    def release(self, pods: Iterable[NamespacedName]) -> ClusterChange:
        """Take pods off their nodes: all that are named, or none of them.

        Raises:
            UnknownPodError: Some of the pods do not run.

        """
        keys = tuple(dict.fromkeys(pods))
        with self._lock:
            unknown = tuple(key for key in keys if key not in self._state.node_of)
            if unknown:
                raise UnknownPodError(unknown)
            return self._become(self._state.without_pods(keys))

    @check_argument_types
    def add_node(self, node: Node) -> ClusterChange:
        """Add a node on which nothing runs yet.

        Raises:
            NodeExistsError: There is a node of that name already.

        """
        with self._lock:
            if node.name in self._state:
                raise NodeExistsError(node.name)
            change = self._become(self._state.with_node(self._ours(node)))
        preload_compiled_scores(self._state.nodes)
        return change

    @check_argument_types
    def update_node(self, node: Node) -> ClusterChange:
        """Replace the facts about a node: machine, labels, health, cordon.

        Pods keep their places; those that no longer fit are reported.

        Raises:
            UnknownNodeError: There is no node of that name.

        """
        with self._lock:
            after = self._updated(self._ours(node))
            record = after.of(node.name)
            return self._become(after, misfits_on_node(record.node, record.pods))

    @check_argument_types
    def remove_node(self, name: str) -> ClusterChange:
        """Remove a node on which nothing runs.

        Raises:
            UnknownNodeError: There is no such node.
            NodeInUseError: Pods run there.

        """
        with self._lock:
            pods = self._state.of(name).pods
            if pods:
                raise NodeInUseError(name, tuple(runner.pod.key for runner in pods))
            return self._become(self._state.without_node(name))

    @check_argument_types
    def cordon(self, name: str) -> ClusterChange:
        """Let nothing new run on a node; what runs there stays.

        Raises:
            UnknownNodeError: There is no such node.

        """
        return self._cordoned(name, cordoned=True)

    @check_argument_types
    def uncordon(self, name: str) -> ClusterChange:
        """Let new pods run on a node again.

        Raises:
            UnknownNodeError: There is no such node.

        """
        return self._cordoned(name, cordoned=False)

    def _decide(
        self,
        state: NodesAndPods,
        batch: Batch,
        options: SolveOptions,
        limit_s: float,
        skip_illegal: bool,
        move_budget: int,
        *,
        dry_run: bool,
    ) -> tuple[Decision, NodesAndPods | None]:
        """Decide as `place` does; beside it stands the cluster afterwards, if that is known.

        Pods are known by then, in a dry run too, but what they teach is counted when the next
        call comes, or where they were placed in turn and will be there.
        """
        check_batch(batch, state.node_of)
        pods, expecting, arriving = tuple(pods_of_gangs(batch.gangs)), self._expecting, None
        with without_garbage_collection() as collect:
            legal = legal_gangs_of_batch(batch, state.nodes, skip_illegal=skip_illegal)
            strategy = node_strategy_or_default(state, options)
            if strategy is NodeStrategy.EXPECTED:
                arriving = BatchArrivals(pods, expecting.demand_on(state), expecting)
            cache, earlier = self._cache(), self._earlier
            options = replace(options, strategy=strategy, time_limit_s=limit_s)
            if options.engine is not Engine.GREEDY:
                collect()
            decided = solve_and_judge(
                state, batch, legal, options, arriving, cache, move_budget, earlier
            )
        self._caches.append(cache)
        self._earlier = decided[0].placement if decided[0].placement.pods else earlier
        if dry_run or arriving is None or arriving.ahead is None:
            expecting.arrive(pods)
        else:
            expecting.follow(arriving.ahead, pods)
        return decided

    def _cache(self) -> CacheBetweenSolves:
        """Take out what an earlier call has left, so that no other call uses it meanwhile.

        A call puts it back at its end; a call that fails does not, so its traces are forgotten.
        """
        try:
            return self._caches.pop()
        except IndexError:
            return CacheBetweenSolves()

    def _cordoned(self, name: str, *, cordoned: bool) -> ClusterChange:
        with self._lock:
            node = replace(self._state.of(name).node, cordoned=cordoned)
            return self._become(self._updated(node))

    def _ours(self, node: Node) -> Node:
        (ours,) = nodes_with_defaults((node,), self._defaults)
        return ours

    def _updated(self, node: Node) -> NodesAndPods:
        old = self._state.of(node.name).node
        return self._state if node == old else self._state.with_node(node)

    def _become(
        self,
        after: NodesAndPods,
        misfits: tuple[Misfit, ...] = (),
        laid_anew: tuple[PodPlacement, ...] = (),
        moved: tuple[Move, ...] = (),
    ) -> ClusterChange:
        """Change the state; the last thing that a call does."""
        followers = changed_places(self._state, after)
        change = ClusterChange(after.version, followers, misfits, laid_anew, moved)
        self._state = after
        return change


def _open(nodes: tuple[Node, ...], running: tuple[RunningPod, ...], version: int) -> NodesAndPods:
    check_node_names(nodes)
    check_running_pods(running, {node.name for node in nodes})
    with without_garbage_collection():
        return nodes_and_pods_of(nodes, running, version)
