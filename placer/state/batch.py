"""The Problem of a batch: an instance in integers."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import gcd
from typing import NamedTuple

from placer.state.account import Account, account_of
from placer.state.affinity import affinities_of, has_affinity
from placer.state.apart import telling_of
from placer.state.boards import cuts_of, device_board
from placer.state.burst_states import with_bursts
from placer.state.container_fits import by_container, containers_fit
from placer.state.core_classes import core_classes
from placer.state.extended import Units, extended_units, in_units
from placer.state.fits import best_pair_minimum_of, fit_of
from placer.state.network import (
    asked_levels,
    domains_of,
    has_levels,
    level_tasks,
    required_levels,
)
from placer.state.slots import slots_of
from placer.state.strategies import cell_strategy_of
from placer_models.cluster import Instance, Node, RunningPod
from placer_models.goals import NUMA_STRATEGY, Tier
from placer_models.links import counts_of
from placer_models.pod import PodSpec
from placer_models.policy import (
    AlignmentScope,
    BindPolicy,
    DeviceScope,
    ExclusivePolicy,
    GatherLevel,
    QosClass,
)
from placer_models.problem import (
    Cell,
    DeviceBank,
    Fit,
    NodeState,
    Problem,
    Shape,
    Telling,
)
from placer_models.shares import ShareNeed, Slot
from placer_models.tasks import NO_AFFINITIES, GangTask
from placer_models.wishes import asked_tiers


def accounts_of(instance: Instance) -> tuple[Account, ...]:
    """Count what is left on every node, in the instance's order."""
    running: defaultdict[str, list[RunningPod]] = defaultdict(list)
    for pod in instance.running:
        running[pod.placement.node].append(pod)
    return tuple(account_of(node, running[node.name]) for node in instance.nodes)


def build_problem(
    instance: Instance, accounts: Sequence[Account] | None = None, *, each_core: bool = False
) -> Problem:
    """Write the instance as a Problem; accounts as `accounts_of` returns them."""
    accounts = accounts_of(instance) if accounts is None else accounts
    asks: dict[_Ask, int] = {}
    beside = has_affinity(instance)
    pods = tuple(
        asks.setdefault(_Ask(pod.spec, levels, pod.namespace if beside else ""), len(asks))
        for gang in instance.gangs
        for levels in (required_levels(gang),)
        for pod in gang.pods
    )
    specs = [ask.spec for ask in asks]
    needed = frozenset(level for ask in asks for level in ask.levels)
    levels = asked_levels(instance)
    sides = [(ask.spec, ask.namespace) for ask in asks]
    kinds: dict[Node, int] = {}
    selected = frozenset(key for spec in specs for key, _ in spec.node_selector)
    wanted = frozenset(name for spec in specs for name, _ in spec.requests.extended)
    bare = [_kind(node, selected, wanted, needed) for node in instance.nodes]
    kind_of = [kinds.setdefault(node, len(kinds)) for node in bare]
    asked = asked_tiers(instance)
    unit = _memory_unit(specs, accounts, _by_parts(instance, specs))
    sizes = tuple(sorted({h.page_bytes for spec in specs for h in spec.requests.hugepages}))
    shared = _shared(specs)
    units = extended_units(specs, accounts)
    boards = {kind: _boards(kind) for kind in kinds}
    shapes = tuple(_shape(spec, kinds, unit, sizes, units) for spec in specs)
    telling = telling_of(shapes, pods)
    if each_core and telling is Telling.PAIRS:
        telling = Telling.EACH
    priorities = tuple(sorted({gang.priority for gang in instance.gangs}, reverse=True))
    return Problem(
        nodes=with_bursts(
            [
                _node_state(
                    node, kind, boards[alike], account, unit, sizes, units, asked, shared, telling
                )
                for node, kind, alike, account in zip(
                    instance.nodes, kind_of, bare, accounts, strict=True
                )
            ],
            instance.nodes,
            accounts,
            specs,
        ),
        shapes=shapes,
        pods=pods,
        gangs=_gangs(instance, priorities, levels),
        domains=tuple(domains_of(instance, level) for level in levels),
        affinity=affinities_of(instance, sides) if beside else NO_AFFINITIES,
        fits=tuple(
            tuple(
                _fit(ask.spec, kind, unit, sizes) if has_levels(kind, ask.levels) else None
                for kind in kinds
            )
            for ask in asks
        ),
        priorities=priorities,
        memory_unit_bytes=unit,
        page_sizes=sizes,
        asked=asked,
        most_extended=tuple(
            max((left.extended.get(name, 0) for left in accounts), default=0) // size
            for name, size in units.items()
        ),
        telling=telling,
    )


def _fit(spec: PodSpec, kind: Node, unit: int, page_sizes: Sequence[int]) -> Fit | None:
    fit = fit_of(spec, kind)
    if fit is None or not by_container(spec, kind):
        return fit
    containers = containers_fit(spec, kind, unit, page_sizes)
    return None if containers is None else replace(fit, containers=containers)


def cells_of(
    node: Node, account: Account, unit_bytes: int, page_sizes: Sequence[int] = ()
) -> tuple[Cell, ...]:
    """Return the node's NUMA nodes, and a last cell if a CPU belongs to none."""
    cells = [
        Cell(
            numa.id,
            max(0, account.memory_bytes[numa.id]) // unit_bytes,
            tuple(max(0, account.pages.get((numa.id, size), 0)) for size in page_sizes),
            held=account.numa_nodes_held.get(numa.id),
        )
        for numa in node.machine.topology.numa_nodes
    ]
    if any(cpu.numa_node is None for cpu in node.machine.topology.cpus):
        cells.append(Cell(None, 0, (0,) * len(page_sizes)))
    return tuple(cells)


class _Ask(NamedTuple):
    """What makes pods interchangeable.

    Attributes:
        levels: Levels of the network that a node must have.
        namespace: Empty where no affinity looks at it.

    """

    spec: PodSpec
    levels: tuple[str, ...]
    namespace: str


def _kind(
    node: Node, selected: frozenset[str], wanted: frozenset[str], levels: frozenset[str]
) -> Node:
    """Return the node without its name: nodes of one kind are equal when empty.

    Labels that no pod selects by tell nothing apart; most nodes have one of their own.
    Nor do extended resources that no pod asks for, and who is offered is said by its state.
    Of the network it counts only which levels the node has.
    """
    labels = tuple(label for label in node.labels if label[0] in selected)
    extended = tuple(item for item in node.extended if item[0] in wanted)
    domains = tuple((level, "") for level, _ in node.domains if level in levels)
    return replace(node, name="", labels=labels, extended=extended, offered=False, domains=domains)


def _boards(node: Node) -> tuple[DeviceBank, ...]:
    """Return the banks of an empty node."""
    cell_of = {numa.id: index for index, numa in enumerate(node.machine.topology.numa_nodes)}
    banks = []
    for device_type in sorted({d.type for d in node.devices}):
        board = device_board(node, device_type)
        banks.append(
            DeviceBank(
                type=device_type,
                board=board,
                free=board.sizes,
                cells=tuple(None if n is None else cell_of[n] for n in board.numa_nodes),
                cuts=cuts_of(node, device_type, board),
            )
        )
    return tuple(banks)


def _node_state(
    node: Node,
    kind: int,
    banks: tuple[DeviceBank, ...],
    account: Account,
    unit: int,
    page_sizes: Sequence[int],
    units: Units,
    asked: tuple[Tier, ...],
    shared: Mapping[str, bool],
    telling: Telling,
) -> NodeState:
    cells = cells_of(node, account, unit, page_sizes)
    return NodeState(
        name=node.name,
        kind=kind,
        cells=cells,
        cores=tuple(found for found, _ in core_classes(node, account, cells, asked, telling)),
        banks=tuple(
            DeviceBank(
                bank.type,
                bank.board,
                counts_of(bank.board, [m for t, m in account.free_devices if t == bank.type]),
                bank.cells,
                _slots(bank, account, functions=shared[bank.type]) if bank.type in shared else (),
                bank.cuts,
            )
            for bank in banks
        ),
        # Running pods may ask for more than the pools have; then nothing new fits in.
        pool_milli=max(0, 1000 * len(account.free_cpus) - account.shared_milli),
        best_effort_milli=max(
            0,
            1000 * len(account.best_effort_pool - node.reserved_cpus) - account.best_effort_milli,
        ),
        pool_cpus=len(account.pool),
        best_effort_cpus=len(account.best_effort_pool),
        has_shared=account.has_shared,
        has_best_effort=account.has_best_effort,
        extended=in_units(account.extended, units),
        offered=account.offered,
        strategy=cell_strategy_of(node, account.free_cpus, cells)
        if NUMA_STRATEGY in asked
        else None,
    )


def _shared(specs: Iterable[PodSpec]) -> dict[str, bool]:
    """Return the types of which shares are asked for, and whether virtual functions are too."""
    found = {d.type: False for spec in specs for d in spec.requests.devices if d.share}
    return found | {kind: True for spec in specs for kind, _ in spec.functions if kind in found}


def _slots(bank: DeviceBank, account: Account, *, functions: bool) -> tuple[tuple[Slot, ...], ...]:
    found = slots_of(account, bank.type, bank.board, functions=functions)
    return tuple(tuple(slot for _, slot in members) for members in found)


def _shape(
    spec: PodSpec, nodes: dict[Node, int], unit: int, page_sizes: Sequence[int], units: Units
) -> Shape:
    requests = spec.requests
    qos = spec.qos
    whole_only = spec.bind_required and spec.bind is BindPolicy.FULL_PCPUS
    sees_to_it = whole_only and spec.exclusive is ExclusivePolicy.PCPU_LEVEL
    minds = qos.owns_cpus and not sees_to_it
    return Shape(
        owned_cpus=requests.cpu_milli // 1000 if qos.owns_cpus else 0,
        exclusive=qos is QosClass.LSE,
        shared_milli=requests.cpu_milli if qos is QosClass.LS else 0,
        best_effort_milli=requests.cpu_milli if qos is QosClass.BE else 0,
        shared=qos is QosClass.LS,
        best_effort=qos is QosClass.BE,
        memory=requests.memory_bytes // unit,
        devices=tuple((d.type, d.count) for d in requests.devices if d.count and not d.share),
        best_pair_minimum=best_pair_minimum_of(spec, nodes),
        pages=tuple(requests.pages_of(size) for size in page_sizes),
        scopes=_scopes(spec),
        shares=tuple(
            ShareNeed(d.type, d.count, d.share, dict(spec.functions).get(d.type))
            for d in requests.devices
            if d.count and d.share
        ),
        extended=in_units(dict(requests.extended), units),
        apart=spec.exclusive if minds else ExclusivePolicy.NONE,
        apart_required=minds and spec.exclusive_required,
        burst_cpus=spec.burst_cpus,
    )


def _scopes(spec: PodSpec) -> tuple[tuple[str, DeviceScope], ...]:
    """Return the scopes that say anything: of devices that come in twos or more."""
    return tuple(
        (kind, scope)
        for kind, scope in spec.scopes
        if scope is not DeviceScope.NODE and spec.requests.count_of(kind) > 1
    )


def _gangs(
    instance: Instance, priorities: tuple[int, ...], levels: tuple[str, ...]
) -> tuple[GangTask, ...]:
    group_of = {key: i for i, group in enumerate(instance.groups) for key in group.gangs}
    tasks = []
    first = 0
    for gang in instance.gangs:
        tasks.append(
            GangTask(
                pods=tuple(range(first, first + len(gang.pods))),
                minimum=gang.minimum,
                weight=gang.weight,
                level=priorities.index(gang.priority),
                group=group_of.get(gang.key),
                gathered=gang.gather is GatherLevel.NODE,
                levels=level_tasks(gang, levels),
            )
        )
        first += len(gang.pods)
    return tuple(tasks)


def _by_parts(instance: Instance, specs: Iterable[PodSpec]) -> list[PodSpec]:
    """Return the specs whose containers may be aligned each for itself on some node."""
    somewhere = any(node.scope is AlignmentScope.CONTAINER for node in instance.nodes)
    return [spec for spec in specs if somewhere or spec.scope is AlignmentScope.CONTAINER]


def _memory_unit(
    specs: Iterable[PodSpec], accounts: Sequence[Account], by_parts: Iterable[PodSpec]
) -> int:
    """Return the largest unit that divides every amount, so that nothing is rounded.

    Args:
        specs: All that waits.
        accounts: Of the nodes.
        by_parts: Those of which the containers' own amounts count, too.

    """
    amounts = [spec.requests.memory_bytes for spec in specs]
    amounts += [c.requests.memory_bytes for spec in by_parts for c in spec.containers]
    amounts += [left for account in accounts for left in account.memory_bytes.values()]
    return gcd(*amounts) or 1
