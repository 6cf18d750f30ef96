"""Gathering: the best node for a gang whose members must be together."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from placer.greedy.gang_order import gang_pods_most_demanding_first
from placer.greedy.node_strategy import usable_node_points
from placer.greedy.node_table import GreedyNodeTable
from placer.greedy.offer import NO_PRICE
from placer.greedy.switches import PodSwitchUse, whole_switch_points_lost
from placer.state.out_of_time import raise_if_out_of_time
from placer_models.device import GPU
from placer_models.links.best import best_device_set_among_free, best_pair_sum
from placer_models.links.board import pair_sum
from placer_models.problem.problem import Choice


@dataclass(frozen=True, slots=True)
class MembersOnOneNode:
    """Members of a gang inside one node.

    Attributes:
        cost: Less is better; more members come before everything else.
        members: (pod, place) of each of them.

    """

    cost: tuple[int, ...]
    members: tuple[tuple[int, Choice], ...]


def gather_on_one_node(
    table: GreedyNodeTable, pods: Sequence[int], minimum: int
) -> list[tuple[int, Choice]]:
    """Return places on the node that hosts the most of the pods, at the least cost.

    The answer is empty if no node hosts the minimum. Nothing is taken.
    """
    looked = _Looked(table, pods, minimum)
    nodes, costs = table.nodes_by_bound([table.problem.pods[pod] for pod in pods])
    for node, cost in zip(nodes, costs, strict=True):
        if looked.best is not None and _least(len(pods), cost) > looked.best[0]:
            break
        looked.look_into(node)
    if looked.best is None or -looked.best[0][0] < len(pods):
        for node in table.hosts({table.problem.pods[pod] for pod in pods}):
            looked.look_into(node)
    if looked.best is None:
        return []
    _, node = looked.best
    return [(pod, choice.on(node)) for pod, choice in looked.members]


class _Looked:
    """The best gathering on the nodes looked into. Equal nodes are looked into once.

    Attributes:
        best: (cost, node) of the best gathering, the first of equals; None: none was found.
        members: The members of the best gathering.

    """

    def __init__(self, table: GreedyNodeTable, pods: Sequence[int], minimum: int) -> None:
        self._table, self._pods, self._minimum = table, pods, minimum
        self._by_state: dict[int, MembersOnOneNode | None] = {}
        self.best: tuple[tuple[int, ...], int] | None = None
        self.members: tuple[tuple[int, Choice], ...] = ()

    def look_into(self, node: int) -> None:
        state = self._table.state(node)
        if state not in self._by_state:
            raise_if_out_of_time(self._table.stop)
            self._by_state[state] = _in_state(self._table, state, self._pods, self._minimum)
        found = self._by_state[state]
        if found is not None and (self.best is None or (found.cost, node) < self.best):
            self.best = (found.cost, node)
            self.members = found.members


def _least(members: int, bound: tuple[int, ...]) -> tuple[int, ...]:
    """Return the least that a gathering of all members costs, as in `MembersOnOneNode.cost`."""
    *priced, lost, spare = bound
    return (-members, *priced, 0, lost, spare)


def _in_state(
    table: GreedyNodeTable, state: int, pods: Sequence[int], minimum: int
) -> MembersOnOneNode | None:
    """Return the best gathering found on a node in the state."""
    hardest = gang_pods_most_demanding_first(table.problem, pods)
    found = _one_by_one(table, state, state, hardest)
    if len(found.members) < len(pods):
        found = min(found, _one_by_one(table, state, state, hardest[::-1]), key=_cost)
    if len(found.members) < minimum:
        return None
    fence = _fence(table, state, found)
    if fence is not None:
        members = [pod for pod, _ in found.members]
        found = min(found, _one_by_one(table, state, fence, members), key=_cost)
    return found


def _cost(gathering: MembersOnOneNode) -> tuple[int, ...]:
    return gathering.cost


def _one_by_one(
    table: GreedyNodeTable, state: int, view: int, pods: Sequence[int]
) -> MembersOnOneNode:
    """Place the pods in turn, each at its best; those that do not fit are passed over.

    Args:
        table: The table, whose nodes do not change.
        state: The state of the node.
        view: The state that the pods see: the same, or one with less left.
        pods: The pods in the order in which they are placed.

    """
    problem = table.problem
    first = state
    members = []
    prices = [NO_PRICE]
    hopeless: set[int] = set()
    for pod in pods:
        shape = problem.pods[pod]
        bid = None if shape in hopeless else table.bid(shape, view)
        if bid is None:
            hopeless.add(shape)
            continue
        members.append((pod, bid.choice))
        prices.append(bid.price)
        seen, view = view, table.next_state(shape, view, bid)
        state = view if seen == state else table.leaves(shape, state, bid.choice)
    *priced, lost = map(sum, zip(*prices, strict=True))
    short = _pair_sum_short(table, first, members)
    if table.left(first).load is None:
        before = table.left(first)
        lost = usable_node_points(before) - usable_node_points(table.left(state))
        if before.switches:
            takers = [
                PodSwitchUse.of(problem.shape_on(problem.pods[pod], before), place)
                for pod, place in members
            ]
            lost += whole_switch_points_lost(before, takers)
    spare = table.spare(state)
    cost = (-len(members), *priced, short, lost, spare)
    return MembersOnOneNode(cost, tuple(members))


def _fence(table: GreedyNodeTable, state: int, found: MembersOnOneNode) -> int | None:
    """Return the state without all GPUs but the best set that the members could share.

    The answer is None if the members' GPUs together are the best set already.
    """
    node = table.left(state)
    for i, bank in enumerate(node.banks):
        if bank.type != GPU or bank.shareable:
            continue  # Shares are fenced in by what is shared already.
        taken = sum(sum(choice.devices[i]) for _, choice in found.members)
        if not _pair_sum_short(table, state, found.members):
            continue
        best = best_device_set_among_free(bank.board, taken, bank.free)
        if best is not None:
            fenced = replace(bank, free=best.counts)
            banks = (*node.banks[:i], fenced, *node.banks[i + 1 :])
            return table.number(replace(node, banks=banks))
    return None


def _pair_sum_short(
    table: GreedyNodeTable, state: int, members: Sequence[tuple[int, Choice]]
) -> int:
    """Return how far the members' GPUs fall short of the best set, as tier 4c counts."""
    short = 0
    for i, bank in enumerate(table.left(state).banks):
        counts = tuple(map(sum, zip(*(choice.devices[i] for _, choice in members), strict=True)))
        shared = {
            (t.class_index, t.device_index)
            for _, choice in members
            for t in choice.shares
            if t.bank == i
        }
        for class_index, _ in shared:
            counts = (*counts[:class_index], counts[class_index] + 1, *counts[class_index + 1 :])
        if bank.type == GPU and sum(counts) > 1:
            short += (best_pair_sum(bank.board, sum(counts)) or 0) - pair_sum(bank.board, counts)
    return short
