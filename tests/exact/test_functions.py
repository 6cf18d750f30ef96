"""Virtual functions: exact on tiny worlds, each with one holder (D9)."""

from dataclasses import replace

import pytest

from judge.cases_functions import HERE, OF_A, SHARE, held, sharing
from judge.hand import placed, pod, world
from placer.counting.account import account_of
from placer.judge.breaches import breaches
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.cluster import RunningPod
from placer_models.device import FunctionSelector
from placer_models.placement import PartlyPlaced, Placed
from placer_models.policy import QosClass

OF_B: FunctionSelector = (("kind", ("b",)),)
EITHER: FunctionSelector = (("kind", ("a", "b")),)


@pytest.mark.parametrize("engine", [Engine.GREEDY, Engine.EXACT])
def test_everyone_has_a_virtual_function_such_as_it_wants(engine: Engine) -> None:
    """
    Two of kind a, one of kind b. Who takes either leaves room for those who cannot choose.
    """
    pods = [sharing("a", EITHER), sharing("b"), sharing("c")]
    instance = world(*pods, nodes=HERE)
    answer = solve(instance, SolveOptions(engine=engine, workers=1, time_limit_s=60))

    assert isinstance(answer, Placed)
    given = {p.name: p.devices[0].vfs[0] for p in answer.placement.pods}
    assert (given["a"], {given["b"], given["c"]}) == (2, {0, 1})


def test_who_finds_none_is_told_so() -> None:
    """
    One of kind b, and two pods that want it.
    """
    instance = world(sharing("a", OF_B), sharing("b", OF_B), nodes=HERE)
    answer = solve(instance, SolveOptions(workers=1, time_limit_s=60))

    assert isinstance(answer, PartlyPlaced)
    assert "device-functions asks a virtual function of 1 rdma" in answer.unplaced[0].reasons[0]


def test_a_whole_nic_leaves_no_virtual_function() -> None:
    """
    Who holds all of a device holds its virtual functions too.
    """
    whole = pod("whole", nics=2, qos=QosClass.LS)
    instance = world(whole, sharing("a"), nodes=HERE)
    answer = solve(instance, SolveOptions(workers=1, time_limit_s=60))

    assert isinstance(answer, PartlyPlaced)
    assert len(answer.placement.pods) == 1


def test_accounts_forget_what_is_released() -> None:
    """
    A pod that goes gives its virtual function back.
    """
    node = HERE[0]
    runner = RunningPod(sharing("r"), replace(held("r", 1), node=node.name))

    assert account_of(node, [runner]).devices.held_functions == {("rdma", 0, 1)}
    assert account_of(node, []).devices.held_functions == frozenset()


def test_shares_without_virtual_functions_do_not_meet_them() -> None:
    """
    Percent are counted apart: a plain share may be on a NIC whose functions are all held.
    """
    instance = world(sharing("a", None), nodes=HERE)
    assert SHARE.percent == 1
    assert OF_A
    assert breaches(instance, placed(held("a"))) == ()
