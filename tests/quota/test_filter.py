"""Three forms of free quotas answer as a plain loop does (B10, B11)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from placer.quota.filter import (
    ClassRequest,
    FieldByFieldFreeQuotas,
    GuardBitFreeQuotas,
    SortedFreeQuotas,
    decode_class_quotas,
)
from placer.quota.store import DeviceQuotasOfClassOnNode, QuotaStore
from placer_models.quota import BitPackedQuotas, IllegalQuotaError

FORMS = (FieldByFieldFreeQuotas, GuardBitFreeQuotas, SortedFreeQuotas)


@st.composite
def fleets(draw: st.DrawFn) -> tuple[int, list[list[int]]]:
    """Draw the bits of a class and the free quotas of nodes, few of them equal."""
    bits = draw(st.integers(1, 63))
    edge = st.sampled_from([0, 1, (1 << bits) - 1, (1 << bits) // 2])
    quotas = st.lists(edge | st.integers(0, (1 << bits) - 1), max_size=20)
    return bits, draw(st.lists(quotas, max_size=6))


@given(fleets(), st.integers(0, 21), st.integers(0, 1 << 65), st.data())
def test_all_forms_answer_as_a_loop(
    fleet: tuple[int, list[list[int]]], count: int, amount: int, data: st.DataObject
) -> None:
    """
    Whatever the width, the number of devices and the amount, also beyond what a field says.
    """
    bits, nodes = fleet
    known = sorted({quota for node in nodes for quota in node})
    if known:
        amount = data.draw(st.sampled_from(known) | st.just(amount))
    want = ClassRequest(count, amount)
    free = decode_class_quotas([BitPackedQuotas.of(node, bits) for node in nodes])

    expected = [sum(quota >= amount for quota in node) >= count for node in nodes]

    for form in FORMS:
        assert form(*free).passing(want).tolist() == expected


def test_a_class_that_is_missing_is_not_enough() -> None:
    """
    A node passes only if every class asked for has enough; nothing of a class always is.
    """
    store = QuotaStore()
    for name, free in (("a", (20, 3)), ("b", (20, 20))):
        store.collect(name, {"gpu": DeviceQuotasOfClassOnNode(free, free)})

    assert store.passing({"gpu": ClassRequest(2, 10)}).tolist() == [False, True]
    assert not store.passing({"gpu": ClassRequest(1, 20), "disk": ClassRequest(1, 1)}).any()
    assert store.passing({"disk": ClassRequest(0, 0)}).all()
    assert store.passing({}).all()


@pytest.mark.parametrize(("count", "amount"), [(-1, 0), (1, -1)])
def test_less_than_nothing_cannot_be_asked_for(count: int, amount: int) -> None:
    """
    A count or an amount below 0 is refused before any node is looked at.
    """
    with pytest.raises(IllegalQuotaError, match="both are 0 or more"):
        ClassRequest(count, amount)


def test_nodes_that_disagree_about_the_width_are_refused() -> None:
    """
    One class has one width: numbers of two widths cannot be told apart.
    """
    nodes = [BitPackedQuotas.of([1], 5), BitPackedQuotas.of([1], 7)]

    with pytest.raises(IllegalQuotaError, match="fields of 5, 7 bits; encode all with 7"):
        decode_class_quotas(nodes)
    with pytest.raises(
        IllegalQuotaError, match="fields of 64 bits; nodes are filtered by 63 at most"
    ):
        decode_class_quotas([BitPackedQuotas.of([1], 64)])
    for form in (FieldByFieldFreeQuotas, GuardBitFreeQuotas):
        with pytest.raises(IllegalQuotaError, match="a quota is outside 0 to 31"):
            form(np.array([[32]]), 5)
