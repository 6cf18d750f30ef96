"""Places for a gang that asks for levels of the network.

Regions are tried in which the gang could be: first those that keep all its wishes, then
those that keep fewer. Inside a region domains are filled one after the other: next comes the
tightest that holds all that is left, or else the roomiest. So few domains are used.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from placer.greedy.columns import Indices, Mask
from placer.greedy.gang_order import gang_pods_most_demanding_first
from placer.greedy.node_table import GreedyNodeTable
from placer.greedy.offer import AT, NO_PRICE, PlacePrice
from placer_models.goals import AFTER_PLACED, GATHERING
from placer_models.network import GangNetworkLevelRuleKind
from placer_models.problem.problem import Choice
from placer_models.problem.tasks import ProblemGang, ProblemLevelRule

MOST_REGIONS = 4
"""How many regions are tried for one gang with one set of its wishes."""

DEARER = sum(tier in AT for tier in AFTER_PLACED[: AFTER_PLACED.index(GATHERING)])
"""How many parts of a price come before tier ``gathering``."""

_Places = list[tuple[int, Choice]]


def place_gang_by_network_levels(table: GreedyNodeTable, gang: ProblemGang, most: int) -> bool:
    """Place members of a gang, none of which is placed yet.

    Returns:
        Whether the gang has its minimum; else nothing stays placed.

    """
    filling = _Filling(table, gang, most)
    mark = table.mark()
    best: tuple[tuple[int, ...], _Places] | None = None
    for regions in filling.stages():
        for nodes in regions:
            filling.fill(nodes)
            found = (filling.value(mark), table.since(mark))
            table.undo(mark)
            if best is None or found[0] > best[0]:
                best = found
        if best is not None and filling.cannot_gain(best[0]):
            break
    if best is None or len(best[1]) < gang.minimum:
        return False
    for pod, choice in best[1]:
        table.take(pod, choice)
    if table.affinity is not None and not table.affinity.holds(table.choices):
        table.undo(mark)  # What was taken back had been the company of another pod.
        return False
    return True


def node_mask_for_next_gang_member(table: GreedyNodeTable, gang: ProblemGang) -> Mask:
    """Return which nodes may take one more member, given those already placed."""
    nodes = _nodes_of(table, gang)
    mask = np.ones(len(table.problem.nodes), dtype=np.bool_)
    if gang.gathered and nodes:
        mask &= np.arange(len(mask)) == nodes[0]
    for task in gang.levels:
        if task.required:
            mask &= _open(table, task, nodes)
    return mask


def _open(table: GreedyNodeTable, task: ProblemLevelRule, nodes: Sequence[int]) -> Mask:
    """Return the nodes where one more member keeps what the gang asks of a level."""
    domains = table.domains(task.level)
    taken = domains[list(nodes)]
    match task.grouping:
        case GangNetworkLevelRuleKind.GATHER:
            return domains == taken[0] if len(taken) else np.ones(len(domains), dtype=np.bool_)
        case GangNetworkLevelRuleKind.SPREAD:
            counts = np.bincount(taken, minlength=int(domains.max(initial=0)) + 1)
            return counts[domains] < task.count
        case GangNetworkLevelRuleKind.MULTIPLES:
            # What is left over is taken back when a domain is full.
            return np.ones(len(domains), dtype=np.bool_)


def _nodes_of(table: GreedyNodeTable, gang: ProblemGang) -> list[int]:
    """Return the node of each member that has a place."""
    return [place.node for pod in gang.pods if (place := table.place_of(pod))]


@dataclass(slots=True)
class _Filling:
    """Fills regions with the members of one gang, which are then placed in the table."""

    table: GreedyNodeTable
    gang: ProblemGang
    most: int
    pods: list[int] = field(init=False)
    rooms: dict[int, int] = field(default_factory=dict)
    prices: dict[int, PlacePrice] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.pods = gang_pods_most_demanding_first(self.table.problem, self.gang.pods)

    def stages(self) -> Iterator[list[Indices]]:
        """Yield the regions to try: with all wishes to gather kept, then with fewer."""
        problem = self.table.problem
        shapes = {problem.pods[pod] for pod in self.gang.pods}
        nodes: Indices = np.array(self.table.hosts(shapes), dtype=np.intp)
        if self.table.affinity is not None:
            open_to = [self.table.affinity.allowed(shape)[nodes] for shape in sorted(shapes)]
            nodes = nodes[np.logical_or.reduce(open_to)]
        must: list[Sequence[int]] = [range(len(problem.nodes))] if self.gang.gathered else []
        wish: list[Sequence[int]] = []
        for task in self.gang.levels:
            if task.grouping is GangNetworkLevelRuleKind.GATHER:
                (must if task.required else wish).append(problem.domains[task.level])
        wish.sort(key=lambda domains: len(set(domains)))
        for kept in range(len(wish), -1, -1):
            yield self._roomiest(_split(nodes, [*must, *wish[:kept]]))

    def fill(self, nodes: Indices) -> None:
        """Place members on the nodes, as many as can be."""
        problem = self.table.problem
        tasks = [
            task
            for task in self.gang.levels
            if task.grouping is GangNetworkLevelRuleKind.MULTIPLES
            or (task.grouping is GangNetworkLevelRuleKind.GATHER and not task.required)
        ]
        tasks.sort(key=lambda task: len(set(problem.domains[task.level])))
        self._fill(nodes, tasks, self.table.mark())

    def value(self, mark: int) -> tuple[int, ...]:
        """Return the worth of what was placed since the mark; more is better."""
        placed = self.table.since(mark)
        prices = [NO_PRICE, *(self.prices[pod] for pod, _ in placed)]
        total = tuple(-sum(column) for column in zip(*prices, strict=True))
        short = self._short([choice.node for _, choice in placed])
        return (len(placed), *total[:DEARER], -short, *total[DEARER:])

    def cannot_gain(self, value: tuple[int, ...]) -> bool:
        """Return whether fewer wishes cannot do better: all are placed, at no cost before them."""
        placed, *dearer = value[: 1 + DEARER]
        return placed >= self.most and not any(dearer)

    def _roomiest(self, regions: Sequence[Indices]) -> list[Indices]:
        """Return the regions worth trying: the tightest that hold all, else the roomiest."""
        rooms = [(self._room(nodes), index) for index, nodes in enumerate(regions)]
        enough = sorted(pair for pair in rooms if pair[0] >= self.most)
        fewer = sorted((-room, index) for room, index in rooms if 0 < room < self.most)
        chosen = [index for _, index in (*enough, *fewer)]
        return [regions[index] for index in chosen[:MOST_REGIONS]]

    def _room(self, nodes: Iterable[int]) -> int:
        """Return how many members the nodes hold, each node by itself."""
        return sum(self._room_in(self.table.state(int(node))) for node in nodes)

    def _room_in(self, state: int) -> int:
        if state not in self.rooms:
            room, hopeless, left = 0, set[int](), state
            for pod in self.pods:
                shape = self.table.problem.pods[pod]
                bid = None if shape in hopeless else self.table.bid(shape, left)
                if bid is None:
                    hopeless.add(shape)
                else:
                    room, left = room + 1, self.table.next_state(shape, left, bid)
            self.rooms[state] = room
        return self.rooms[state]

    def _missing(self) -> list[int]:
        """Return the members without a place."""
        return [pod for pod in self.pods if self.table.place_of(pod) is None]

    def _fill(self, nodes: Indices, tasks: Sequence[ProblemLevelRule], mark: int) -> None:
        """Fill domain by domain, those of the widest level first."""
        if not tasks:
            self._place(nodes)
            return
        parts = _split(nodes, [self.table.problem.domains[tasks[0].level]])
        while parts:
            left = self.most - len(_nodes_of(self.table, self.gang))
            if left <= 0:
                return
            rooms = [self._room(part) for part in parts]
            tightest = min(
                range(len(parts)), key=lambda i: (rooms[i] < left, abs(rooms[i] - left), i)
            )
            self._fill(parts.pop(tightest), tasks[1:], mark)
            self._trim(tasks, mark)

    def _place(self, nodes: Indices) -> None:
        here = np.zeros(len(self.table.problem.nodes), dtype=np.bool_)
        here[nodes] = True
        hopeless: set[int] = set()
        for pod in self._missing():
            shape = self.table.problem.pods[pod]
            if shape in hopeless:
                continue
            if len(_nodes_of(self.table, self.gang)) >= self.most:
                return
            choice = self._find(pod, here & node_mask_for_next_gang_member(self.table, self.gang))
            if choice is None:
                hopeless.add(shape)
                continue
            bid = self.table.bid(shape, self.table.state(choice.node))
            assert bid is not None, "the choice is this bid"
            self.prices[pod] = bid.price
            self.table.take(pod, choice)

    def _find(self, pod: int, mask: Mask) -> Choice | None:
        """Return the best place, if possible where a preferred spread allows one more member."""
        wished = mask
        nodes = _nodes_of(self.table, self.gang)
        for task in self.gang.levels:
            if task.grouping is GangNetworkLevelRuleKind.SPREAD and not task.required:
                wished = wished & _open(self.table, task, nodes)
        found = self.table.find(pod, wished)
        return found if found is not None or wished is mask else self.table.find(pod, mask)

    def _trim(self, tasks: Sequence[ProblemLevelRule], mark: int) -> None:
        """Take back the members left over from multiples in each domain, the last ones first."""
        tasks = [task for task in tasks if task.grouping is GangNetworkLevelRuleKind.MULTIPLES]
        kept = placed = self.table.since(mark)
        before = None
        while before != len(kept):
            before = len(kept)
            for task in tasks:
                kept = _whole_multiples(kept, self.table.domains(task.level), task.count)
        if len(kept) < len(placed):
            self.table.undo(mark)
            for pod, choice in kept:
                self.table.take(pod, choice)

    def _short(self, nodes: Sequence[int]) -> int:
        """Return the gang's part of tier ``gathering``."""
        short = 0
        for task in self.gang.levels:
            if task.required or not nodes:
                continue
            counts = np.bincount(self.table.domains(task.level)[list(nodes)])
            if task.grouping is GangNetworkLevelRuleKind.GATHER:
                short += int((counts > 0).sum()) - 1
            else:
                short += int(np.maximum(counts - task.count, 0).sum())
        return short


def _whole_multiples(placed: _Places, domains: Indices, count: int) -> _Places:
    members: defaultdict[int, _Places] = defaultdict(list)
    for pod, choice in placed:
        members[int(domains[choice.node])].append((pod, choice))
    kept = {pod for here in members.values() for pod, _ in here[: len(here) - len(here) % count]}
    return [(pod, choice) for pod, choice in placed if pod in kept]


def _split(nodes: Indices, levels: Sequence[Sequence[int]]) -> list[Indices]:
    """Return the nodes by their domains at the levels, in the order of their first nodes."""
    parts: defaultdict[tuple[int, ...], list[int]] = defaultdict(list)
    for node in nodes:
        parts[tuple(domains[node] for domains in levels)].append(int(node))
    return [np.array(part, dtype=np.intp) for part in parts.values()]
