"""The words of what-if: one table of kinds of changes, read from text, applied together.

The same words stand behind ``--what-if`` of the command, in files of changes, and in whatever
names a change to a person. A change is written ``KIND=VALUE``.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from placer_models.capacity import parse_amount
from placer_models.cluster import Instance, Machine
from placer_models.legal import IllegalPodError, check_pods_legal
from placer_models.placement import NamespacedName
from placer_models.quantity import parse_bytes, parse_milli
from placer_models.whatif.change import Aspect, InstanceChange, WhatIfChangeError
from placer_models.whatif.nodes import AddNodes, Cordon, MarkDevicesHealthy, SetNodeLabel, Uncordon
from placer_models.whatif.pods import (
    POLICIES,
    TERMS,
    AllowPodMoves,
    AskLess,
    GiveUpConstraint,
    RelaxPolicy,
    RemovePods,
    ScalePods,
    with_named_pods_movable,
)
from placer_models.whatif.shares import is_resource_in_bytes

FindMachine = Callable[[str], Machine | None]
"""Returns the machine of a name, such as one of the catalogue, or None."""

MOST_ADDED = 100_000
"""More nodes or members than this are a slip of the keyboard."""


@dataclass(frozen=True, slots=True)
class WhatIfChangeSyntax:
    """A kind of change.

    Attributes:
        value: How its value is written.
        means: What it does, in one line.
        read: Returns the change that a value stands for.

    """

    value: str
    means: str
    read: Callable[[str, FindMachine], InstanceChange]


def parse_change(text: str, find_machine: FindMachine = lambda name: None) -> InstanceChange:
    """Return the change that a text ``KIND=VALUE`` stands for.

    Args:
        text: The change as people write it.
        find_machine: Knows machines that are no node's, for ``add``.

    Raises:
        WhatIfChangeError: It is no such text.

    """
    word, equals, value = text.partition("=")
    kind = KINDS.get(word)
    if kind is None:
        near = get_close_matches(word, KINDS, n=1)
        mend = f"did you mean '{near[0]}'?" if near else f"there are {', '.join(KINDS)}"
        raise WhatIfChangeError(f"got '{text}'; there is no change '{word}'; {mend}")
    if not equals or not value:
        raise WhatIfChangeError(f"got '{text}'; expected {word}={kind.value}")
    try:
        return kind.read(value, find_machine)
    except ValueError as error:
        raise WhatIfChangeError(f"got '{text}'; {error}; expected {word}={kind.value}") from None


def instance_with_all_changes(changes: Sequence[InstanceChange], instance: Instance) -> Instance:
    """Return the instance with all changes made, one after the other, and moves together at last.

    Raises:
        WhatIfChangeError: Two of them decide the same, one has nothing to change, or a pod asks
            then for what no pod may ask for.

    """
    decided: dict[Aspect, InstanceChange] = {}
    for change in changes:
        for aspect in sorted(change.aspects, key=str):
            other = decided.setdefault(aspect, change)
            if other is not change:
                raise WhatIfChangeError(f"{other} and {change} contradict; leave one out")
    before = {id(pod) for gang in instance.gangs for pod in gang.pods}
    moves = [change for change in changes if isinstance(change, AllowPodMoves)]
    for change in changes:
        if isinstance(change, AllowPodMoves):
            continue
        try:
            instance = change.apply(instance)
        except WhatIfChangeError as error:
            raise WhatIfChangeError(f"{change}: {error}") from None
    if moves:
        instance = with_named_pods_movable(moves, instance)
    try:
        pods = (pod for gang in instance.gangs for pod in gang.pods if id(pod) not in before)
        check_pods_legal(pods, instance.nodes)
    except IllegalPodError as error:
        raise WhatIfChangeError(str(error)) from None
    return instance


def _key(text: str) -> NamespacedName:
    namespace, slash, name = text.rpartition("/")
    if not name or (slash and not namespace):
        raise ValueError(f"'{text}' names no pod")
    return (namespace or "default", name)


def _count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MOST_ADDED:
        raise ValueError(f"'{text}' is no whole number from 1 to {MOST_ADDED:,}")
    return int(text)


def _mend(value: str, _: FindMachine) -> InstanceChange:
    node, colon, device = value.partition(":")
    kind, slash, minor = device.rpartition("/")
    if colon and not (kind and slash and minor.isdecimal()):
        raise ValueError(f"'{device}' names no device")
    return MarkDevicesHealthy(node, (kind, int(minor)) if colon else None)


def _label(value: str, _: FindMachine) -> InstanceChange:
    node, _colon, label = value.partition(":")
    key, equals, word = label.partition("=")
    if not (node and key and equals):
        raise ValueError("it does not say which label")
    return SetNodeLabel(node, key, word)


def _add(value: str, find_machine: FindMachine) -> InstanceChange:
    count, colon, of = value.partition(":")
    if not (colon and of):
        raise ValueError("it does not say what is added")
    return AddNodes(_count(count), of, find_machine(of))


def _scale(value: str, _: FindMachine) -> InstanceChange:
    key, colon, count = value.rpartition(":")
    if not colon:
        raise ValueError("it does not say how many")
    return ScalePods(_key(key), _count(count))


def _relax(value: str, _: FindMachine) -> InstanceChange:
    key, _dot, policy = value.rpartition(".")
    if policy not in POLICIES:
        raise ValueError(f"the policies are {', '.join(POLICIES)}")
    return RelaxPolicy(_key(key), policy)


def _give_up(value: str, _: FindMachine) -> InstanceChange:
    key, _colon, term = value.partition(":")
    name, _equals, which = term.partition("=")
    if name not in TERMS:
        raise ValueError(f"the terms are {', '.join(TERMS)}")
    if (name == "nodeAffinity") == bool(which):
        raise ValueError(f"{name} {'is given up whole' if which else 'needs to know which'}")
    return GiveUpConstraint(_key(key), name, which)


def _ask_less(value: str, _: FindMachine) -> InstanceChange:
    key, _colon, asked = value.partition(":")
    resource, equals, amount = asked.rpartition("=")
    if not (equals and resource and amount):
        raise ValueError("it does not say how much of what")
    match resource:
        case "cpu":
            number = parse_milli(amount)
        case _ if is_resource_in_bytes(resource):
            number = parse_bytes(amount)
        case _ if amount.isdecimal():
            number = int(amount)
        case _:  # a quantity of a device may be in bytes or in percent
            number, _unit = parse_amount(amount)
    return AskLess(_key(key), resource, number, written=amount)


KINDS: Mapping[str, WhatIfChangeSyntax] = {
    "uncordon": WhatIfChangeSyntax(
        "NODE", "new pods may come to the node", lambda v, _: Uncordon(v)
    ),
    "cordon": WhatIfChangeSyntax("NODE", "no new pod comes to the node", lambda v, _: Cordon(v)),
    "mend": WhatIfChangeSyntax("NODE[:TYPE/MINOR]", "broken devices of the node work again", _mend),
    "label": WhatIfChangeSyntax("NODE:KEY=VALUE", "the node has the label", _label),
    "add": WhatIfChangeSyntax(
        "COUNT:NODE|MACHINE", "so many more nodes, like a node or of a machine", _add
    ),
    "remove": WhatIfChangeSyntax(
        "[NAMESPACE/]POD|GANG",
        "it runs, or waits, no longer",
        lambda value, _: RemovePods(_key(value)),
    ),
    "move": WhatIfChangeSyntax(
        "[NAMESPACE/]POD|GANG",
        "the running pods may get other places",
        lambda value, _: AllowPodMoves(_key(value)),
    ),
    "scale": WhatIfChangeSyntax(
        "[NAMESPACE/]GANG|POD:COUNT", "so many members, or pods like the pod", _scale
    ),
    "ask-less": WhatIfChangeSyntax(
        "[NAMESPACE/]POD|GANG:RESOURCE=AMOUNT",
        "each pod asks for that much of the resource, which is less",
        _ask_less,
    ),
    "give-up": WhatIfChangeSyntax(
        "[NAMESPACE/]POD|GANG:TERM[=WHICH]",
        f"the pods do without a term: {', '.join(TERMS)}",
        _give_up,
    ),
    "relax": WhatIfChangeSyntax(
        "[NAMESPACE/]POD|GANG.POLICY",
        f"the pods only prefer what a policy demands: {', '.join(POLICIES)}",
        _relax,
    ),
}
"""All kinds of changes by the word that names them on the command line and in files."""
