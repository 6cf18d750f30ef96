"""The worked cases of seed 003: encoding, filter, choice of device and of node (B2 to B14)."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from answers import expect
from placer.quota.choose import SCORED, QuotaClassUse, choose_node, strategy_score_of_used_fractions
from placer.quota.filter import (
    ClassRequest,
    FieldByFieldFreeQuotas,
    FreeQuotaNodeFilter,
    GuardBitFreeQuotas,
    SortedFreeQuotas,
    decode_class_quotas,
    free_quotas_packed_in_words,
)
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance, Machine, Node, RunningPod
from placer_models.node_strategy import NodeStrategy
from placer_models.placement import Placed, PodPlacement
from placer_models.pod import Container, Pod, PodSpec, Resources, lone_gang
from placer_models.policy import DeviceChoicePolicy
from placer_models.quota import (
    BitPackedQuotas,
    IllegalQuotaError,
    bits_per_quota,
    decode_device_quota,
    encode_device_quotas,
    fields_per_word,
)
from placer_models.topology import Cpu, NumaNode, Topology
from quota.given_out import device_given_out

CASES: dict[str, list[dict[str, Any]]] = json.loads(
    (Path(__file__).parent / "data" / "worked_cases.json").read_text("utf-8")
)


def rows(kind: str) -> Any:
    """Return a decorator that runs a test on each row of a kind."""
    return pytest.mark.parametrize(
        "row", [pytest.param(row, id=str(row.get("name", row))) for row in CASES[kind]]
    )


@rows("encode")
def test_quotas_become_the_number_or_are_refused(row: dict[str, Any]) -> None:
    """
    B2, B5, B6, B8: the number and its words are those of the expression, and lead back.
    """
    if row.get("refused"):
        with pytest.raises(
            IllegalQuotaError, match=r"^device \d: quota -?\d+ is outside 0 to \d+, "
        ):
            encode_device_quotas(row["quotas"], row["bits"])
        return

    encoded = BitPackedQuotas.of(row["quotas"], row["bits"])

    assert str(encoded.number) == row["number"]
    assert [str(word) for word in encoded.words] == row["words"]
    assert list(encoded.quotas) == row["quotas"]


@rows("decode")
def test_one_device_is_decoded_or_refused(row: dict[str, Any]) -> None:
    """
    B4, B7: device 1 is the lowest field, and a device that is not there has no quota. In the form
    of one 64-bit word, devices beyond it are not there: their words are others.
    """
    number, bits, device = int(row["number"]), row["bits"], row["device"]
    if "form" in row:  # all fields up to this device in one word
        assert fields_per_word(bits) < device
        return
    devices = row.get("devices", max(device, -(-number.bit_length() // bits)))
    if row.get("refused"):
        with pytest.raises(
            IllegalQuotaError, match=f"^device {device} does not exist; devices are 1 to"
        ):
            decode_device_quota(number, bits, device, devices)
        return

    assert decode_device_quota(number, bits, device, devices) == row["quota"]


@rows("widths")
def test_a_field_is_as_wide_as_the_largest_quota(row: dict[str, Any]) -> None:
    """
    B3: and a 64-bit word holds so many of them, without and with guard bits.
    """
    bits = bits_per_quota(row["largest"])

    assert bits == row["bits"]
    assert fields_per_word(bits) == row["fields"]
    assert fields_per_word(bits + 1) == row["guarded"]


@rows("filter")
@pytest.mark.parametrize("form", [FieldByFieldFreeQuotas, GuardBitFreeQuotas, SortedFreeQuotas])
def test_enough_devices_have_enough(row: dict[str, Any], form: Any) -> None:
    """
    B10, B11: devices that have the amount free count, the sum over devices does not.
    """
    free: FreeQuotaNodeFilter = form(
        *decode_class_quotas([BitPackedQuotas.of(row["free"], row["bits"])])
    )

    assert free.passing(ClassRequest(row["count"], row["amount"])).tolist() == [row["passes"]]
    if "fitting" in row:
        fitting = row["fitting"]
        assert free.passing(ClassRequest(fitting, row["amount"])).tolist() == [True]
        assert free.passing(ClassRequest(fitting + 1, row["amount"])).tolist() == [False]


@rows("packed")
def test_all_fields_of_a_word_are_compared_at_once(row: dict[str, Any]) -> None:
    """
    The words are those of the worked subtraction, and the fields that keep their guard count.
    """
    bits, count = row["bits"], len(row["free"])
    rows = (row["free"], [row["amount"]] * count, [1] * count)
    ((free, repeated, ones),) = free_quotas_packed_in_words(np.array(rows), bits, bits + 1).tolist()
    guards = ones << bits

    assert hex(free) == row["packed"]
    assert hex(guards) == row["guards"]
    assert hex(repeated) == row["repeated"]
    assert hex((free | guards) - repeated & guards) == row["kept"]
    packed = GuardBitFreeQuotas(*decode_class_quotas([BitPackedQuotas.of(row["free"], bits)]))
    for asked, passes in ((row["fitting"], True), (row["fitting"] + 1, False)):
        assert packed.passing(ClassRequest(asked, row["amount"])).tolist() == [passes]


@rows("devices")
def test_the_device_that_is_used_least_or_most_and_fits(row: dict[str, Any]) -> None:
    """
    B14: the lowest number among equals, and none where none fits.
    """
    choice = DeviceChoicePolicy(row["choice"])

    given = device_given_out(row["quotas"], row["used"], row["amount"], choice)

    assert given == row["device"]


@rows("nodes")
@pytest.mark.parametrize("strategy", SCORED)
def test_the_node_with_the_best_score(row: dict[str, Any], strategy: NodeStrategy) -> None:
    """
    B12, B13: the two strategies may disagree about the same nodes.
    """
    nodes = {
        name: {of: QuotaClassUse(total, used) for of, (total, used) in classes.items()}
        for name, classes in row["nodes"].items()
    }

    assert choose_node(nodes, row["asked"], strategy) == row[strategy.value]


@rows("nodes")
@pytest.mark.parametrize("strategy", SCORED)
@pytest.mark.parametrize("engine", [Engine.GREEDY, Engine.AUTO])
def test_the_solver_chooses_the_same_node(
    row: dict[str, Any], strategy: NodeStrategy, engine: Engine
) -> None:
    """
    B12, B13: one pod alone goes where the seed's rule sends it, greedily and exactly.

    What the row says is used a running pod has asked for; its classes are extended resources.
    """
    machine = Machine("box", "", Topology("x86_64", (Cpu(0, 0, 0, 0),), (NumaNode(0, 0),)))
    nodes, running = [], []
    for name, classes in row["nodes"].items():
        totals = tuple(sorted((of, total) for of, (total, _) in classes.items() if total))
        nodes.append(Node(name, machine, extended=totals))
        used = tuple(sorted((of, used) for of, (_, used) in classes.items() if used))
        runner = _pod(f"on-{name}", used)
        place = PodPlacement(runner.name, "default", None, name, frozenset({0}))
        running.append(RunningPod(runner, place))
    instance = Instance(
        tuple(nodes),
        (lone_gang(_pod("new", tuple(sorted(row["asked"].items())))),),
        running=tuple(running),
        strategy=strategy,
    )
    options = SolveOptions(engine, workers=1, seed=1, work_limit=10)

    answer = expect(Placed, solve(instance, options))

    assert [place.node for place in answer.placement.pods] == [row[strategy.value]]


def _pod(name: str, asked: tuple[tuple[str, int], ...]) -> Pod:
    requests = Resources(extended=tuple((of, amount) for of, amount in asked if amount))
    return Pod(name, "default", PodSpec((Container("main", requests),)))


def test_a_strategy_that_scores_no_node_by_itself_is_refused() -> None:
    """
    `pack` looks at which nodes are in use, not at one node's shares.
    """
    with pytest.raises(
        IllegalQuotaError, match="pack scores no node by itself; expected least-requ"
    ):
        strategy_score_of_used_fractions(NodeStrategy.PACK, [Fraction(1, 2)])
