"""Illegal pods are left out, each with its reason, and all others get their answer."""

from dataclasses import replace
from random import Random

import pytest

from answers import expect
from illegal.illegal_pods import ILLEGAL, with_some_illegal
from mixed_worlds import mixed_instance
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.capacity import DeviceQuantity
from placer_models.cluster import Instance, Node
from placer_models.device_share import DeviceShare
from placer_models.legal import IllegalPodError, illegal_pods
from placer_models.machines.catalogue import load_machine
from placer_models.placement import Answer, GaveUp, Infeasible, PartlyPlaced, Placed, Unplaced
from placer_models.pod import Container, DeviceRequest, Gang, GangGroup, Pod, PodSpec, Resources
from placer_models.policy import QosClass
from placer_models.reasons import (
    Illegal,
    IllegalGangInGroup,
    IllegalMembers,
    UnplacedCause,
    verdict_of_reasons,
)
from tiny_pods import lone

NODE = Node("n", load_machine("dgx-a100"))
GREEDY = SolveOptions(Engine.GREEDY, workers=1, seed=1)
EXACT = SolveOptions(Engine.EXACT, workers=1, seed=1)
BATCHES = 10
FINE = PodSpec((Container("main", Resources(1000)),))
HALF = PodSpec((Container("main", Resources(1500)),), QosClass.LSR)


def pods(gang: str, *specs: PodSpec) -> tuple[Pod, ...]:
    return tuple(Pod(f"{gang}-{i}", "default", spec) for i, spec in enumerate(specs))


def asked(*gangs: Gang, groups: tuple[GangGroup, ...] = ()) -> Answer:
    return solve(Instance((NODE,), gangs, groups), GREEDY, skip_illegal=True)


def unplaced(answer: Answer) -> dict[str, Unplaced]:
    return {} if isinstance(answer, Placed) else {one.name: one for one in answer.unplaced}


def placed(answer: Answer) -> set[str]:
    got = isinstance(answer, Placed | PartlyPlaced)
    return {place.name for place in answer.placement.pods} if got else set()


@pytest.mark.parametrize("spec", ILLEGAL.values(), ids=ILLEGAL)
def test_one_illegal_pod_ends_nothing(spec: PodSpec) -> None:
    """
    It is left out with what is wrong, and the pod beside it runs.
    """
    fine, bad = (lone(Pod(name, "default", of)) for name, of in (("fine", FINE), ("bad", spec)))
    with pytest.raises(IllegalPodError) as refused:
        solve(Instance((NODE,), (bad, fine)), GREEDY)

    answer = expect(PartlyPlaced, asked(bad, fine))

    assert placed(answer) == {"fine"}
    (left,) = answer.unplaced
    assert left.why == (Illegal(refused.value.fault.path, refused.value.fault.message),)
    assert left.reasons == (f"illegal: {left.why[0].text}",)
    assert verdict_of_reasons(left.why) is UnplacedCause.ILLEGAL


def test_a_share_that_no_device_gives_is_left_out_too() -> None:
    """
    What is illegal may depend on what the nodes have.
    """
    share = DeviceShare(capacity=(DeviceQuantity("space", 1),))
    spec = PodSpec((Container("main", Resources(devices=(DeviceRequest("rdma", 1, share),))),))

    answer = asked(lone(Pod("bad", "default", spec)), lone(Pod("fine", "default", FINE)))

    assert placed(answer) == {"fine"}
    assert "have no space to share" in unplaced(answer)["bad"].reasons[0]


def test_all_illegal_pods_are_told_and_nothing_else_is_infeasible() -> None:
    """
    Where nothing legal waits, nothing can have a place.
    """
    answer = asked(*(lone(Pod(f"bad-{i}", "default", s)) for i, s in enumerate(ILLEGAL.values())))

    assert isinstance(answer, Infeasible)
    assert len(answer.unplaced) == len(ILLEGAL)


def test_nothing_illegal_is_an_answer_like_any_other() -> None:
    """
    To skip illegal pods changes nothing where there are none.
    """
    instance = Instance((NODE,), (lone(Pod("fine", "default", FINE)),))

    assert solve(instance, GREEDY, skip_illegal=True) == solve(instance, GREEDY)


def test_a_gang_runs_without_its_illegal_members_while_its_minimum_is_left() -> None:
    """
    Members beyond the minimum are not needed.
    """
    answer = asked(Gang("g", "default", pods("g", FINE, HALF, FINE), 2))

    assert placed(answer) == {"g-0", "g-2"}
    (left,) = unplaced(answer).values()
    assert (left.name, left.gang) == ("g-1", "g")
    assert isinstance(left.why[0], Illegal)


def test_a_gang_below_its_minimum_is_left_out_whole_and_names_who_is_illegal() -> None:
    """
    It would never run, however much room there is.
    """
    waits = Gang("g", "default", pods("g", FINE, HALF, FINE, HALF), 3)

    answer = asked(waits, lone(Pod("fine", "default", FINE)))

    assert placed(answer) == {"fine"}
    left = unplaced(answer)
    assert left["g-0"].why == (IllegalMembers("g", ("g-1", "g-3"), 4, 3),)
    assert left["g-0"].reasons == (
        "illegal: gang g has 2 of 4 members left (3 are needed), for these are illegal: g-1, g-3",
    )
    assert left["g-1"].reasons[0].startswith("illegal: containers[0].requests.cpu_milli: got 1.5")
    assert {verdict_of_reasons(one.why) for one in left.values()} == {UnplacedCause.ILLEGAL}


def test_a_gang_group_goes_with_its_gang() -> None:
    """
    All gangs of a group run, or none does.
    """
    short = Gang("short", "default", pods("short", FINE, HALF), 2)
    whole = Gang("whole", "default", pods("whole", FINE, HALF), 1)
    group = GangGroup("both", "default", (short.key, whole.key))

    answer = asked(short, whole, lone(Pod("fine", "default", FINE)), groups=(group,))

    assert placed(answer) == {"fine"}
    left = unplaced(answer)
    assert left["whole-0"].why == (IllegalGangInGroup("both", "short"),)
    assert isinstance(left["whole-1"].why[0], Illegal)
    assert isinstance(left["short-0"].why[0], IllegalMembers)
    assert left["whole-0"].reasons == (
        "illegal: gang group both runs whole or not at all, and gang short has too few members "
        "left that are legal",
    )


def test_a_group_of_which_every_gang_keeps_its_minimum_stays() -> None:
    """
    Its gangs are asked about with the members that are left.
    """
    gangs = tuple(Gang(name, "default", pods(name, FINE, HALF), 1) for name in ("g", "h"))
    group = GangGroup("both", "default", tuple(gang.key for gang in gangs))

    answer = asked(*gangs, groups=(group,))

    assert placed(answer) == {"g-0", "h-0"}


def same_worlds(seed: int, options: SolveOptions) -> None:
    """A world with illegal pods that are skipped is solved as the same world without them."""
    with_bad, without = with_some_illegal(Random(f"illegal-{seed}"), mixed_instance(seed))
    asked_about = {pod.key for gang in without.gangs for pod in gang.pods}
    everyone = {pod.key for gang in with_bad.gangs for pod in gang.pods}
    bad = illegal_pods((p for g in with_bad.gangs for p in g.pods), with_bad.nodes)

    found = solve(with_bad, options, skip_illegal=True)
    plain = solve(without, options)

    left = () if isinstance(found, Placed) else found.unplaced
    others = () if isinstance(plain, Placed) else plain.unplaced
    assert left[: len(others)] == others
    skipped = left[len(others) :]
    assert {(one.namespace, one.name) for one in skipped} == everyone - asked_about
    assert {verdict_of_reasons(one.why) for one in skipped} <= {UnplacedCause.ILLEGAL}
    told = {(one.namespace, one.name) for one in skipped if isinstance(one.why[0], Illegal)}
    assert told == bad.keys()
    assert _worth(found) == _worth(plain)
    if skipped and without.gangs:
        assert type(found) is (PartlyPlaced if isinstance(plain, Placed) else type(plain))
    elif skipped and not isinstance(plain, PartlyPlaced):
        assert isinstance(found, Infeasible)


def _worth(answer: Answer) -> object:
    """Return all of an answer but its pods without a place and its time."""
    if isinstance(answer, Infeasible | GaveUp):
        return ()
    pods_placed = answer.placement.pods or answer.moves
    return (answer.placement, answer.tiers, answer.moves) if pods_placed else ()


@pytest.mark.parametrize("batch", range(BATCHES))
def test_worlds_with_illegal_pods_are_solved_as_without_them(batch: int) -> None:
    """
    The fast path, on worlds in which the rules of all families mix.
    """
    for seed in range(batch, 15 * BATCHES, BATCHES):
        same_worlds(seed, GREEDY)


@pytest.mark.check
@pytest.mark.parametrize("batch", range(BATCHES))
def test_worlds_with_illegal_pods_are_solved_exactly_as_without_them(batch: int) -> None:
    """
    The exact search, with its values, bounds and proofs.
    """
    for seed in range(1_000 + batch, 1_000 + 6 * BATCHES, BATCHES):
        same_worlds(seed, EXACT)


def test_skipping_takes_pods_of_equal_names_in_other_namespaces_apart() -> None:
    """
    A pod is illegal by its namespace and name.
    """
    bad, fine = Pod("p", "a", HALF), Pod("p", "b", FINE)

    answer = asked(lone(bad), lone(replace(fine, spec=FINE)))

    assert [(one.namespace, one.name) for one in unplaced(answer).values()] == [("a", "p")]
    assert isinstance(answer, PartlyPlaced)
    assert [place.key for place in answer.placement.pods] == [("b", "p")]
