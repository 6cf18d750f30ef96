"""Devices given out and taken back; copies elsewhere are told what changed (B9 to B17)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placer.quota.filter import ClassRequest
from placer.quota.ledger import NotEnoughQuotaError, QuotaGrant, QuotaLedger
from placer.quota.store import DeviceQuotasOfClassOnNode, QuotaStore
from placer_models.policy import DeviceChoicePolicy
from placer_models.quota import BitPackedQuotas, IllegalQuotaError

CARDS = {"gpu.memory": [20, 20, 20, 20], "gpu.percent": [100] * 4, "address": [3]}


def free_of(ledger: QuotaLedger, node: str = "n") -> dict[str, tuple[int, ...]]:
    return {name: quotas.free for name, quotas in ledger.store.quotas(node).items()}


def cluster() -> QuotaLedger:
    ledger = QuotaLedger()
    ledger.add_node("n", CARDS)
    return ledger


@pytest.mark.parametrize(
    ("choice", "second"), [(DeviceChoicePolicy.LEAST_USED, 2), (DeviceChoicePolicy.MOST_USED, 1)]
)
def test_devices_are_chosen_by_use(choice: DeviceChoicePolicy, second: int) -> None:
    """
    B14: the second pod comes to an idle card, or beside the first; equals by number.
    """
    ledger = cluster()
    want = {"gpu.memory": ClassRequest(1, 8)}

    assert ledger.give_out("n", want, choice).devices == {"gpu.memory": (1,)}
    assert ledger.give_out("n", want, choice).devices == {"gpu.memory": (second,)}


def test_used_is_the_mean_of_the_parts_of_what_is_asked_for() -> None:
    """
    B14: 60 % of the memory and 20 % of the compute are less than half of both.
    """
    ledger = cluster()
    ledger.add_node("m", {"gpu.memory": [20, 10], "gpu.percent": [100, 100]})
    ledger.give_out("m", {"gpu.memory": ClassRequest(1, 12), "gpu.percent": ClassRequest(1, 20)})
    ledger.give_out("m", {"gpu.memory": ClassRequest(1, 5)}, DeviceChoicePolicy.LEAST_USED)
    ledger.give_out("m", {"gpu.percent": ClassRequest(1, 50)}, DeviceChoicePolicy.LEAST_USED)
    assert ledger.store.quotas("m")["gpu.memory"].used == (12, 5)
    assert ledger.store.quotas("m")["gpu.percent"].used == (20, 50)

    for choice, of_both, of_memory in (
        (DeviceChoicePolicy.LEAST_USED, 1, 2),
        (DeviceChoicePolicy.MOST_USED, 2, 1),
    ):
        both = ledger.give_out(
            "m", {"gpu.memory": ClassRequest(1, 1), "gpu.percent": ClassRequest(1, 1)}, choice
        )
        ledger.take_back(both)
        memory = ledger.give_out("m", {"gpu.memory": ClassRequest(1, 1)}, choice)
        ledger.take_back(memory)
        assert both.devices["gpu.memory"] == (of_both,)
        assert memory.devices["gpu.memory"] == (of_memory,)


def test_quantities_of_one_type_are_of_the_same_devices() -> None:
    """
    Memory on one card and compute on another are no card for a pod that asks for both.
    """
    ledger = cluster()
    ledger.give_out("n", {"gpu.memory": ClassRequest(2, 15)})
    ledger.give_out("n", {"gpu.percent": ClassRequest(1, 80)}, DeviceChoicePolicy.LEAST_USED)

    both = {
        "gpu.memory": ClassRequest(2, 11),
        "gpu.percent": ClassRequest(2, 50),
        "address": ClassRequest(1, 1),
    }
    assert ledger.store.passing(both).tolist() == [True]
    assert ledger.give_out("n", both).devices == {
        "gpu.memory": (3, 4),
        "gpu.percent": (3, 4),
        "address": (1,),
    }
    assert ledger.store.passing(both).tolist() == [False]
    with pytest.raises(
        IllegalQuotaError, match=r"2 of gpu.memory, 1 of gpu.percent: .* need one count"
    ):
        ledger.give_out("n", {"gpu.memory": ClassRequest(2, 1), "gpu.percent": ClassRequest(1, 1)})


def test_a_refusal_names_what_is_gone_and_takes_nothing() -> None:
    """
    B16: class by class, how many devices have the amount; the rest of the request is not taken.
    """
    ledger = cluster()
    ledger.give_out("n", {"gpu.memory": ClassRequest(3, 12)})
    before = free_of(ledger)

    with pytest.raises(NotEnoughQuotaError) as refusal:
        ledger.give_out(
            "n",
            {
                "gpu.memory": ClassRequest(2, 10),
                "address": ClassRequest(1, 4),
                "disk": ClassRequest(1, 1),
            },
        )

    assert refusal.value.short == {"gpu.memory": 1, "address": 0, "disk": 0}
    assert str(refusal.value) == (
        "node n: gpu.memory: 2 with 10 free are asked for, 1 are there; "
        "address: 1 with 4 free are asked for, 0 are there; "
        "disk: 1 with 1 free are asked for, 0 are there"
    )
    assert free_of(ledger) == before


def test_a_grant_is_taken_back_once() -> None:
    """
    B15: what a pod had is free again, and cannot be given back twice.
    """
    ledger = cluster()
    grant = ledger.give_out("n", {"gpu.memory": ClassRequest(2, 7), "address": ClassRequest(1, 2)})
    with pytest.raises(IllegalQuotaError, match="node 'n' has 1 grants; take them back first"):
        ledger.remove_node("n")

    ledger.take_back(grant)

    assert free_of(ledger) == {name: tuple(total) for name, total in CARDS.items()}
    with pytest.raises(IllegalQuotaError, match="was taken back already, or is not of this ledger"):
        ledger.take_back(grant)
    ledger.remove_node("n")
    assert ledger.store.nodes == ()


@given(st.data())
def test_any_sequence_leaves_a_fresh_encoding(data: st.DataObject) -> None:
    """
    B15: free is total less what grants hold, number for number; the filter knows who passes.
    """
    ledger = QuotaLedger()
    totals = data.draw(
        st.lists(st.lists(st.integers(0, 40), min_size=1, max_size=5), min_size=1, max_size=4)
    )
    for index, cards in enumerate(totals):
        ledger.add_node(f"n{index}", {"gpu.memory": cards, "address": [3]})
    grants: list[QuotaGrant] = []
    for _ in range(data.draw(st.integers(0, 12))):
        if grants and data.draw(st.booleans()):
            ledger.take_back(grants.pop(data.draw(st.integers(0, len(grants) - 1))))
            continue
        node = data.draw(st.integers(0, len(totals) - 1))
        wants = {
            "gpu.memory": ClassRequest(data.draw(st.integers(0, 3)), data.draw(st.integers(0, 20))),
            "address": ClassRequest(1, data.draw(st.integers(0, 2))),
        }
        passes = bool(ledger.store.passing(wants)[node])
        try:
            grants.append(ledger.give_out(f"n{node}", wants))
            assert passes
        except NotEnoughQuotaError:
            assert not passes

    bits = ledger.store.encoded("n0")["gpu.memory"].free.bits
    for index, cards in enumerate(totals):
        left = list(cards)
        for grant in grants:
            if grant.node == f"n{index}":
                for device in grant.devices["gpu.memory"]:
                    left[device - 1] -= grant.amounts["gpu.memory"]
        told = ledger.store.encoded(f"n{index}")["gpu.memory"]
        assert told.free == BitPackedQuotas.of(left, bits)
        assert told.total == BitPackedQuotas.of(cards, bits)


def test_a_copy_is_told_what_is_different() -> None:
    """
    Only nodes that changed are sent; a larger quota makes fields wider everywhere.
    """
    store = QuotaStore()
    for name in ("a", "b", "c"):
        store.collect(
            name,
            {
                "gpu.memory": DeviceQuotasOfClassOnNode((20, 20), (20, 5)),
                name: DeviceQuotasOfClassOnNode((1,), (1,)),
            },
        )
    first = store.changes_since(0)
    assert set(first.nodes) == {"a", "b", "c"}
    assert store.changes_since(first.version).nodes == {}

    store.collect("b", {"gpu.memory": DeviceQuotasOfClassOnNode((20, 20), (20, 20))})
    store.collect("a", dict(store.quotas("a")))  # nothing new
    store.remove("c")
    second = store.changes_since(first.version)
    assert (set(second.nodes), second.gone) == ({"b"}, ("c",))

    store.collect("d", {"gpu.memory": DeviceQuotasOfClassOnNode((80,), (80,))})
    third = store.changes_since(second.version)
    assert set(third.nodes) == {"a", "b", "d"}
    assert third.nodes["a"]["gpu.memory"].free == BitPackedQuotas.of((20, 5), 7)
    with pytest.raises(IllegalQuotaError, match="version 99 is not between 0 and"):
        store.changes_since(99)


@pytest.mark.parametrize(
    ("total", "free", "words"),
    [
        ((20,), (21,), "device 1: 21 is free of 20"),
        ((20, 20), (0, -1), "device 2: -1 is free of 20"),
        ((20,), (), "1 totals and 0 free quotas"),
    ],
)
def test_quotas_that_cannot_be_are_refused(
    total: tuple[int, ...], free: tuple[int, ...], words: str
) -> None:
    """
    Nothing is free that is not there.
    """
    with pytest.raises(IllegalQuotaError, match=words):
        DeviceQuotasOfClassOnNode(total, free)
