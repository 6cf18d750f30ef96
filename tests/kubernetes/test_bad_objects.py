"""Objects that are wrong: which, where in it, and what to do; one does not hide another."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from commands import Placer
from kubernetes_worlds import REQUIRED, Json, device, gpu, held, lsr, node, owned, pod, topology

BAD: dict[str, tuple[Json, tuple[str, str, str, str]]] = {
    "a CPU in two NUMA nodes": (
        topology("n1", cpus=[(0, 0, 0, 0), (1, 1, 0, 1), (1, 1, 0, 0)]),
        (
            "cpu-topology",
            "NodeResourceTopology n1",
            "$.detail[2]: CPU 1 is there twice, on the NUMA nodes 0 and 1",
            "keep one of them",
        ),
    ),
    "a resource-status that overlaps another": (
        lsr("later", annotations=owned("1-2"), nodeName="n2"),
        (
            "resource-status",
            "Pod default/later",
            "CPU 1 of Node n2 belongs to Pod default/first already",
            "a CPU has one owner",
        ),
    ),
    "a minor twice": (
        device("n3", [gpu(0), gpu(1), gpu(1, id="GPU-9")]),
        ("spec.devices[2].minor", "Device n3", "gpu 1 is there twice", "a minor of its own"),
    ),
    "a negative quantity": (
        pod("less", {"cpu": "2", "memory": "-1Gi"}),
        (
            "spec.containers[0].resources.requests.memory",
            "Pod default/less",
            "'-1Gi' is negative",
            "an amount is 0 or more",
        ),
    ),
}
"""What is wrong -> the object, and what is said: field, object, fault, mend."""

GOOD: list[Json] = [
    *(node(name) for name in ("n1", "n2", "n3")),
    topology("n2"),
    lsr("first", annotations=owned("0-1"), nodeName="n2"),
]


Said = Callable[..., str]


@pytest.fixture
def said_of(tmp_path: Path, placer: Placer) -> Said:
    """What a command says of a dump on standard error, as it refuses it, or with another code."""

    def said_of(text: str, command: str = "validate", code: int = 2) -> str:
        (tmp_path / "dump.json").write_text(text)
        return placer(command, str(tmp_path / "dump.json"), code=code).err

    return said_of


def as_list(*objects: Json) -> str:
    """Return objects as kubectl writes them, each on a line of its own."""
    items = ",\n".join(json.dumps(one) for one in objects)
    return f'{{"apiVersion": "v1", "items": [\n{items}\n], "kind": "List"}}'


def test_all_bad_objects_of_a_dump_are_named_together(said_of: Said) -> None:
    """
    File and line, field, object, what is wrong and what to do: exit code 2, no traceback.
    """
    said = said_of(as_list(*GOOD, *(bad for bad, _ in BAD.values())))

    for number, (_, (field, title, fault, mend)) in enumerate(BAD.values()):
        line = 2 + len(GOOD) + number
        assert f"dump.json:{line}: " in said, said
        assert all(part in said for part in (field, title, fault, mend)), said
    assert said.count("dump.json:") == len(BAD)
    assert "Traceback" not in said


@pytest.mark.parametrize("command", ["solve", "show"])
def test_a_dump_with_bad_objects_is_answered(command: str, tmp_path: Path, said_of: Said) -> None:
    """
    All faults are told, each once; the waiting pod that cannot be read is in the answer.
    """
    text = as_list(*GOOD, *(bad for bad, _ in BAD.values()), pod("fine"))
    said = said_of(text, command, code=1 if command == "solve" else 0)

    for number, (_, (field, title, fault, mend)) in enumerate(BAD.values()):
        line = 2 + len(GOOD) + number
        assert f"cannot be read: {tmp_path}/dump.json:{line}: " in said, said
        assert all(part in said for part in (field, title, fault, mend)), said
    assert said.count("dump.json:") == len(BAD)
    assert "nothing more comes there: n1, n2, n3" in said


def test_a_dump_of_pods_alone_is_told_once(said_of: Said) -> None:
    """
    Not for each pod that runs on a node of another file.
    """
    said = said_of(as_list(pod("a", nodeName="n1"), pod("b")), "solve")

    assert said.count("\n") == 1
    assert "holds no Node; get the nodes, too" in said
    assert "or name their file (to validate: --together)" in said


def test_pods_are_not_blamed_for_the_device_object_of_their_node(said_of: Said) -> None:
    """
    What they hold is not there because the object that lists it is at fault.
    """
    holds = pod("a", nodeName="n3", annotations=held(0))
    said = said_of(as_list(node("n3"), BAD["a minor twice"][0], holds))

    assert said.count("\n") == 1
    assert "Device n3: gpu 1 is there twice" in said


def test_a_list_that_was_cut_off_is_no_whole_one(said_of: Said) -> None:
    """
    What was read is not taken for all there is; faults before the cut are said, too.
    """
    less = BAD["a negative quantity"][0]
    whole = as_list(*GOOD, less, pod("away", nodeName="n22"), node("n22"))
    said = said_of(whole[: whole.rindex("n22")], "solve")

    assert "it was cut off, so get it again" in said
    assert "Pod default/less: '-1Gi' is negative" in said
    assert "no Node of the dump" not in said


def spread(**more: object) -> Json:
    """Return a pod that spreads over zones."""
    return pod(topologySpreadConstraints=[{"maxSkew": 1, "topologyKey": "zone", **more}])


def near(**expression: object) -> Json:
    """Return a pod that asks something of its node's labels."""
    terms = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "rank", **expression}]}]}
    required = {REQUIRED: terms}
    return pod(affinity={"nodeAffinity": required})


@pytest.mark.parametrize(
    ("bad", "field", "message"),
    [
        (spread(maxSkew="1"), "maxSkew", "got '1'; expected a whole number"),
        (spread(maxSkew=0), "topologySpreadConstraints[0]", "got maxSkew 0; expected 1 or more"),
        (near(operator="In", values=[1]), "values[0]", "got 1; expected a text, in quotes"),
        (near(operator="Gt", values=["x"]), "values", "got 'x' for Gt; expected one whole number"),
        (
            pod(tolerations=[{"key": "a", "operator": "In"}]),
            "tolerations[0].operator",
            "got 'In'; expected Equal, Exists, Lt, Gt",
        ),
    ],
)
def test_a_fault_names_its_field_and_its_object_once(
    bad: Json, field: str, message: str, said_of: Said
) -> None:
    """
    The deepest field that is at fault, the object, what was got.
    """
    said = said_of(as_list(node(), bad))

    assert said.endswith(f"{field}: Pod default/p: {message}\n")
    assert said.count("Pod default/p") == 1
