"""What is worked out for one Problem and is as true for the next one.

Between two batches most nodes stay as they are. So what follows from a node and its
account is kept until either is another object, and what follows from a spec and a kind of
node as long as there is room. A Problem never depends on what was kept.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import fields, replace
from functools import partial
from typing import Any, NamedTuple, TypeVar

from placer.state.account import Account
from placer.state.node_states import LookedAt, Terms, banks_of, kind_of, node_state
from placer_models.cluster import Machine, Node
from placer_models.problem import NodeState

MOST_LOOKS = 8
"""Ways of looking at all nodes that are kept at a time, and ways of saying their states."""

MOST_VALUES = 20_000
"""Kinds of nodes, and values about specs and kinds, that are kept at a time."""

_FACTS = tuple(field.name for field in fields(Node) if field.name != "machine")
"""All that tells nodes of one machine apart."""

T = TypeVar("T")


class _Row(NamedTuple):
    """A node's state, and all that it follows from."""

    node: Node
    account: Account
    kind: Node
    number: int
    state: NodeState


class Kept:
    """What is kept from one Problem to the next. For one thread at a time."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._kinds: dict[LookedAt, dict[str, tuple[Node, Node]]] = {}
        self._rows: dict[Terms, dict[str, _Row]] = {}
        self._machines: dict[int, tuple[Machine, Machine]] = {}
        self._same_machines: dict[Machine, Machine] = {}
        self._same_kinds: dict[Hashable, Node] = {}
        self._values: dict[Hashable, tuple[tuple[Node, ...], Any]] = {}

    def kinds_of(
        self, nodes: Sequence[Node], looked_at: LookedAt
    ) -> tuple[tuple[Node, ...], list[int]]:
        """Return the kinds of nodes, and the number of each node's kind.

        Equal kinds are one object, here and in later calls.
        """
        if len(self._same_kinds) > MOST_VALUES:
            self._forget()
        known = _recent(self._kinds, looked_at)
        numbers: dict[int, int] = {}
        kinds: list[Node] = []
        kind_numbers = []
        for node in nodes:
            found = known.get(node.name)
            if found is None or found[0] is not node:
                found = known[node.name] = node, self._kind(node, looked_at)
            number = numbers.setdefault(id(found[1]), len(kinds))
            if number == len(kinds):
                kinds.append(found[1])
            kind_numbers.append(number)
        if len(known) > 2 * len(nodes):
            self._kinds[looked_at] = {node.name: known[node.name] for node in nodes}
        return tuple(kinds), kind_numbers

    def states_of(
        self,
        nodes: Sequence[Node],
        accounts: Sequence[Account],
        kinds: Sequence[Node],
        kind_numbers: Sequence[int],
        terms: Terms,
    ) -> tuple[NodeState, ...]:
        """Return what is left on each node; one object as long as nothing changes there.

        Args:
            nodes: Names are unique.
            accounts: Of each of them.
            kinds: As `kinds_of` returns them.
            kind_numbers: As it returns them, too.
            terms: In what the batch has them said.

        """
        known = _recent(self._rows, terms)
        alike: dict[tuple[int, int], NodeState] = {}
        states = []
        for node, account, number in zip(nodes, accounts, kind_numbers, strict=True):
            kind = kinds[number]
            row = known.get(node.name)
            if row is None or row.node is not node or row.account is not account:
                # Idle nodes of a kind share their account, and so all but the name.
                state = alike.get((number, id(account)))
                if state is None:
                    banks = self.once(banks_of, (kind,), partial(banks_of, kind))
                    state = node_state(node, number, banks, account, terms)
                    alike[number, id(account)] = state
                state = replace(state, name=node.name)
                row = known[node.name] = _Row(node, account, kind, number, state)
            elif row.number != number:
                state = replace(row.state, kind=number)
                row = known[node.name] = row._replace(number=number, state=state)
            states.append(row.state)
        if len(known) > 2 * len(states):
            self._rows[terms] = {node.name: known[node.name] for node in nodes}
        return tuple(states)

    def once(self, what: Hashable, kinds: tuple[Node, ...], make: Callable[[], T]) -> T:
        """Return what follows from some kinds, as `kinds_of` returns them, and nothing else.

        Args:
            what: Says, with the kinds, which value it is.
            kinds: What it follows from.
            make: Works it out.

        """
        key = (what, tuple(map(id, kinds)))
        found = self._values.get(key)
        if found is None:
            if len(self._values) >= MOST_VALUES:
                self._values.clear()
            # The kinds stay alive with the value, so that their ids are nobody else's.
            found = self._values[key] = kinds, make()
        value: T = found[1]
        return value

    def _forget(self) -> None:
        """Let all go together: equal kinds have to be one object, wherever they are kept."""
        self._kinds.clear()
        self._rows.clear()
        self._machines.clear()
        self._same_machines.clear()
        self._same_kinds.clear()
        self._values.clear()

    def _kind(self, node: Node, looked_at: LookedAt) -> Node:
        """Return the one object for the node's kind; a machine is read through but once."""
        machine = node.machine
        known = self._machines.get(id(machine))
        if known is None:
            same = self._same_machines.setdefault(machine, machine)
            known = self._machines[id(machine)] = machine, same
        kind = replace(kind_of(node, looked_at), machine=known[1])
        key = (id(known[1]), *(getattr(kind, name) for name in _FACTS))
        return self._same_kinds.setdefault(key, kind)


K = TypeVar("K", bound=Hashable)


def _recent(looks: dict[K, dict[str, T]], key: K) -> dict[str, T]:
    """Return what is kept under the key, as the latest; the oldest one may have to go."""
    found = looks.pop(key, None)
    if found is None:
        found = {}
        if len(looks) >= MOST_LOOKS:
            del looks[next(iter(looks))]
    looks[key] = found
    return found
