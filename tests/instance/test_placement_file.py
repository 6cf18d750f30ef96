"""The document of a placement: written by solve, read by verify."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placer.load import load_placement
from placer_models.cluster import Instance
from placer_models.environment import environment_value_fault
from placer_models.files.documents import documents_in_text
from placer_models.files.errors import InputError
from placer_models.goals import ALIGNMENT, placed_tier
from placer_models.instance.placement_file import placement_from_document, solve_answer_to_dict
from placer_models.placement import (
    Answer,
    ContainerPlacement,
    DeviceGrant,
    GaveUp,
    Infeasible,
    PartlyPlaced,
    Placed,
    Placement,
    PodPlacement,
    TierBottleneck,
    TierBoundSource,
    TierValue,
    Unplaced,
)
from placer_models.pod import Container, Gang, Pod, PodSpec, Resources

NOWHERE = Instance(nodes=(), gangs=())
CPUS = st.frozensets(st.integers(0, 300), max_size=20)
NUMA = st.integers(0, 99)
WORDS = st.text("abc-.0", min_size=1, max_size=8)
VARIABLES = st.text("AB_", min_size=1, max_size=8)
VALUES = st.text().filter(lambda value: environment_value_fault(value) is None)


def ascending(pairs: st.SearchStrategy[dict]) -> st.SearchStrategy[tuple]:
    return pairs.map(lambda found: tuple(sorted(found.items())))


PODS = st.builds(
    PodPlacement,
    name=WORDS,
    namespace=WORDS,
    gang=st.none() | WORDS,
    node=WORDS,
    cpuset=CPUS,
    containers=st.lists(st.builds(ContainerPlacement, WORDS, CPUS), max_size=3).map(tuple),
    memory_bytes=ascending(st.dictionaries(NUMA, st.integers(1, 2**60), max_size=4)),
    hugepages=st.dictionaries(
        st.tuples(NUMA, st.sampled_from([2**21, 2**30])), st.integers(1, 2**30), max_size=4
    ).map(lambda found: tuple(sorted((*key, count) for key, count in found.items()))),
    devices=st.dictionaries(
        st.tuples(WORDS, st.integers(0, 99)),
        st.tuples(WORDS, st.frozensets(st.integers(0, 9), max_size=2)),
        max_size=4,
    ).map(
        lambda found: tuple(
            DeviceGrant(*key, id_, vfs=tuple(sorted(vfs)))
            for key, (id_, vfs) in sorted(found.items())
        )
    ),
    env=ascending(st.dictionaries(VARIABLES, VALUES, max_size=3)),
)


@given(st.lists(PODS, max_size=4))
def test_a_placement_is_read_back_as_it_was(pods: list[PodPlacement]) -> None:
    """
    Every CPU, byte, page, device and variable of every pod.
    """
    placement = Placement(tuple(pods))
    text = json.dumps(solve_answer_to_dict(Placed(placement, ()), NOWHERE, {}))

    assert placement_from_document(documents_in_text(text, Path("a.json"))[0]) == placement


UNPLACED = (Unplaced("p", "team", "g", ("never fits",)),)
ANSWERS = {
    "placed": Placed(Placement(), (TierValue(placed_tier(5), 3, None, proven=False),)),
    "partly-placed": PartlyPlaced(
        Placement(), (TierValue(ALIGNMENT, 2, 1, proven=False),), UNPLACED
    ),
    "infeasible": Infeasible(UNPLACED),
    "gave-up": GaveUp(1.5, UNPLACED),
}


@pytest.mark.parametrize("status", ANSWERS)
def test_each_outcome_has_its_word(status: str) -> None:
    """
    Status, tiers, pods, moves, the rest with reasons, rejected places, timing, in this order.
    """
    answer: Answer = ANSWERS[status]

    written = solve_answer_to_dict(answer, NOWHERE, {"total_s": 1.5})

    assert list(written) == [
        "apiVersion", "kind", "status", "strategy", "tiers", "pods", "moves", "unplaced",
        "rejected", "timing",
    ]  # fmt: skip
    assert (written["status"], written["timing"]) == (status, {"total_s": 1.5})


def test_an_answer_has_the_promised_fields() -> None:
    """
    The JSON that programs read: names of fields, bytes as numbers, CPUs as lists.
    """
    pod = PodPlacement(
        "p", "team", None, "n", frozenset({0, 1}), (ContainerPlacement("c", frozenset({1})),),
        ((0, 5),), ((0, 2**21, 3),), (DeviceGrant("gpu", 2, "GPU-2"),), (("A", "b"),),
    )  # fmt: skip
    binds = (TierBottleneck("memory"), TierBottleneck("gpu", ("n0", "n1")))
    tiers = (TierValue(ALIGNMENT, 2, 1, False, TierBoundSource.SUMS, binds),)
    answer = PartlyPlaced(Placement((pod,)), tiers, UNPLACED)

    written = solve_answer_to_dict(answer, NOWHERE, {})

    assert written["tiers"] == [
        {
            "name": "alignment",
            "unit": "NUMA nodes beyond the fewest",
            "sense": "minimise",
            "value": 2,
            "bound": 1,
            "proven": False,
            "boundFrom": "sums",
            "binds": [
                {"resource": "memory", "nodes": None},
                {"resource": "gpu", "nodes": ["n0", "n1"]},
            ],
        }
    ]
    assert written["pods"] == [
        {
            "name": "p",
            "namespace": "team",
            "gang": None,
            "node": "n",
            "cpuset": "0-1",
            "containers": [{"name": "c", "cpuset": "1"}],
            "memory": {"0": 5},
            "hugepages": {"0": {"2Mi": 3}},
            "devices": [{"type": "gpu", "minor": 2, "id": "GPU-2", "resources": {}, "vfs": []}],
            "env": {"A": "b"},
        }
    ]
    assert written["unplaced"] == [
        {
            "name": "p",
            "namespace": "team",
            "gang": "g",
            "verdict": None,
            "reasons": ["never fits"],
            "guessed": False,
        }
    ]


def test_pods_stand_in_the_order_of_the_instance() -> None:
    """
    Whatever the order in which a solver found their places.
    """
    spec = PodSpec((Container("main", Resources()),))
    gang = Gang("g", "default", tuple(Pod(name, "default", spec) for name in "cab"), 3)
    places = tuple(PodPlacement(name, "default", "g", "n", frozenset()) for name in "abc")

    written = solve_answer_to_dict(Placed(Placement(places), ()), Instance((), (gang,)), {})

    assert [pod["name"] for pod in written["pods"]] == ["c", "a", "b"]


def test_a_placement_by_hand_needs_pods_only(tmp_path: Path) -> None:
    """
    Anyone's placement can be verified: the rest is what solve adds.
    """
    path = tmp_path / "a.yaml"
    path.write_text(
        "apiVersion: placer/v1\nkind: Placement\npods: [{name: a, node: n, cpuset: 0}]\n"
    )

    assert load_placement(path) == Placement(
        (PodPlacement("a", "default", None, "n", frozenset({0})),)
    )


@pytest.mark.parametrize(
    ("pod", "message"),
    [
        ("{name: a}", "a.yaml:4: pods[0].node: is missing"),
        ("{name: a, node: n, cpus: 0}", "pods[0].cpus: is not a field here; did you mean"),
        ("{name: a, node: n, cpuset: 1-0}", "pods[0].cpuset: CPU list '1-0'"),
        ("{name: a, node: n, memory: {x: 1}}", "pods[0].memory.x: the key is the id of a NUMA"),
        ("{name: a, node: n, memory: {0: -1}}", "pods[0].memory.0: got '-1'; expected 0 or more"),
        ("{name: a, node: n, memory: {0: 1Gi}}", "got '1Gi'; expected a whole number"),
        ("{name: a, node: n, hugepages: {0: {x: 1}}}", "pods[0].hugepages.0.x: 'x' is no amount"),
        ("{name: a, node: n, devices: [{type: gpu}]}", "pods[0].devices[0].minor: is missing"),
        ("{name: a, node: n}\nstatus: good", "status: got 'good'; expected 'placed', 'partly-pl"),
    ],
)
def test_a_bad_placement_is_one_message(pod: str, message: str, tmp_path: Path) -> None:
    """
    As strict as the instance file.
    """
    path = tmp_path / "a.yaml"
    path.write_text(f"apiVersion: placer/v1\nkind: Placement\npods:\n- {pod}\n")

    with pytest.raises(InputError) as caught:
        load_placement(path)

    assert message in str(caught.value)
