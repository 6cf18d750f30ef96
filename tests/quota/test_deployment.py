"""The three parts of seed 003, each called alone and one after the other (B17)."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placer.quota.choose import QuotaClassUse, choose_node
from placer.quota.deployment import BindingRefusedError, NodeQuotaRequest, bind_all_or_none
from placer.quota.filter import ClassRequest
from placer.quota.ledger import QuotaLedger
from placer.quota.store import DeviceQuotasOfClassOnNode
from placer_models.node_strategy import NodeStrategy
from placer_models.policy import DeviceChoicePolicy
from placer_models.quota import IllegalQuotaError

CARDS = {"gpu.memory": [20, 20, 20, 20], "address": [3]}


def cluster(*nodes: str) -> QuotaLedger:
    ledger = QuotaLedger()
    for node in nodes:
        ledger.add_node(node, CARDS)
    return ledger


def free_of(ledger: QuotaLedger) -> dict[str, dict[str, tuple[int, ...]]]:
    return {
        node: {name: quotas.free for name, quotas in ledger.store.quotas(node).items()}
        for node in ledger.store.nodes
    }


def test_the_three_parts_in_turn() -> None:
    """
    B17: resources tell what is free, scheduling filters and chooses, deployment asks for devices.
    """
    ledger = cluster("a", "b")
    want = {"gpu.memory": ClassRequest(1, 12)}
    bind_all_or_none(ledger, [NodeQuotaRequest("early", "a", {"gpu.memory": ClassRequest(4, 10)})])

    passing = ledger.store.passing(want).tolist()
    nodes = [name for name, passes in zip(ledger.store.nodes, passing, strict=True) if passes]
    uses = {name: uses_of(ledger.store.quotas(name)) for name in nodes}
    node = choose_node(uses, {"gpu.memory": 12}, NodeStrategy.LEAST_REQUESTED)
    assert node == "b"
    granted = bind_all_or_none(
        ledger, [NodeQuotaRequest("late", node, want, DeviceChoicePolicy.LEAST_USED)]
    )

    assert granted["late"].devices == {"gpu.memory": (1,)}
    assert free_of(ledger)["b"]["gpu.memory"] == (8, 20, 20, 20)


def uses_of(classes: Mapping[str, DeviceQuotasOfClassOnNode]) -> dict[str, QuotaClassUse]:
    return {name: QuotaClassUse(sum(q.total), sum(q.used)) for name, q in classes.items()}


def test_pods_are_bound_together_or_not_at_all() -> None:
    """
    B16: each pod that is short of something is named, and what the others got is given back.
    """
    ledger = cluster("a", "b")
    before = free_of(ledger)
    bindings = [
        NodeQuotaRequest("p0", "a", {"gpu.memory": ClassRequest(3, 15)}),
        NodeQuotaRequest(
            "p1", "a", {"gpu.memory": ClassRequest(2, 15), "address": ClassRequest(1, 4)}
        ),
        NodeQuotaRequest("p2", "b", {"gpu.memory": ClassRequest(4, 20)}),
        NodeQuotaRequest("p3", "b", {"disk": ClassRequest(1, 1)}),
    ]

    with pytest.raises(BindingRefusedError) as error:
        bind_all_or_none(ledger, bindings)

    assert {pod: short.short for pod, short in error.value.refused.items()} == {
        "p1": {"gpu.memory": 1, "address": 0},
        "p3": {"disk": 0},
    }
    assert "pod p1: node a: gpu.memory: 2 with 15 free are asked for, 1 are there" in str(
        error.value
    )
    assert free_of(ledger) == before
    assert set(bind_all_or_none(ledger, [bindings[0], bindings[2]])) == {"p0", "p2"}


@pytest.mark.parametrize(
    ("second", "words"),
    [
        (NodeQuotaRequest("p0", "a", {}), "pod 'p0' is to be bound twice; a pod has one node"),
        (NodeQuotaRequest("p1", "z", {}), "there is no node 'z'"),
        (
            NodeQuotaRequest(
                "p1", "a", {"gpu.memory": ClassRequest(2, 1), "gpu.percent": ClassRequest(1, 1)}
            ),
            "need one count",
        ),
    ],
)
def test_nonsense_takes_nothing(second: NodeQuotaRequest, words: str) -> None:
    """
    What was given out before the slip is given back.
    """
    ledger = cluster("a")
    before = free_of(ledger)

    with pytest.raises(IllegalQuotaError, match=words):
        bind_all_or_none(
            ledger, [NodeQuotaRequest("p0", "a", {"gpu.memory": ClassRequest(1, 1)}), second]
        )

    assert free_of(ledger) == before


@given(st.data())
def test_whatever_is_bound_adds_up(data: st.DataObject) -> None:
    """
    Free is total less what pods hold, device by device, after any sequence of bindings.
    """
    ledger = cluster("a", "b")
    held = []
    for number in range(data.draw(st.integers(1, 6))):
        bindings = [
            NodeQuotaRequest(
                f"p{number}-{i}",
                data.draw(st.sampled_from("ab")),
                {
                    "gpu.memory": ClassRequest(
                        data.draw(st.integers(0, 3)), data.draw(st.integers(0, 20))
                    )
                },
                data.draw(st.sampled_from(DeviceChoicePolicy)),
            )
            for i in range(data.draw(st.integers(1, 3)))
        ]
        before = free_of(ledger)
        try:
            held += bind_all_or_none(ledger, bindings).values()
        except BindingRefusedError:
            assert free_of(ledger) == before
        if held and data.draw(st.booleans()):
            ledger.take_back(held.pop())

    for node, classes in free_of(ledger).items():
        left = [20] * 4
        for grant in held:
            if grant.node == node:
                for device in grant.devices["gpu.memory"]:
                    left[device - 1] -= grant.amounts["gpu.memory"]
        assert classes["gpu.memory"] == tuple(left)
