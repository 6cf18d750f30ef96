"""Every argument of every public word and call has the type that its annotation names."""

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest

import placer
from placer import (
    Container,
    Node,
    Pod,
    PodSpec,
    Resources,
    Scheduler,
    SolveOptions,
    load_instance,
    load_machine,
    lone_gang,
    solve,
)
from placer.admission import AdmissionQueue, Workload
from placer.queue import FairQueue
from placer_models.cluster import Instance
from placer_models.pod import JointDevicesRequest, Variant
from placer_models.selectors import LabelExpression, SelectorOperator
from placer_models.taints import Taint, TaintEffect, Toleration, TolerationOperator
from placer_models.topology import Cpu, NumaNode, Topology
from placer_models.typed import check_argument_types


class Stranger:
    """A value of no type that any annotation names."""


STRANGER = Stranger()

GIVEN: dict[type, object] = {
    JointDevicesRequest: JointDevicesRequest(("gpu", "rdma")),
    LabelExpression: LabelExpression("app", SelectorOperator.EXISTS),
    Taint: Taint("key", "", TaintEffect.NO_SCHEDULE),
    Toleration: Toleration("key", TolerationOperator.EXISTS),
    Variant: Variant((("gpus", "small"),), ()),
    Topology: Topology("x86_64", (Cpu(0, 0, 0, 0),), (NumaNode(0, 1),)),
    Path: Path("instances/hello.yaml"),
    bool: True,
    float: 1.0,
    int: 1,
    str: "a",
}
"""A value of each class that the simplest arguments do not make."""

OF_PLACER_ALONE = ("placer.search.baseline", "placer.judge.scene")
"""Modules of what the parts of Placer hand to each other: no caller makes their objects."""

CALLS = {
    f"{owner}{name}": call
    for owner, calls in (
        ("", {name: getattr(placer, name) for name in placer.__all__}),
        ("Scheduler.", {name: getattr(Scheduler, name) for name in vars(Scheduler)}),
    )
    for name, call in calls.items()
    if (inspect.isfunction(call) or inspect.ismethod(call))
    and (name == "__init__" or not name.startswith("_"))
}
"""The everyday functions, and what a Scheduler is asked."""


def arguments_of(call: Callable[..., object]) -> dict[str, Any]:
    """Return the arguments of a call that callers give, each with its annotation."""
    parameters = inspect.signature(inspect.unwrap(call)).parameters
    return {
        name: parameter.annotation
        for name, parameter in parameters.items()
        if name not in ("self", "cls")
        and all(one.__module__ not in OF_PLACER_ALONE for one in classes_in(parameter.annotation))
    }


def classes_in(hint: Any) -> Iterator[type]:
    """Yield every class that a type names; those of the arguments of functions do not count."""
    if get_origin(hint) is None:
        yield from (hint,) if isinstance(hint, type) else ()
    elif get_origin(hint) is not Callable:
        for part in get_args(hint):
            yield from classes_in(part)


def words() -> tuple[type, ...]:
    """Return the everyday words, and all that they and the everyday calls are made of."""
    found: dict[type, None] = {}
    ahead: list[Any] = [getattr(placer, name) for name in placer.__all__]
    ahead += [hint for call in CALLS.values() for hint in arguments_of(call).values()]
    while ahead:
        for word in classes_in(ahead.pop()):
            if is_dataclass(word) and word not in found:
                found[word] = None
                ahead += hints_of(word).values()
    return tuple(sorted(found, key=lambda word: word.__name__))


def hints_of(word: Any) -> dict[str, Any]:
    """Return the arguments of a word, each with its type."""
    hints = get_type_hints(word)
    return {field.name: hints[field.name] for field in fields(word) if field.init}


def arguments_for(word: Any) -> dict[str, Any]:
    """Return arguments that a word can be made of."""
    if word in GIVEN:
        return {name: getattr(GIVEN[word], name) for name in hints_of(word)}
    return {
        field.name: value_of(hints_of(word)[field.name])
        for field in fields(word)
        if field.init and field.default is MISSING and field.default_factory is MISSING
    }


def value_of(hint: Any) -> Any:
    """Return some value of a type, the simplest there is."""
    origin, args = get_origin(hint), get_args(hint)
    if hint in GIVEN:
        return GIVEN[hint]
    if origin in (Union, UnionType):
        return None if NoneType in args else value_of(args[0])
    if origin is tuple:
        return () if args[1:] == (Ellipsis,) else tuple(map(value_of, args))
    if origin is not None:
        return {frozenset: frozenset(), Sequence: (), Iterable: ()}[origin]
    if issubclass(hint, Enum):
        return next(iter(hint))
    if hasattr(hint, "_fields"):
        return hint(*map(value_of, get_type_hints(hint).values()))
    return hint(**arguments_for(hint)) if is_dataclass(hint) else hint()


def wrong_values(hint: Any) -> Iterator[Any]:
    """Yield values that do not have a type: none of it at all, then some with one wrong part."""
    yield STRANGER
    for option in get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,):
        origin, args = get_origin(option), get_args(option)
        if origin is tuple and args[1:] != (Ellipsis,):
            yield (*map(value_of, args[:-1]), STRANGER)
            yield tuple(map(value_of, args[:-1]))
        elif origin in (tuple, Sequence, Iterable):
            yield "a text"
            yield from ((wrong,) for wrong in wrong_values(args[0]))
        elif origin is frozenset:
            yield from (frozenset({wrong}) for wrong in wrong_values(args[0]))


@pytest.mark.parametrize("word", words(), ids=lambda word: word.__name__)
def test_a_word_refuses_each_argument_of_a_wrong_type(word: Any) -> None:
    """
    At once, and the message names the word and the argument.
    """
    right = arguments_for(word)
    word(**right)

    for name, hint in hints_of(word).items():
        for wrong in wrong_values(hint):
            with pytest.raises(TypeError) as refused:
                word(**{**right, name: wrong})
            assert str(refused.value).startswith(f"{word.__name__}: {name}"), wrong


@pytest.mark.parametrize("name", CALLS)
def test_a_call_refuses_each_argument_of_a_wrong_type(name: str) -> None:
    """
    Before it does anything else, and the message names the call and the argument.
    """
    call = CALLS[name]
    of_object = inspect.isfunction(call) and "." in name
    first = (Scheduler(),) if of_object else ()
    hints = arguments_of(call)
    right = {argument: value_of(hint) for argument, hint in hints.items()}

    for argument, hint in hints.items():
        for wrong in wrong_values(hint):
            with pytest.raises(TypeError) as refused:
                call(*first, **{**right, argument: wrong})
            assert str(refused.value).startswith(f"{name.removesuffix('.__init__')}: {argument}")


POD = Pod("x", "default", PodSpec((Container("main", Resources(1000)),)))


def _desk() -> AdmissionQueue:
    queue = FairQueue()
    queue.add_job("a")
    return AdmissionQueue(queue, Scheduler())


SLIPS: dict[str, tuple[Callable[[], object], str]] = {
    "a machine by its name": (
        lambda: Node("a", "dgx-a100"),
        "Node: machine is 'dgx-a100', of type str; expected Machine",
    ),
    "a pod by its title": (
        lambda: Scheduler().release(["x/a1"]),
        "Scheduler.release: pods[0] is 'x/a1', of type str; expected an iterable of (str, str)",
    ),
    "one pod for many": (
        lambda: Scheduler().release(("x", "a1")),
        "Scheduler.release: pods[0] is 'x', of type str",
    ),
    "a title where a pod runs": (
        lambda: Scheduler().placement_of("x/a1"),
        "Scheduler.placement_of: pod is 'x/a1', of type str; expected a tuple (str, str)",
    ),
    "one file for many": (
        lambda: load_instance("instances/hello.yaml"),
        "load_instance: paths is 'instances/hello.yaml', of type str; expected a sequence of Path",
    ),
    "an engine by its name": (
        lambda: SolveOptions("greedy"),
        "SolveOptions: engine is 'greedy', of type str; expected Engine",
    ),
    "CPUs as a list": (
        lambda: Node("a", load_machine("dgx-a100"), reserved_cpus=[0, 1]),
        "Node: reserved_cpus is [0, 1], of type list; expected a frozenset of int",
    ),
    "CPUs as texts": (
        lambda: Node("a", load_machine("dgx-a100"), reserved_cpus=frozenset({"0"})),
        "Node: reserved_cpus (one of them) is '0', of type str; expected a frozenset of int",
    ),
    "files for an instance": (
        lambda: solve([Path("instances/hello.yaml")]),
        "solve: instance is [PosixPath('instances/hello.yaml')], of type list; expected Instance",
    ),
    "a pod for a workload": (
        lambda: _desk().submit("a", POD, now_us=0),
        "AdmissionQueue.submit: workloads is Pod(",
    ),
    "a gang for the second of two workloads": (
        lambda: _desk().submit("a", Workload("w", ()), lone_gang(POD), now_us=0),
        "AdmissionQueue.submit: workloads is Gang(",
    ),
    "a pod for a workload's gang": (
        lambda: Workload("w", (POD,)),
        "Workload: gangs[0] is Pod(",
    ),
    "a time in words": (
        lambda: _desk().step("now", 1),
        "AdmissionQueue.step: now_us is 'now', of type str; expected int",
    ),
    "a number for a workload": (
        lambda: _desk().finish(3, 0),
        "AdmissionQueue.finish: key is 3, of type int; expected str",
    ),
    "a queue in place of the Scheduler": (
        lambda: AdmissionQueue(Scheduler(), FairQueue()),
        "AdmissionQueue: queue is <placer.scheduler.Scheduler",
    ),
    "a deadline in words": (
        lambda: solve(Instance((), ()), SolveOptions(time_limit_s="5")),
        "SolveOptions: time_limit_s is '5', of type str; expected a number",
    ),
}


@pytest.mark.parametrize(("slip", "message"), SLIPS.values(), ids=SLIPS)
def test_a_slip_is_told_in_words_that_say_what_to_give(
    slip: Callable[[], object], message: str
) -> None:
    """
    Where it is, what is there, and what is expected there.
    """
    with pytest.raises(TypeError) as refused:
        slip()

    assert message in str(refused.value)


def test_whole_numbers_are_numbers_and_truth_is_none() -> None:
    """
    Seconds may be given whole, as everywhere in Python; a slip of the flag is still one.
    """
    assert SolveOptions(time_limit_s=5).time_limit_s == 5
    with pytest.raises(TypeError):
        SolveOptions(time_limit_s=True)


def test_an_iterable_that_can_be_gone_through_once_is_taken_whole() -> None:
    """
    What is checked is what the call gets.
    """
    machine = load_machine("dgx-a100")
    scheduler = Scheduler(Node(name, machine) for name in "ab")

    assert [node.name for node in scheduler.snapshot().instance.nodes] == ["a", "b"]


def test_classes_that_were_right_once_settle_only_what_they_can() -> None:
    """
    A call is quick where the classes of all arguments settle them, and only there.
    """

    @check_argument_types
    def joined(first: int, *more: int, parts: tuple[str, ...] = (), last: bool = False) -> str:
        return f"{first}{more}{parts}{last}"

    for _ in range(3):
        assert joined(1) == "1()()False"
        assert joined(1, 2, 3, last=True) == "1(2, 3)()True"
        assert joined(1, parts=("a", "b")) == "1()('a', 'b')False"
        with pytest.raises(TypeError, match="first is True"):
            joined(True)
        with pytest.raises(TypeError, match="more is 'b'"):
            joined(1, 2, "b")  # type: ignore[arg-type]
        with pytest.raises(TypeError, match=r"parts\[1\] is 2"):
            joined(1, parts=("a", 2))  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="has no argument 'lasts'"):
            joined(1, lasts=True)  # type: ignore[call-arg]
