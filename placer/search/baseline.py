"""The baseline of a solve: the nodes as they are, counted."""

from dataclasses import dataclass, field

from placer.counting.account import Account, accounts_of
from placer.greedy.node_table import NodeTableCache
from placer.judge.scene import NodesBefore, Sites, sites_of
from placer.state.problem_cache import ProblemCache
from placer_models.cluster import Instance, Node, RunningPod
from placer_models.incremental import PersistentTuple
from placer_models.records import record


@dataclass(slots=True)
class SolveCache:
    """A cache of what is worth keeping from one solve on a cluster to the next one.

    No answer depends on it. Only one thread may use it at a time.
    """

    problems: ProblemCache = field(default_factory=ProblemCache)
    tables: NodeTableCache = field(default_factory=NodeTableCache)
    sites: Sites = field(default_factory=Sites)


@record(frozen=True, slots=True)
class Baseline:
    """The nodes of an instance before anything is placed.

    Attributes:
        accounts: What is left on each node, in the instance's order.
        nodes_before: The same for the judge, which counts for itself.
        cache: What earlier solves have left.

    """

    accounts: PersistentTuple[Account]
    nodes_before: NodesBefore
    cache: SolveCache


def baseline_of(instance: Instance) -> Baseline:
    """Return the baseline of an instance of which nothing has been counted yet."""
    return Baseline(PersistentTuple.of(accounts_of(instance)), sites_of(instance), SolveCache())


def known_baseline(
    nodes: tuple[Node, ...],
    running: PersistentTuple[tuple[RunningPod, ...]],
    accounts: PersistentTuple[Account],
    cache: SolveCache,
) -> Baseline:
    """Return the baseline of nodes that are counted already.

    Args:
        nodes: The nodes, with unique names.
        running: What runs on each of them.
        accounts: What that leaves on each of them.
        cache: What earlier solves have left.

    """
    return Baseline(accounts, cache.sites.of(nodes, running), cache)
