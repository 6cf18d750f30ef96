"""Alike nodes: of nodes that no pod can tell apart a change needs few, so trials look at few (G7).

Where pods look at nothing beyond their node, a placement of some pods has no more nodes of one sort
than there are pods, and which of the sort they are is all the same. So whatever fits fits with the
first few of each sort, and what does not fit there fits nowhere.
"""

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from placer.counting.account import Account, account_of, idle_account_key
from placer.search.baseline import CacheBetweenSolves, StartingAccounts, running_pods_of_each_node
from placer.state.batch import build_problem
from placer_models.cluster import Instance, Node, RunningPod, with_only_gangs
from placer_models.incremental import PersistentTuple
from placer_models.pod import Gang, Pod, PodSpec, lone_gang
from placer_models.relations import asks_something_of_newcomers, asks_something_of_other_pods
from placer_models.whatif.pods import POLICIES

Sorts = Sequence[int]
"""The number of each node's sort; nodes of one sort are alike."""


def alike_node_group_numbers(instance: Instance, baseline: StartingAccounts) -> Sorts | None:
    """Return the sorts of an instance's nodes, for the gangs that wait in it.

    They hold with changes, too: pods that ask for less, or give something up, tell no more nodes
    apart, and nodes with broken devices, which may be mended, are alike to none.

    Returns:
        None where somebody looks beyond a node: then which nodes there are may matter.

    """
    specs = dict.fromkeys(pod.spec for gang in instance.gangs for pod in gang.pods)
    runners = {id(one.pod.spec): one.pod.spec for one in instance.running}.values()
    beyond = any(map(asks_something_of_other_pods, specs)) or any(
        map(asks_something_of_newcomers, runners)
    )
    if beyond or instance.groups or any(gang.levels for gang in instance.gangs):
        return None
    asked = dict.fromkeys(anyhow for spec in specs for anyhow in _anyhow(spec))
    waiting = tuple(_lone(f"asked-{i}", spec) for i, spec in enumerate(asked))
    problem = build_problem(
        replace(instance, gangs=waiting),
        baseline.accounts,
        each_core=True,
        absolute=True,
        cache=baseline.cache.problems,
    )
    numbers: dict[object, int] = {}
    return [
        numbers.setdefault((i if has_broken_device(node) else None, state), len(numbers))
        for i, (node, state) in enumerate(zip(instance.nodes, problem.nodes, strict=True))
    ]


@dataclass(slots=True)
class NodeSamplesForTrials:
    """The first few nodes of each sort, for trials; counted once for all that need as many.

    Attributes:
        instance: The instance with all nodes.
        baseline: The nodes, counted.
        sorts: Their sorts.

    """

    instance: Instance
    baseline: StartingAccounts
    sorts: Sorts
    _of_most: dict[int, tuple[Instance, StartingAccounts]] = field(default_factory=dict)

    def where_wait(self, gangs: Sequence[Gang]) -> tuple[Instance, StartingAccounts]:
        """Return as many nodes of each sort as the gangs have pods, or some more.

        The gangs, and no others, wait in the instance that is returned with its baseline.
        """
        pods = sum(len(gang.pods) for gang in gangs)
        most = 1 << (pods - 1).bit_length()  # few different numbers, so that most are known
        if most not in self._of_most:
            seen: Counter[int] = Counter()
            kept = []
            for i, sort in enumerate(self.sorts):
                seen[sort] += 1
                if seen[sort] <= most:
                    kept.append(i)
            self._of_most[most] = with_only_nodes(self.instance, self.baseline, kept)
        few, counted = self._of_most[most]
        return with_only_gangs(few, gangs), counted


def with_only_nodes(
    instance: Instance, baseline: StartingAccounts, kept: Sequence[int]
) -> tuple[Instance, StartingAccounts]:
    """Return the instance with some of its nodes, by their indices, and with who runs there."""
    nodes = tuple(instance.nodes[i] for i in kept)
    running = PersistentTuple.of(baseline.running[i] for i in kept)
    accounts = PersistentTuple.of(baseline.accounts[i] for i in kept)
    there = tuple(runner for of_node in running for runner in of_node)
    fewer = replace(instance, nodes=nodes, running=there)
    return fewer, StartingAccounts(nodes, running, accounts, CacheBetweenSolves())


def starting_accounts_after_change(
    changed: Instance, instance: Instance, baseline: StartingAccounts
) -> StartingAccounts:
    """Return the baseline of a changed instance; only nodes on which something changed are counted.

    Args:
        changed: The instance after a change.
        instance: The instance before it.
        baseline: The baseline of the instance before it.

    """
    if changed.nodes is instance.nodes and changed.running is instance.running:
        return baseline
    at = {node.name: i for i, node in enumerate(instance.nodes)}
    accounts: list[Account] = []
    idle: dict[Hashable, Account] = {}
    there: list[tuple[RunningPod, ...]] = []
    for node, runners in zip(changed.nodes, running_pods_of_each_node(changed), strict=True):
        i = at.get(node.name)
        if i is not None and instance.nodes[i] is node and _alike(runners, baseline.running[i]):
            accounts.append(baseline.accounts[i])
            known = baseline.running[i]
            same = all(one is other for one, other in zip(runners, known, strict=True))
            there.append(known if same else runners)
            continue
        there.append(runners)
        if runners:
            accounts.append(account_of(node, runners))
        else:
            key = idle_account_key(node)
            if key not in idle:
                idle[key] = account_of(node, ())
            accounts.append(idle[key])
    running = PersistentTuple.of(there)
    return StartingAccounts(changed.nodes, running, PersistentTuple.of(accounts), baseline.cache)


def _alike(some: Sequence[RunningPod], others: Sequence[RunningPod]) -> bool:
    """Return whether the same pods hold the same; whether they may move is not counted."""
    return len(some) == len(others) and all(
        one.pod is other.pod and one.placement is other.placement
        for one, other in zip(some, others, strict=True)
    )


def has_broken_device(node: Node) -> bool:
    """Return whether some device of a node is not healthy, by itself or as the node says."""
    return bool(node.unhealthy) or not all(device.healthy for device in node.machine.devices)


def _anyhow(spec: PodSpec) -> Iterator[PodSpec]:
    """Yield the spec, and what it is without one of its policies, and without all."""
    yield spec
    without = spec
    for relaxed in POLICIES.values():
        yield relaxed(spec)
        without = relaxed(without)
    yield without


def _lone(name: str, spec: PodSpec) -> Gang:
    return lone_gang(Pod(name, "default", spec))
