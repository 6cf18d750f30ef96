"""Demand in files: read, written back, refused with the field that is wrong."""

from dataclasses import replace
from pathlib import Path

import pytest

from instance_texts import reread
from placer.load import load_instance
from placer_models.demand import ExpectedDemand, ExpectedShape
from placer_models.files.errors import InputError
from placer_models.instance.demand import load_demand
from placer_models.node_affinity import NodeAffinity, NodeTerm
from placer_models.selectors import LabelExpression, SelectorOperator
from placer_models.taints import Toleration, TolerationOperator

EXPECTED = Path(__file__).parents[2] / "instances" / "rules" / "expected.yaml"
HEAD = "apiVersion: placer/v1\nkind: Demand\n"


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "demand.yaml"
    path.write_text(HEAD + text, encoding="utf-8")
    return path


def test_a_demand_is_read_in_any_order(tmp_path: Path) -> None:
    """
    Shapes are put in order; what is not said is that of most pods.
    """
    path = written(
        tmp_path,
        "streams: 4\nlength: 9\nseed: 1\npods:\n"
        "  - {count: 5, cpu: 2, gpus: 2, price: 7}\n"
        "  - {cpu: 500m, memory: 4Gi, gpuMilli: 190, nodeSelector: {zone: a}, price: 0}\n",
    )

    assert load_demand(path) == ExpectedDemand(
        (
            ExpectedShape(500, 1, 190, (("zone", "a"),), memory_bytes=4 * 2**30),
            ExpectedShape(2000, 2),
        ),
        (1, 5),
        (0, 7),
        4,
        9,
        1,
    )


def test_a_demand_is_written_back() -> None:
    """
    With all that its pods ask of nodes.
    """
    term = NodeTerm((LabelExpression("gpu-model", SelectorOperator.IN, ("A10", "T4")),))
    shapes = (
        ExpectedShape(0, 1, 500, (), NodeAffinity((term,))),
        ExpectedShape(1000, 0, 0),
        ExpectedShape(1000, 0, 0, memory_bytes=3 * 2**20),
        ExpectedShape(
            1500, 8, 1000, (("a", "b"),), None, (Toleration(operator=TolerationOperator.EXISTS),)
        ),
    )
    given = ExpectedDemand(shapes, (3, 2, 2, 1), (12, 5, 0, 0), 16, 40, 2**64 - 1)
    instance = replace(load_instance([EXPECTED]), demand=given)

    assert reread(instance) == instance


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("pods: []", "pods: is empty"),
        ("pods: [{cpu: lots}]", "pods[0].cpu: 'lots' is no amount; write a number"),
        ("pods: [{cpu: -1}]", "pods[0].cpu: "),
        ("pods: [{cpu: 1e9}]", "pods[0].cpu: got '1e9'; expected 1,000,000 CPUs at most"),
        ("pods: [{memory: much}]", "pods[0].memory: 'much' is no amount; write a number"),
        ("pods: [{memory: 2Pi}]", "pods[0].memory: got '2Pi'; expected 1Pi at most"),
        ("pods: [{gpus: -1}]", "pods[0].gpus: got '-1'; expected 0"),
        ("pods: [{gpus: 0}]", "pods[0]: asks for neither CPUs nor GPUs; give one of them"),
        ("pods: [{gpus: 0, cpu: 1, gpuMilli: 500}]", "pods[0].gpuMilli: is of no GPUs; leave it"),
        ("pods: [{gpuMilli: 1001}]", "pods[0].gpuMilli: got '1001'; expected"),
        ("pods: [{count: 0}]", "pods[0].count: got '0'; expected 1"),
        ("pods: [{price: -1}]", "pods[0].price: got '-1'; expected 0"),
        ("pods: [{}, {}]", "pods[1]: asks for the same as pods before it; add their counts up"),
        ("pods: [{price: 1}, {cpu: 1}]", "some pods have a price and some have none"),
        ("pods: [{}]\nstreams: 0", "streams: got '0'; expected 1"),
        ("pods: [{}]\nlength: 9999", "length: got '9999'; expected"),
        ("pods: [{}]\nseed: -1", "seed: got '-1'; expected 0"),
        ("pods: [{gpu: 2}]", "gpu: is not a field here; did you mean 'gpus'"),
    ],
)
def test_what_is_wrong_is_named(text: str, said: str, tmp_path: Path) -> None:
    """
    In one line, with the field and what it may be.
    """
    with pytest.raises(InputError) as caught:
        load_demand(written(tmp_path, text + "\n"))

    assert said in str(caught.value)


def test_only_one_document_says_what_is_expected(tmp_path: Path) -> None:
    """
    As for every other word of the whole instance.
    """
    other = tmp_path / "other.yaml"
    other.write_text(
        "apiVersion: placer/v1\nkind: Instance\ndemand: {pods: [{cpu: 1}]}\n", encoding="utf-8"
    )

    with pytest.raises(InputError, match="demand: is given by another document already"):
        load_instance([EXPECTED, other])
