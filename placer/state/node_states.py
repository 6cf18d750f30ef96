"""The state of a node as a Problem has it: its kind, and what is left on it."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import fields, replace
from operator import attrgetter, floordiv
from typing import NamedTuple

from placer.counting.account import Account
from placer.counting.boards import linked_classes_of_node, mig_instance_positions
from placer.counting.cores import core_classes_without_ids
from placer.counting.devices import shareable_devices
from placer.counting.node_resources import resource_amount_on_node
from placer.counting.pools import state_with_pool_bindings
from placer.state.strategies import numa_strategy_on_cells
from placer_models.cluster import Machine, Node
from placer_models.device import DeviceKey
from placer_models.goals import CACHES, LOCALITY_PACKAGES, PACKAGES, Tier
from placer_models.links.board import counts_by_class
from placer_models.pod import PodSpec
from placer_models.problem.banks import ClassesBelow, DeviceBank
from placer_models.problem.dimensions import MEMORY, SHARED_POOL, Dimension, cell_dimensions
from placer_models.problem.node_state import Cell, CoreClassGranularity, NodeState
from placer_models.problem.rooms import room_sizes
from placer_models.problem.switches import switches_joining_gpus_with_others

Banks = tuple[DeviceBank, ...]
"""The banks of a node."""

MOST_BANKS = 4_096
"""How many different sets of free devices are kept for a kind of nodes."""

ALL_BUT_THE_NAME = attrgetter(*(f.name for f in fields(NodeState) if f.name != "name"))
"""The fields whose objects idle nodes that are alike share."""


class RelevantNodeFactNames(NamedTuple):
    """The facts of nodes that the pods of a batch look at; nodes of a kind may differ in others.

    Attributes:
        labels: Keys that pods select by.
        extended: Extended resources that pods ask for.
        levels: Levels of the network that a node must have.
        names: Names of nodes that pods tell from others.

    """

    labels: frozenset[str]
    extended: frozenset[str]
    levels: frozenset[str]
    names: frozenset[str] = frozenset()


class StateEncoding(NamedTuple):
    """How the states of nodes are written for a batch; as in ``Problem``.

    Attributes:
        relevant: The facts that tell kinds of nodes apart.
        core_tiers: As in ``Problem``.
        numa_strategy: Whether some tier looks at the NUMA strategies of nodes.
        shared: The types whose shares are asked for, and whether virtual functions are too.
        bound: Whether there are, or may be, pods that are bound to a part of their pool.
        by_minor: Whether devices that can take shares are ascending by minor.

    """

    relevant: RelevantNodeFactNames
    dimensions: tuple[Dimension, ...]
    core_tiers: tuple[Tier, ...]
    numa_strategy: bool
    shared: tuple[tuple[str, bool], ...]
    granularity: CoreClassGranularity
    bound: bool
    by_minor: bool = False

    @property
    def plain(self) -> "StateEncoding":
        """The same encoding in units of 1, and without shares."""
        if not self.shared and all(dimension.unit == 1 for dimension in self.dimensions):
            return self
        dimensions = tuple(dimension._replace(unit=1) for dimension in self.dimensions)
        return self._replace(dimensions=dimensions, shared=(), by_minor=False)


def tiers_distinguishing_cores(
    asked: Collection[Tier], specs: Iterable[PodSpec]
) -> tuple[Tier, ...]:
    """Return those of the tiers asked for that tell cores apart; none if no pod owns CPUs."""
    if not any(spec.qos.owns_cpus for spec in specs):
        return ()
    by_package = PACKAGES in asked or LOCALITY_PACKAGES in asked
    return (*((PACKAGES,) if by_package else ()), *((CACHES,) if CACHES in asked else ()))


NOT_OF_KINDS = ("machine", "offered", "opened")
"""What a kind says in another way than its nodes, or not at all."""


class RelevantNodeValues(NamedTuple):
    """What pods look at of all that differs from node to node, though its machine does not.

    Attributes:
        name: Its name if a pod asks for it, else empty.
        labels: Labels that pods look at; most nodes have one of their own that none does.
        extended: Extended resources that pods ask for.
        domains: The network's levels that pods look at and it has, without their values.

    """

    name: str
    labels: tuple[tuple[str, str], ...]
    extended: tuple[tuple[str, int], ...]
    domains: tuple[tuple[str, str], ...]


_NO_WORDS = RelevantNodeValues("", (), (), ())


def node_facts_kept_in_kind(node: Node, relevant: RelevantNodeFactNames) -> RelevantNodeValues:
    """Return those words of the node that its kind has as well.

    Args:
        node: The node.
        relevant: The facts that pods look at.

    """
    # Asked of every node: most fleets have none of these, or nobody looks at them.
    labels = node.labels and relevant.labels
    extended = node.extended and relevant.extended
    domains = node.domains and relevant.levels
    name = node.name if node.name in relevant.names else ""
    if not (name or labels or extended or domains):
        return _NO_WORDS
    return RelevantNodeValues(
        name,
        tuple([label for label in node.labels if label[0] in labels]) if labels else (),
        tuple([i for i in node.extended if i[0] in extended]) if extended else (),
        tuple([(level, "") for level, _ in node.domains if level in domains]) if domains else (),
    )


def node_kind_of(node: Node, machine: Machine, words: RelevantNodeValues) -> Node:
    """Return the node's kind: nodes of one kind are equal when empty.

    Whether the node is offered is not part of it: its state says that.

    Args:
        node: The node.
        machine: Its machine, as `machine_without_names` returns it.
        words: As `node_facts_kept_in_kind` returns them.

    """
    return replace(node, machine=machine, offered=False, opened=False, **words._asdict())


def machine_without_names(machine: Machine) -> Machine:
    """Return the machine without its name and those of its devices, which differ by node.

    Devices keep their minors, by which a solver knows them.
    """
    devices = tuple(
        replace(
            device,
            id="",
            bus_id="",
            virtual_functions=tuple(
                replace(function, bus_id="") for function in device.virtual_functions
            ),
        )
        for device in machine.devices
    )
    return replace(machine, name="", title="", sources=(), notes="", devices=devices)


class NodeStatePartsSharedByKind(NamedTuple):
    """What the states of all nodes of a kind have in common.

    Attributes:
        banks: The banks of the empty node.
        rooms: As in ``NodeState``.
        switches: As in ``NodeState``.
        known_banks: Free devices -> the banks of a node that has them, for those met last.

    """

    banks: Banks
    rooms: tuple[tuple[int, int], ...]
    switches: tuple[ClassesBelow, ...]
    known_banks: dict[frozenset[DeviceKey], Banks]

    def banks_with(self, free: frozenset[DeviceKey]) -> Banks:
        """Return the banks of a node with these free devices; they are made once."""
        found = self.known_banks.get(free)
        if found is None:
            if len(self.known_banks) >= MOST_BANKS:
                self.known_banks.clear()
            minors: defaultdict[str, list[int]] = defaultdict(list)
            for kind, minor in free:
                minors[kind].append(minor)
            found = tuple(
                replace(bank, free=counts_by_class(bank.board, minors[bank.type]))
                for bank in self.banks
            )
            self.known_banks[free] = found
        return found


def _banks_of(node: Node) -> Banks:
    """Return the banks of an empty node."""
    cell_of = {numa.id: index for index, numa in enumerate(node.machine.topology.numa_nodes)}
    banks = []
    for device_type in sorted({d.type for d in node.devices}):
        board = linked_classes_of_node(node, device_type)
        banks.append(
            DeviceBank(
                type=device_type,
                board=board,
                free=board.sizes,
                cells=tuple(None if n is None else cell_of[n] for n in board.numa_nodes),
                cuts=mig_instance_positions(node, device_type, board),
            )
        )
    return tuple(banks)


def node_state_parts_shared_by_kind(kind: Node) -> NodeStatePartsSharedByKind:
    """Return what the nodes of a kind have in common."""
    cpu_milli = kind.milli_per_cpu * len(kind.machine.topology.online - kind.reserved_cpus)
    memory_bytes = sum(kind.memory_bytes_in().values())
    banks = _banks_of(kind)
    return NodeStatePartsSharedByKind(
        banks, room_sizes(cpu_milli, memory_bytes), switches_joining_gpus_with_others(banks), {}
    )


def node_state(
    node: Node,
    kind: int,
    facts: NodeStatePartsSharedByKind,
    account: Account,
    encoding: StateEncoding,
    before: tuple[Account, NodeState] | None = None,
) -> NodeState:
    """Return what is left on the node, plainly encoded.

    Args:
        node: The node.
        kind: The number of its kind in the Problem.
        facts: As `node_state_parts_shared_by_kind` returns them for its kind.
        account: What the running pods leave.
        encoding: How it is written, plainly; `node_state_in_encoding` turns that into another one.
        before: Account and state of the same node before, in the same encoding.

    """
    of_cells = cell_dimensions(encoding.dimensions)
    cells = cells_of_node(node, account, of_cells)
    if before is not None and before[0].cores == account.cores:
        cores = before[1].cores
    else:
        cores = core_classes_without_ids(
            node, account.cores, encoding.core_tiers, encoding.granularity
        )
    state = NodeState(
        name=node.name,
        kind=kind,
        cells=cells,
        cores=cores,
        banks=facts.banks_with(account.devices.free),
        amounts=(
            *map(sum, zip(*(cell.amounts for cell in cells), strict=True)),
            # Running pods may ask for more than there is; then nothing new fits in.
            *(
                max(0, resource_amount_on_node(each[:2], account.resources)) // each.unit
                for each in encoding.dimensions[len(of_cells) : SHARED_POOL]
            ),
            max(0, account.pools.shared.left_milli),
            max(0, account.pools.best_effort.left_milli),
        ),
        pool_cpus=len(account.pools.shared.cpus),
        best_effort_cpus=len(account.pools.best_effort.cpus),
        has_shared=account.pools.shared.in_use,
        has_best_effort=account.pools.best_effort.in_use,
        offered=account.offered,
        rooms=facts.rooms,
        switches=facts.switches,
        milli_per_cpu=node.milli_per_cpu,
        strategy=numa_strategy_on_cells(node, account.cores.free_cpus, cells)
        if encoding.numa_strategy
        else None,
    )
    return state_with_pool_bindings(state, node, account.pools) if encoding.bound else state


def cells_of_node(
    node: Node, account: Account, dimensions: Sequence[Dimension]
) -> tuple[Cell, ...]:
    """Return a cell for each NUMA node of the node, and a last one if a CPU belongs to none."""
    topology, memory = node.machine.topology, account.memory
    held, package_in = account.cores.numa_nodes_held, topology.package_in
    sizes = [(each.page_bytes, each.unit) for each in dimensions]
    cells = []
    for numa in topology.numa_nodes:
        amounts = [max(0, memory.left_in(numa.id, pages)) // unit for pages, unit in sizes]
        package = package_in[numa.id]
        cells.append(Cell(numa.id, tuple(amounts), held.get(numa.id), package=package))
    if None in package_in:
        cells.append(Cell(None, (0,) * len(dimensions), package=package_in[None]))
    return tuple(cells)


def node_state_in_encoding(
    encoding: StateEncoding, state: NodeState, account: Account, known: dict[int, Banks]
) -> NodeState:
    """Return a plainly encoded state in another encoding.

    Args:
        encoding: The other encoding.
        state: The state.
        account: What the running pods leave.
        known: id of the banks of a node where pods have devices whole, if any -> the same in the
            other encoding; for states that are there in the meantime.

    """
    if encoding.shared:
        number, devices = id(state.banks), account.devices
        banks = known.get(number)
        if banks is None or devices.shared or devices.held_functions:
            shared = dict(encoding.shared)
            banks = tuple(
                _with_shareable(bank, account, shared[bank.type], by_minor=encoding.by_minor)
                if bank.type in shared
                else bank
                for bank in state.banks
            )
            if not (devices.shared or devices.held_functions):
                known[number] = banks
        state = state.with_banks(banks)
    units = [dimension.unit for dimension in encoding.dimensions]
    if set(units) == {1}:
        return state
    unit = units[MEMORY]
    return replace(
        state,
        cells=tuple(
            cell._replace(amounts=tuple(map(floordiv, cell.amounts, units))) for cell in state.cells
        ),
        amounts=tuple(map(floordiv, state.amounts, units)),
        rooms=tuple((milli, -(-memory // unit)) for milli, memory in state.rooms),
    )


def _with_shareable(
    bank: DeviceBank, account: Account, functions: bool, *, by_minor: bool
) -> DeviceBank:
    """Return the bank with its devices that can take shares."""
    found = shareable_devices(
        account.devices, bank.type, bank.board, functions=functions, by_minor=by_minor
    )
    members = tuple(tuple(device for _, device in of_class) for of_class in found)
    return replace(bank, shareable=members, by_minor=by_minor)
