"""The problem cache: what is worked out for one Problem and holds for the next one as well.

Between two batches most nodes stay as they are. So what follows from a node and its
account is kept until either is another object, and what follows from a spec and a kind of
node is kept as long as there is room. A Problem never depends on what was kept.

If the tuple of nodes is the same object as last time, only the accounts are looked through, and
those that have not changed cost next to nothing (`placer_models.incremental`).
"""

from collections.abc import Callable, Hashable
from dataclasses import fields, replace
from functools import partial
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar

from placer.counting.account import Account
from placer.state.node_states import (
    NOT_OF_KINDS,
    Banks,
    RelevantNodeFactNames,
    RelevantNodeValues,
    StateEncoding,
    machine_without_names,
    node_facts_kept_in_kind,
    node_kind_of,
    node_state,
    node_state_in_encoding,
    node_state_parts_shared_by_kind,
)
from placer.state.out_of_time import Stop, raise_if_out_of_time
from placer.state.running_sides import RunningPodIndex
from placer.state.sums import FleetLimits, fleet_limits_of_accounts, merge_fleet_limits
from placer_models.cluster import Machine, Node
from placer_models.incremental import IncrementalAggregate, PersistentTuple, changed_indices
from placer_models.problem.node_state import NodeState
from placer_models.recent import RecentlyUsedCache

MOST_LOOKS = 16
"""The most ways of telling kinds of nodes apart that are kept, and the most encodings."""

MOST_VALUES = 20_000
"""The most kinds of nodes that are kept, and the most values about specs and kinds."""

MOST_BATCHES = 256
"""The most values about all that a batch asks for that are kept; they may be large."""

ASKED_EVERY = 32
"""Of how many nodes one asks whether the time is over: one alone takes microseconds."""

MOST_OLD_MACHINES = 100
"""The most machines that are kept beyond one for each node."""

_FACTS = attrgetter(
    *sorted(
        {field.name for field in fields(Node)} - set(RelevantNodeValues._fields) - set(NOT_OF_KINDS)
    )
)
"""All that tells kinds of one machine apart beside their words."""

T = TypeVar("T")


class _Row(NamedTuple):
    """A node's state, and all that it follows from."""

    node: Node
    account: Account
    number: int
    state: NodeState


class _KindCache:
    """The nodes of last time with their kinds, for some relevant facts; and each kind by name."""

    def __init__(self) -> None:
        self.nodes: tuple[Node, ...] | None = None
        self.kinds: tuple[Node, ...] = ()
        self.numbers: tuple[int, ...] = ()
        self.of_each: tuple[Node, ...] | None = None
        self.known: dict[str, tuple[Node, Node]] = {}


class _StateCache:
    """The states of last time in one encoding; and what is known of each node, by name."""

    def __init__(self) -> None:
        self.nodes: tuple[Node, ...] | None = None
        self.numbers: tuple[int, ...] = ()
        self.accounts: PersistentTuple[Account] = PersistentTuple(())
        self.states: PersistentTuple[NodeState] = PersistentTuple(())
        self.known: dict[str, _Row] = {}

    def update(
        self,
        nodes: tuple[Node, ...],
        accounts: PersistentTuple[Account],
        numbers: tuple[int, ...],
        state_of: Callable[[int, _Row | None], NodeState],
        stop: Stop | None,
    ) -> None:
        """Bring the states of nodes up to date; unchanged nodes keep the same objects.

        Args:
            nodes: The nodes; their names are unique.
            accounts: The account of each node.
            numbers: The number of each node's kind.
            state_of: Returns the state of the node at a position, given its row before, if any.
            stop: As in `ProblemCache.states_of`.

        """
        same = self.nodes is nodes and self.numbers is numbers
        states: dict[int, NodeState] = {}
        alike: dict[tuple[int, int], NodeState] = {}
        for at in changed_indices(self.accounts, accounts) if same else range(len(nodes)):
            if at % ASKED_EVERY == 0:
                raise_if_out_of_time(stop)
            node, account, number = nodes[at], accounts[at], numbers[at]
            row = self.known.get(node.name)
            if row is None or row.node is not node or row.account is not account:
                # Idle nodes of a kind share their account, and so all of the state but the name.
                state = alike.get((number, id(account)))
                if state is None:
                    known = row is not None and row.node is node and row.number == number
                    state = alike[number, id(account)] = state_of(at, row if known else None)
                if state.name != node.name:
                    state = state.on(node.name, number)
                row = self.known[node.name] = _Row(node, account, number, state)
            elif row.number != number:
                state = row.state.on(node.name, number)
                row = self.known[node.name] = row._replace(number=number, state=state)
            states[at] = row.state
        self.nodes, self.numbers, self.accounts = nodes, numbers, accounts
        self.states = self.states.changed(states) if same else PersistentTuple.of(states.values())
        if len(self.known) > 2 * len(nodes):
            self.known = {node.name: self.known[node.name] for node in nodes}


class _View:
    """The states of last time, and what they were seen as."""

    def __init__(self) -> None:
        self.kinds: tuple[Node, ...] = ()
        self.states: PersistentTuple[NodeState] = PersistentTuple(())
        self.seen: PersistentTuple[NodeState] = PersistentTuple(())


class ProblemCache:
    """What is kept from one Problem to the next. For one thread at a time."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._sums = IncrementalAggregate(fleet_limits_of_accounts, merge_fleet_limits)
        self._running = RunningPodIndex()
        self._looks = RecentlyUsedCache[RelevantNodeFactNames, _KindCache](MOST_LOOKS)
        self._said = RecentlyUsedCache[StateEncoding, _StateCache](MOST_LOOKS)
        self._views = RecentlyUsedCache[Hashable, _View](MOST_LOOKS)
        self._machines: dict[int, tuple[Machine, Machine]] = {}
        self._same_machines: dict[Machine, Machine] = {}
        self._same_kinds: dict[Hashable, Node] = {}
        self._values: dict[Hashable, tuple[tuple[Node, ...], Any]] = {}
        self._batch_values = RecentlyUsedCache[Hashable, tuple[tuple[Node, ...], Any]](MOST_BATCHES)

    def sums_of(self, accounts: PersistentTuple[Account]) -> FleetLimits:
        """Return what follows from the accounts of all nodes together."""
        return self._sums.of(accounts)

    def running_of(self, accounts: PersistentTuple[Account]) -> RunningPodIndex:
        """Return who runs where; valid until the next call."""
        self._running.update(accounts)
        return self._running

    def kinds_of(
        self, nodes: tuple[Node, ...], relevant: RelevantNodeFactNames, stop: Stop | None = None
    ) -> tuple[tuple[Node, ...], tuple[int, ...]]:
        """Return the kinds of nodes, and the number of each node's kind.

        Equal kinds are one object, here and in later calls. As long as ``nodes`` is the same
        tuple, so are both answers.
        """
        # Equal machines that are read anew again and again pile up without adding a kind.
        machines = len(self._machines) - len(nodes)
        if len(self._same_kinds) > MOST_VALUES or machines > MOST_OLD_MACHINES:
            self._forget()
        look = self._looks.of(relevant, _KindCache)
        if look.nodes is not nodes:
            numbers: dict[int, int] = {}
            alike: dict[Hashable, Node] = {}
            kinds: list[Node] = []
            kind_numbers: list[int] = []
            for node in nodes:
                found = look.known.get(node.name)
                if found is None or found[0] is not node:
                    if len(kind_numbers) % ASKED_EVERY == 0:
                        raise_if_out_of_time(stop)
                    found = look.known[node.name] = node, self._kind(node, relevant, alike)
                number = numbers.setdefault(id(found[1]), len(kinds))
                if number == len(kinds):
                    kinds.append(found[1])
                kind_numbers.append(number)
            look.nodes, look.kinds, look.numbers = nodes, tuple(kinds), tuple(kind_numbers)
            look.of_each = None
            if len(look.known) > 2 * len(nodes):
                look.known = {node.name: look.known[node.name] for node in nodes}
        return look.kinds, look.numbers

    def kind_of_each(
        self, nodes: tuple[Node, ...], relevant: RelevantNodeFactNames
    ) -> tuple[Node, ...]:
        """Return each node's kind; as long as ``nodes`` is the same tuple, so is the answer."""
        kinds, numbers = self.kinds_of(nodes, relevant)
        look = self._looks[relevant]
        if look.of_each is None:
            look.of_each = tuple([kinds[number] for number in numbers])
        return look.of_each

    def without_homes(self, kind: Node) -> Node:
        """Return the kind that differs from this one only in having no homes."""
        if not kind.homes:
            return kind
        words = RelevantNodeValues(kind.name, kind.labels, kind.extended, kind.domains)
        without = replace(kind, homes=())
        return self._same_kinds.setdefault((id(kind.machine), words, _FACTS(without)), without)

    def states_of(
        self,
        nodes: tuple[Node, ...],
        accounts: PersistentTuple[Account],
        kinds: tuple[Node, ...],
        kind_numbers: tuple[int, ...],
        encoding: StateEncoding,
        stop: Stop | None = None,
    ) -> PersistentTuple[NodeState]:
        """Return the state of each node, which is one object as long as nothing changes there.

        States are first counted plainly, for all batches. The units of one batch, and shares
        of devices, come after that.

        Args:
            nodes: The nodes; their names are unique.
            accounts: The account of each node.
            kinds: As `kinds_of` returns them.
            kind_numbers: As `kinds_of` returns them, too.
            encoding: How the states are written for the batch.
            stop: Asked for each node that changed whether the time is over. What is known of nodes
                by then is kept.

        Raises:
            OutOfTimeError: The time was over.

        """
        plain = encoding.plain
        counted = self._said.of(plain, _StateCache)

        def count(position: int, before: _Row | None) -> NodeState:
            kind = kinds[kind_numbers[position]]
            facts = self.memo(
                node_state_parts_shared_by_kind,
                (kind,),
                partial(node_state_parts_shared_by_kind, kind),
            )
            known = before and (before.account, before.state)
            node, number, account = nodes[position], kind_numbers[position], accounts[position]
            return node_state(node, number, facts, account, plain, known)

        def view(position: int, _: _Row | None) -> NodeState:
            state, account = counted.states[position], accounts[position]
            return node_state_in_encoding(encoding, state, account, banks)

        banks: dict[int, Banks] = {}
        counted.update(nodes, accounts, kind_numbers, count, stop)
        if encoding == plain:
            return counted.states
        said = self._said.of(encoding, _StateCache)
        said.update(nodes, accounts, kind_numbers, view, stop)
        return said.states

    def viewed(
        self,
        what: Hashable,
        kinds: tuple[Node, ...],
        states: PersistentTuple[NodeState],
        view: Callable[[int, NodeState], NodeState],
    ) -> PersistentTuple[NodeState]:
        """Return states as something else sees them; unchanged ones keep the same objects.

        Args:
            what: What identifies the view, together with the kinds.
            kinds: As `kinds_of` returns them.
            states: As `states_of` returns them, so that a state is another object as soon as its
                node's account is.
            view: Returns how a state is seen, given the position of its node. It looks at nothing
                but the state, the account and the kind.

        """
        known = self._views.of(what, _View)
        if known.kinds is kinds and len(known.states) == len(states):
            changed = changed_indices(known.states, states)
            known.seen = known.seen.changed({at: view(at, states[at]) for at in changed})
        else:
            known.seen = PersistentTuple.of(view(at, state) for at, state in enumerate(states))
        known.kinds, known.states = kinds, states
        return known.seen

    def memo(self, what: Hashable, kinds: tuple[Node, ...], make: Callable[[], T]) -> T:
        """Return what follows from some kinds, as `kinds_of` returns them, and nothing else.

        Args:
            what: What identifies the value, together with the kinds.
            kinds: The kinds that it follows from.
            make: Works the value out.

        """
        key = (what, tuple(map(id, kinds)))
        found = self._values.get(key)
        if found is None:
            if len(self._values) >= MOST_VALUES:
                self._values.clear()
            # The kinds stay alive with the value, so that no other object gets their ids.
            found = self._values[key] = kinds, make()
        value: T = found[1]
        return value

    def batch_memo(self, what: Hashable, kinds: tuple[Node, ...], make: Callable[[], T]) -> T:
        """Return what follows from all that a batch asks for, as ``memo`` does."""
        key = (what, tuple(map(id, kinds)))
        value: T = self._batch_values.of(key, lambda: (kinds, make()))[1]
        return value

    def _forget(self) -> None:
        """Drop everything at once: equal kinds must stay one object wherever they are kept."""
        self._looks.clear()
        self._said.clear()
        self._views.clear()
        self._machines.clear()
        self._same_machines.clear()
        self._same_kinds.clear()
        self._values.clear()
        self._batch_values.clear()

    def _kind(
        self, node: Node, relevant: RelevantNodeFactNames, alike: dict[Hashable, Node]
    ) -> Node:
        """Return the one object for the node's kind; each machine is read through only once.

        Args:
            node: The node.
            relevant: The facts that tell kinds apart.
            alike: What nodes that live in the meantime share -> their kind. Most share the very
                objects: these are compared faster than what they say.

        """
        machine, words, facts = node.machine, node_facts_kept_in_kind(node, relevant), _FACTS(node)
        look = id(machine), words, *map(id, facts)
        kind = alike.get(look)
        if kind is not None:
            return kind
        known = self._machines.get(id(machine))
        if known is None:
            nameless = machine_without_names(machine)
            same = self._same_machines.setdefault(nameless, nameless)
            known = self._machines[id(machine)] = machine, same
        key = id(known[1]), words, facts
        kind = self._same_kinds.get(key)
        if kind is None:
            kind = self._same_kinds[key] = node_kind_of(node, known[1], words)
        alike[look] = kind
        return kind
