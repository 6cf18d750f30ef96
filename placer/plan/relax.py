"""From a question to its market: pods become items, nodes become bins by sums and devices."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import gcd
from operator import ge

from placer.packing.bins import Counts, Vector
from placer.plan.cases import ScenarioUnderLoss, gangs_of_plan_cases, plan_cases_of
from placer.plan.market import BinDevicesOfOneType, BinKind, ItemDeviceAsk, PurchaseProblem
from placer.plan.numa_rooms import NUMA_NODES, numa_node_bins, numa_nodes_matter
from placer.plan.question import PlanQuestion
from placer.search.plain_pods import is_shape_barred_from_node
from placer.state.batch import build_problem
from placer_models.cluster import Instance
from placer_models.pod import Gang, PodSpec, lone_gang
from placer_models.problem.banks import DeviceBank, DeviceShareNeed, ShareableDevice
from placer_models.problem.dimensions import Dimension
from placer_models.problem.node_state import NodeState
from placer_models.problem.problem import Problem, Shape


@dataclass(frozen=True, slots=True)
class QuestionAsPacking:
    """A market, and what its numbers stand for.

    Attributes:
        market: The market: kinds of nodes that are there, then the offers.
        there: How many of its kinds are nodes that are there.
        nodes: For each kind of nodes that are there, their names.
        resources: For each kind, what its room counts.
        devices: For each kind, the types of its devices, and perhaps `NUMA_NODES`.
        cases: What the plan has to do for.
        item_of: For each case, spec of a pod -> its item.
        lost_of_any: Offers of which the market loses one node, whichever.
        lost: Items that stand for a bought node that is lost: a bin that holds one is gone.
        block_of: For each case a block of the market that asks for as much, or more.
        case_of: For each block of the market, the case that it is of.

    """

    market: PurchaseProblem
    there: int
    nodes: tuple[tuple[str, ...], ...]
    resources: tuple[Dimension, ...]
    devices: tuple[str, ...]
    cases: tuple[ScenarioUnderLoss, ...]
    item_of: tuple[dict[PodSpec, int], ...]
    lost_of_any: frozenset[int]
    lost: frozenset[int]
    block_of: tuple[int, ...]
    case_of: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _View:
    """The nodes of a case: cases with the same nodes share items and kinds.

    Attributes:
        problem: Its nodes, then one of each offer, and one pod of each spec of all cases.
        barred: Offers whose nodes are lost.
        loses_one: Offers of which one node may be lost; any one of them is.

    """

    problem: Problem
    names: tuple[str, ...]
    barred: frozenset[int]
    loses_one: frozenset[int]


@dataclass(frozen=True, slots=True)
class _Kind:
    """A kind of bins before items are told apart: sizes are of shapes.

    Attributes:
        views: The views in which its nodes are there.
        names: The names of these nodes; of an offer none.

    """

    bin: BinKind
    views: frozenset[int]
    names: tuple[str, ...] = ()


def question_as_packing(
    question: PlanQuestion,
    cases: Sequence[ScenarioUnderLoss] = (),
    *,
    surely_used: bool = False,
) -> QuestionAsPacking:
    """Return the market of a question.

    A plan that obeys all rules is a plan of the market, so what no plan of the market can do is
    beyond any plan.

    Args:
        question: The question.
        cases: Its cases, if they are known.
        surely_used: Whether some nodes of each offer are bought, so that one of each may be lost.
            Otherwise the market loses one node, of whatever offer, and something is bought.

    """
    cases = tuple(cases) or plan_cases_of(question)
    specs = list(
        dict.fromkeys(pod.spec for gang in gangs_of_plan_cases(cases) for pod in gang.pods)
    )
    probes = _probes(cases)
    views: list[_View] = []
    view_of: list[int] = []
    known: dict[object, int] = {}
    everything = frozenset(range(len(question.offers)))
    for case in cases:
        loses = frozenset[int]()
        if case.one_less is not None:
            loses = frozenset({case.one_less}) if surely_used else everything
        nodes, running = case.instance.nodes, case.instance.running
        key = (id(nodes), id(running), case.barred, loses)
        if key not in known:
            known[key] = len(views)
            views.append(_view(question, case, probes, loses))
        view_of.append(known[key])
    first = views[0].problem
    resources = tuple(dict.fromkeys(d for view in views for d in view.problem.dimensions))
    by_numa_node = any(numa_nodes_matter(view.problem) for view in views)
    kinds = _kinds(views, resources, len(question.offers), by_numa_node=by_numa_node)
    there = len(kinds) - len(question.offers)
    shape_of = dict(zip(specs, first.pods, strict=True))
    pairs = [(view, shape) for view in range(len(views)) for shape in range(len(first.shapes))]
    item_of_pair = _merged(kinds, pairs)
    firsts = list({item: pair for pair, item in reversed(item_of_pair.items())}.items())
    firsts.sort()
    lost_of = {
        view: len(firsts) + number
        for number, view in enumerate(v for v, one in enumerate(views) if one.loses_one)
    }
    units = _units([kind.bin for kind in kinds])
    bins = []
    for number, kind in enumerate(kinds):
        room = tuple(room // unit for room, unit in zip(kind.bin.room, units, strict=True))
        sizes: list[Vector | None] = [
            _in_units(kind.bin.sizes[shape], units) if view in kind.views else None
            for _, (view, shape) in firsts
        ]
        for view in lost_of:
            sizes.append(room if number - there in views[view].loses_one else None)
        offer = question.offers[number - there] if number >= there else None
        bins.append(
            BinKind(
                room,
                tuple(sizes),
                tuple(
                    _of_items(devices, [shape for _, (_, shape) in firsts], len(lost_of))
                    for devices in kind.bin.devices
                ),
                question.in_units(offer.price) if offer else 0,
                offer.most if offer else len(kind.names),
                offer.pack if offer else 1,
            )
        )
    item_of = tuple(
        {spec: item_of_pair[view, shape_of[spec]] for spec in specs} for view in view_of
    )
    width = len(firsts) + len(lost_of)
    blocks = []
    for case, view, items in zip(cases, view_of, item_of, strict=True):
        counts = [0] * width
        for gang in case.instance.gangs:
            for pod in gang.pods:
                counts[items[pod.spec]] += 1
        if view in lost_of:
            counts[lost_of[view]] = 1
        blocks.append(tuple(counts))
    kept = undominated_demands(blocks)
    return QuestionAsPacking(
        PurchaseProblem(tuple(bins), tuple(kept)),
        there,
        tuple(kind.names for kind in kinds[:there]),
        resources,
        (*_types(first), NUMA_NODES) if by_numa_node else _types(first),
        cases,
        item_of,
        max((view.loses_one for view in views), key=len),
        frozenset(lost_of.values()),
        tuple(next(i for i, other in enumerate(kept) if all(map(ge, other, b))) for b in blocks),
        tuple(map(blocks.index, kept)),
    )


def _probes(cases: Sequence[ScenarioUnderLoss]) -> tuple[Gang, ...]:
    """Return one pod of each spec, each in a gang that asks for what its own one does."""
    found: dict[PodSpec, Gang] = {}
    for gang in gangs_of_plan_cases(tuple(cases)):
        for pod in gang.pods:
            if pod.spec not in found:
                probe = replace(pod, name=f"probe-{len(found)}")
                found[pod.spec] = replace(lone_gang(probe), levels=gang.levels)
    return tuple(found.values())


def _view(
    question: PlanQuestion,
    case: ScenarioUnderLoss,
    probes: tuple[Gang, ...],
    loses: frozenset[int],
) -> _View:
    instance = with_one_of_each_offer(question, case.instance)
    problem = build_problem(replace(instance, gangs=probes, groups=()), absolute=True)
    names = tuple(node.name for node in case.instance.nodes)
    return _View(problem, names, case.barred, loses)


def _kinds(
    views: Sequence[_View], resources: Sequence[Dimension], offers: int, *, by_numa_node: bool
) -> list[_Kind]:
    """Return the kinds of all views: nodes that are there, by what each is; then the offers."""
    here: dict[str, list[BinKind | None]] = {}
    for number, view in enumerate(views):
        known: dict[NodeState, BinKind] = {}
        for name, state in zip(view.names, view.problem.nodes, strict=False):
            if state not in known:
                known[state] = _counted(view.problem, state, resources, by_numa_node)
            here.setdefault(name, [None] * len(views))[number] = known[state]
    groups: dict[tuple[BinKind, frozenset[int]], list[str]] = {}
    for name, contents in here.items():
        for content in dict.fromkeys(contents):
            if content is not None:
                own = frozenset(v for v, other in enumerate(contents) if other == content)
                groups.setdefault((content, own), []).append(name)
    kinds = [_Kind(content, own, tuple(names)) for (content, own), names in groups.items()]
    for offer in range(offers):
        state = views[0].problem.nodes[len(views[0].names) + offer]
        own = frozenset(v for v, view in enumerate(views) if offer not in view.barred)
        kinds.append(_Kind(_counted(views[0].problem, state, resources, by_numa_node), own))
    return kinds


def _counted(
    problem: Problem, node: NodeState, resources: Sequence[Dimension], by_numa_node: bool
) -> BinKind:
    """Return a node as a bin that counts these resources; one that nobody there asks for is 0."""
    found = bin_kind_of_node(problem, node, by_numa_node=by_numa_node)
    if tuple(resources) == problem.dimensions:
        return found
    at = {dimension: number for number, dimension in enumerate(problem.dimensions)}
    order = [at.get(dimension) for dimension in resources]

    def laid(amounts: Vector) -> Vector:
        return tuple(0 if number is None else amounts[number] for number in order)

    sizes = tuple(None if size is None else laid(size) for size in found.sizes)
    return replace(found, room=laid(found.room), sizes=sizes)


def with_one_of_each_offer(question: PlanQuestion, instance: Instance) -> Instance:
    """Return an instance with one node of each offer, and nobody who may move."""
    offered = tuple(replace(offer.node, offered=True) for offer in question.offers)
    return replace(instance, nodes=(*instance.nodes, *offered), move_budget=0)


def undominated_demands(blocks: Sequence[Counts]) -> list[Counts]:
    """Return the blocks without those that ask for no more of anything than another one."""
    kept: list[Counts] = []
    for block in sorted(set(blocks), key=sum, reverse=True):
        if not any(all(map(ge, other, block)) for other in kept):
            kept.append(block)
    return kept


def _types(problem: Problem) -> tuple[str, ...]:
    """Return the types of devices that somebody asks for."""
    asked = {kind for shape in problem.shapes for kind, _ in shape.devices}
    return tuple(sorted(asked | {need.type for shape in problem.shapes for need in shape.shares}))


def bin_kind_of_node(problem: Problem, node: NodeState, *, by_numa_node: bool) -> BinKind:
    """Return a node as a bin of shapes, in the Problem's units and without a price.

    Args:
        problem: The problem.
        node: One of its nodes.
        by_numa_node: Whether pods that have to be on one NUMA node are counted there.

    """
    sizes: list[Vector | None] = []
    for item, shape in enumerate(problem.shapes):
        takes = shape.amounts_on(node)
        never = is_shape_barred_from_node(problem, item, node)
        never = never or any(a > b for a, b in zip(takes, node.amounts, strict=True))
        sizes.append(None if never else tuple(takes))
    parts = [_devices(problem.shapes, node.bank(kind), kind) for kind in _types(problem)]
    if by_numa_node:
        parts.append(numa_node_bins(problem, node))
    for _, possible in parts:
        sizes = [size if may else None for size, may in zip(sizes, possible, strict=True)]
    return BinKind(tuple(node.amounts), tuple(sizes), tuple(devices for devices, _ in parts))


def _devices(
    shapes: Sequence[Shape], bank: DeviceBank | None, kind: str
) -> tuple[BinDevicesOfOneType, list[bool]]:
    """Return the devices of a type, and which shapes may have what they ask of them."""
    wanted = [[need for need in shape.shares if need.type == kind] for shape in shapes]
    members = [d for devices in bank.shareable for d in devices] if bank is not None else []
    free = sum(bank.free) if bank is not None else 0
    by_share = any(not need.whole for needs in wanted for need in needs) and bool(members)
    if not by_share:
        asks = tuple(ItemDeviceAsk(shape.count_of(kind)) for shape in shapes)
        return (
            BinDevicesOfOneType(((1,),) * free, (True,) * free, (), asks),
            [ask.whole <= free for ask in asks],
        )
    classes: dict[object, tuple[int, Vector | None]] = {}
    asks_found = []
    possible = []
    for shape, needs in zip(shapes, wanted, strict=True):
        whole = shape.whole_of(kind) + sum(need.count for need in needs if need.whole)
        shares: Counter[int] = Counter()
        may = whole <= free
        for need in needs:
            if need.whole:
                continue
            key = need.share
            if key not in classes:
                classes[key] = len(classes), _least(members, need)
            number, size = classes[key]
            may = may and size is not None
            if size is not None and any(size):
                shares[number] += need.count
        asks_found.append(ItemDeviceAsk(whole, tuple(sorted(shares.items()))))
        possible.append(may)
    width = len(members[0].left)
    sizes_of = [size or (0,) * width for _, size in classes.values()]
    columns: dict[Vector, tuple[int, int]] = {}
    for q in range(width):
        column = (*(size[q] for size in sizes_of), *(device.left[q] for device in members))
        unit = gcd(*column) or 1
        if any(size[q] for size in sizes_of):
            # Percent of compute and of memory are often the same thing twice.
            columns.setdefault(tuple(amount // unit for amount in column), (q, unit))
    kept = list(columns.values()) or [(0, 1)]

    def thin(amounts: Vector) -> Vector:
        return tuple(amounts[q] // unit for q, unit in kept)

    return (
        BinDevicesOfOneType(
            tuple(thin(device.left) for device in members),
            tuple(not device.shared for device in members),
            tuple(map(thin, sizes_of)),
            tuple(asks_found),
        ),
        possible,
    )


def _least(devices: Iterable[ShareableDevice], need: DeviceShareNeed) -> Vector | None:
    """Return the least that a share takes of any of the devices, quantity by quantity."""
    found = [size for d in devices if (size := d.takes(need.share)) is not None]
    return tuple(min(column) for column in zip(*found, strict=True)) if found else None


def _merged(kinds: Sequence[_Kind], pairs: Sequence[tuple[int, int]]) -> dict[tuple[int, int], int]:
    """Return the item of each view and shape: what is alike in every kind is one item."""
    known: dict[object, int] = {}
    found = {}
    for view, shape in pairs:
        key = tuple(_on_kind(kind.bin, shape) if view in kind.views else None for kind in kinds)
        found[view, shape] = known.setdefault(key, len(known))
    return found


def _on_kind(kind: BinKind, shape: int) -> object:
    """Return all that a shape takes of a kind of bins, if it can be there at all."""
    size = kind.sizes[shape]
    if size is None:
        return None
    return size, tuple(_by_size(devices, shape) for devices in kind.devices)


def _by_size(devices: BinDevicesOfOneType, shape: int) -> object:
    ask = devices.asks[shape]
    return ask.whole, tuple((devices.sizes[share], count) for share, count in ask.shares)


def _of_items(
    devices: BinDevicesOfOneType, firsts: Sequence[int], more: int
) -> BinDevicesOfOneType:
    """Return the devices with the asks of items, and each size of a share once.

    Args:
        devices: The devices, with the asks of shapes.
        firsts: A shape of each item.
        more: How many further items there are, which ask for no device.

    """
    numbers: dict[Vector, int] = {}
    asks = []
    for shape in firsts:
        shares: Counter[int] = Counter()
        for share, count in devices.asks[shape].shares:
            shares[numbers.setdefault(devices.sizes[share], len(numbers))] += count
        asks.append(ItemDeviceAsk(devices.asks[shape].whole, tuple(sorted(shares.items()))))
    asks += [ItemDeviceAsk()] * more
    return BinDevicesOfOneType(devices.rooms, devices.free, tuple(numbers), tuple(asks))


def _units(kinds: Sequence[BinKind]) -> list[int]:
    """Return the largest unit in which each resource is whole in all kinds."""
    columns = zip(*(kind.room for kind in kinds), strict=True)
    units = [gcd(*column) for column in columns]
    for kind in kinds:
        for size in kind.sizes:
            if size is not None:
                units = [gcd(unit, part) for unit, part in zip(units, size, strict=True)]
    return [unit or 1 for unit in units]


def _in_units(size: Vector | None, units: Sequence[int]) -> Vector | None:
    if size is None:
        return None
    return tuple(part // unit for part, unit in zip(size, units, strict=True))
