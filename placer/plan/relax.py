"""From a question to its market: pods become items, nodes become bins by sums and devices."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import gcd

from placer.packing.bins import Counts, Vector
from placer.plan.market import BinKind, DeviceAsk, Devices, Market
from placer.plan.question import PlanQuestion, PlanScenario, Series, scaled_count, series_of
from placer.search.plain_pods import never_on
from placer.state.batch import build_problem
from placer_models.cluster import Instance
from placer_models.pod import Gang, PodSpec
from placer_models.problem.banks import DeviceBank
from placer_models.problem.dimensions import Dimension
from placer_models.problem.node_state import NodeState
from placer_models.problem.problem import Problem, Shape
from placer_models.problem.shares import ShareableDevice, ShareNeed


@dataclass(frozen=True, slots=True)
class Relaxation:
    """A market, and what its numbers stand for.

    Attributes:
        market: The market: kinds of nodes that are there, then the offers.
        there: How many of its kinds are nodes that are there.
        nodes: For each kind of nodes that are there, their names.
        resources: For each kind, what its room counts.
        devices: For each kind, the types of its devices.
        item_of: Spec of a pod -> its item.
        specs: For each item, the spec of some pod of it.
        block_of: For each scenario a block of the market that asks for as much, or more.

    """

    market: Market
    there: int
    nodes: tuple[tuple[str, ...], ...]
    resources: tuple[Dimension, ...]
    devices: tuple[str, ...]
    item_of: dict[PodSpec, int]
    specs: tuple[PodSpec, ...]
    block_of: tuple[int, ...]


def relaxed(question: PlanQuestion) -> Relaxation:
    """Return the market of a question.

    A plan that obeys all rules is a plan of the market, so what no plan of the market can do is
    beyond any plan.
    """
    instance = with_offers(question)
    problem = build_problem(instance)
    there = len(question.instance.nodes)
    states = Counter(problem.nodes[:there])
    names: dict[NodeState, list[str]] = {state: [] for state in states}
    for state in problem.nodes[:there]:
        names[state].append(state.name)
    kinds = [bin_of(problem, state) for state in (*states, *problem.nodes[there:])]
    item_of_shape = _merged(kinds, len(problem.shapes))
    firsts = [item_of_shape.index(item) for item in range(max(item_of_shape, default=-1) + 1)]
    units = _units(kinds)
    bins = []
    for number, kind in enumerate(kinds):
        number -= len(states)
        count = states[list(states)[number]] if number < 0 else None
        offer = None if number < 0 else question.offers[number]
        bins.append(
            BinKind(
                tuple(room // unit for room, unit in zip(kind.room, units, strict=True)),
                tuple(_in_units(kind.sizes[shape], units) for shape in firsts),
                tuple(_of_items(devices, firsts) for devices in kind.devices),
                question.in_units(offer.price) if offer else 0,
                offer.most if offer else count,
                offer.pack if offer else 1,
            )
        )
    item_of = {
        pod.spec: item_of_shape[problem.pods[index]]
        for index, pod in enumerate(p for gang in instance.gangs for p in gang.pods)
    }
    spec_of = {item: spec for spec, item in reversed(item_of.items())}
    series = series_of(question.instance.gangs)
    blocks = [_counts(series, s, item_of, len(firsts)) for s in question.scenarios]
    kept = undominated(blocks)
    return Relaxation(
        Market(tuple(bins), tuple(kept)),
        len(states),
        tuple(tuple(found) for found in names.values()),
        problem.dimensions,
        _types(problem),
        item_of,
        tuple(spec_of[item] for item in range(len(firsts))),
        tuple(next(i for i, other in enumerate(kept) if _covers(other, b)) for b in blocks),
    )


def with_offers(question: PlanQuestion) -> Instance:
    """Return the instance with one node of each offer, and nobody who may move."""
    offered = tuple(replace(offer.node, offered=True) for offer in question.offers)
    nodes = (*question.instance.nodes, *offered)
    return replace(question.instance, nodes=nodes, move_budget=0)


def undominated(blocks: Sequence[Counts]) -> list[Counts]:
    """Return the blocks without those that ask for no more of anything than another one."""
    kept: list[Counts] = []
    for block in sorted(set(blocks), key=sum, reverse=True):
        if not any(_covers(other, block) for other in kept):
            kept.append(block)
    return kept


def _covers(block: Counts, other: Counts) -> bool:
    return all(a >= b for a, b in zip(block, other, strict=True))


def _counts(
    series: Iterable[Series], scenario: PlanScenario, item_of: dict[PodSpec, int], items: int
) -> Counts:
    counts = [0] * items
    for one in series:
        number = scaled_count(one, scenario)
        whole, rest = divmod(number, len(one.gangs))
        for index, gang in enumerate(one.gangs):
            for item, count in _items(gang, item_of).items():
                counts[item] += (whole + (index < rest)) * count
    return tuple(counts)


def _items(gang: Gang, item_of: dict[PodSpec, int]) -> Counter[int]:
    return Counter(item_of[pod.spec] for pod in gang.pods)


def _types(problem: Problem) -> tuple[str, ...]:
    """Return the types of devices that somebody asks for."""
    asked = {kind for shape in problem.shapes for kind, _ in shape.devices}
    return tuple(sorted(asked | {need.type for shape in problem.shapes for need in shape.shares}))


def bin_of(problem: Problem, node: NodeState) -> BinKind:
    """Return a node as a bin of shapes, in the Problem's units and without a price."""
    sizes: list[Vector | None] = []
    for item, shape in enumerate(problem.shapes):
        takes = shape.amounts_on(node)
        never = never_on(problem, item, node)
        never = never or any(a > b for a, b in zip(takes, node.amounts, strict=True))
        sizes.append(None if never else tuple(takes))
    devices = []
    for kind in _types(problem):
        found, possible = _devices(problem.shapes, node.bank(kind), kind)
        devices.append(found)
        sizes = [size if may else None for size, may in zip(sizes, possible, strict=True)]
    return BinKind(tuple(node.amounts), tuple(sizes), tuple(devices))


def _devices(
    shapes: Sequence[Shape], bank: DeviceBank | None, kind: str
) -> tuple[Devices, list[bool]]:
    """Return the devices of a type, and which shapes may have what they ask of them."""
    wanted = [[need for need in shape.shares if need.type == kind] for shape in shapes]
    members = [d for devices in bank.shareable for d in devices] if bank is not None else []
    by_share = any(not need.whole for needs in wanted for need in needs) and bool(members)
    if not by_share:
        number = sum(bank.free) if bank is not None else 0
        asks = tuple(DeviceAsk(shape.count_of(kind)) for shape in shapes)
        return (
            Devices(((1,),) * number, (True,) * number, (), asks),
            [ask.whole <= number for ask in asks],
        )
    classes: dict[object, tuple[int, Vector | None]] = {}
    asks_found = []
    possible = []
    for shape, needs in zip(shapes, wanted, strict=True):
        whole = shape.whole_of(kind) + sum(need.count for need in needs if need.whole)
        shares: Counter[int] = Counter()
        may = whole <= sum(bank.free if bank else ())
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
        asks_found.append(DeviceAsk(whole, tuple(sorted(shares.items()))))
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
        Devices(
            tuple(thin(device.left) for device in members),
            tuple(not device.shared for device in members),
            tuple(map(thin, sizes_of)),
            tuple(asks_found),
        ),
        possible,
    )


def _least(devices: Iterable[ShareableDevice], need: ShareNeed) -> Vector | None:
    """Return the least that a share takes of any of the devices, quantity by quantity."""
    found = [size for d in devices if (size := d.takes(need.share)) is not None]
    return tuple(min(column) for column in zip(*found, strict=True)) if found else None


def _merged(kinds: Sequence[BinKind], shapes: int) -> list[int]:
    """Return the item of each shape: shapes that are alike in every kind are one item."""
    known: dict[object, int] = {}
    found = []
    for shape in range(shapes):
        key = tuple(_on_kind(kind, shape) for kind in kinds)
        found.append(known.setdefault(key, len(known)))
    return found


def _on_kind(kind: BinKind, shape: int) -> object:
    """Return all that a shape takes of a kind of bins, if it can be there at all."""
    size = kind.sizes[shape]
    if size is None:
        return None
    return size, tuple(_by_size(devices, shape) for devices in kind.devices)


def _by_size(devices: Devices, shape: int) -> object:
    ask = devices.asks[shape]
    return ask.whole, tuple((devices.sizes[share], count) for share, count in ask.shares)


def _of_items(devices: Devices, firsts: Sequence[int]) -> Devices:
    """Return the devices with the asks of items, and each size of a share once."""
    numbers: dict[Vector, int] = {}
    asks = []
    for shape in firsts:
        shares: Counter[int] = Counter()
        for share, count in devices.asks[shape].shares:
            shares[numbers.setdefault(devices.sizes[share], len(numbers))] += count
        asks.append(DeviceAsk(devices.asks[shape].whole, tuple(sorted(shares.items()))))
    return Devices(devices.rooms, devices.free, tuple(numbers), tuple(asks))


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
