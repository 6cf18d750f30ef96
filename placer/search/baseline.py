"""The baseline of a solve: the nodes as they are, counted."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from placer.counting.account import Account, accounts_of
from placer.greedy.cache import GreedyCache
from placer.judge.scene import NodesBefore
from placer.search.by_columns.places import SimplePodPlacer
from placer.search.kept_blockers import AskBlockerByNodeCache
from placer.state.problem_cache import ProblemCache
from placer_models.cluster import Instance, Node, RunningPod
from placer_models.incremental import PersistentTuple
from placer_models.placement import NamespacedName, PodPlacement
from placer_models.pod import Gang


@dataclass(slots=True)
class CacheBetweenSolves:
    """A cache of what is worth keeping from one solve on a cluster to the next one.

    No answer depends on it. Only one thread may use it at a time.
    """

    problems: ProblemCache = field(default_factory=ProblemCache)
    greedy: GreedyCache = field(default_factory=GreedyCache)
    nodes_before: NodesBefore = field(default_factory=NodesBefore)
    blockers: AskBlockerByNodeCache = field(default_factory=AskBlockerByNodeCache)
    places: SimplePodPlacer = field(default_factory=SimplePodPlacer)


class StartingAccounts:
    """The nodes of an instance before anything is placed. Never changes.

    Attributes:
        running: What runs on each node, in the instance's order.
        accounts: What is left on each node.
        cache: What earlier solves have left.

    """

    __slots__ = ("_before", "_nodes", "accounts", "cache", "running")

    def __init__(
        self,
        nodes: tuple[Node, ...],
        running: PersistentTuple[tuple[RunningPod, ...]],
        accounts: PersistentTuple[Account],
        cache: CacheBetweenSolves,
    ) -> None:
        """Note what is known of nodes.

        Args:
            nodes: The nodes, with unique names.
            running: What runs on each of them.
            accounts: What that leaves on each of them.
            cache: What earlier solves have left.

        """
        self.running, self.accounts, self.cache = running, accounts, cache
        self._nodes = nodes
        self._before: NodesBefore | None = None

    @property
    def nodes_before(self) -> NodesBefore:
        """The same for the judge, which counts for itself, and not before it is asked."""
        if self._before is None:
            self._before = self.cache.nodes_before.then(self._nodes, self.running)
            self.cache.nodes_before = self._before
        return self._before


def starting_accounts_of(instance: Instance) -> StartingAccounts:
    """Return the baseline of an instance of which nothing has been counted yet."""
    accounts = PersistentTuple.of(accounts_of(instance))
    return StartingAccounts(
        instance.nodes, running_pods_of_each_node(instance), accounts, CacheBetweenSolves()
    )


def running_pods_of_each_node(instance: Instance) -> PersistentTuple[tuple[RunningPod, ...]]:
    """Return what runs on each node of an instance."""
    there: dict[str, list[RunningPod]] = {node.name: [] for node in instance.nodes}
    for runner in instance.running:
        if runner.placement.node in there:
            there[runner.placement.node].append(runner)
    return PersistentTuple.of(map(tuple, there.values()))


def placed_pods_as_running(
    gangs: Iterable[Gang], place_of: Mapping[NamespacedName, PodPlacement]
) -> tuple[RunningPod, ...]:
    """Return the pods of gangs that have a place, as they run there."""
    return tuple(
        RunningPod(pod, place_of[pod.key])
        for gang in gangs
        for pod in gang.pods
        if pod.key in place_of
    )
