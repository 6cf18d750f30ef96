"""`variants` in instance files: what is read, written back, solved and refused."""

import pytest

from instance_texts import instance_of_text, reread
from placer.judge.breaches import breaches
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.files.errors import InputError
from placer_models.placement import PartlyPlaced, Placed

BOX = """
apiVersion: placer/v1
kind: Instance
machines:
  - name: box
    numaNodes: [{id: 0, memory: 64Gi, cpus: 0-7}]
    devices: [{type: gpu, count: 4, memory: 40Gi}]
nodes:
  - {name: small, machine: box, labels: {gpus: small}}
  - {name: large, machine: box, labels: {gpus: large}}
  - {name: other, machine: box}
"""


def containers(gpus: int, cpu: int = 1, name: str = "main") -> str:
    """Return containers as they are written."""
    return f"[{{name: {name}, requests: {{cpu: {cpu}, gpu: {gpus}}}}}]"


def variant(gpus: str, count: int, **more: int) -> str:
    """Return a variant as it is written."""
    return f"{{nodeLabels: {{gpus: {gpus}}}, containers: {containers(count, **more)}}}"


def pods(*variants: str, more: str = "") -> str:
    """Return an instance of two pods with variants."""
    asked = f"requests: {{cpu: 1, gpu: 4}}, variants: [{', '.join(variants)}]{more}"
    return f"{BOX}pods:\n  - {{name: p, {asked}}}\n  - {{name: q, {asked}}}\n"


GOOD = pods(variant("small", 4), variant("large", 2))


@pytest.mark.parametrize("engine", [Engine.GREEDY, Engine.EXACT])
def test_a_pod_has_what_it_asks_for_on_its_node(engine: Engine) -> None:
    """
    4 small GPUs, or 2 large ones; both pods fit the node of large GPUs, and none the third node.
    """
    instance = instance_of_text(GOOD)
    answer = solve(instance, SolveOptions(engine=engine, workers=1, time_limit_s=60))

    assert isinstance(answer, Placed)
    assert breaches(instance, answer.placement) == ()
    found = {(place.node, len(place.devices)) for place in answer.placement.pods}
    assert found <= {("small", 4), ("large", 2)}


def test_what_is_written_is_read_back() -> None:
    """
    Variants go through a file and back.
    """
    instance = instance_of_text(GOOD)

    assert len(instance.gangs[0].pods[0].spec.variants) == 2
    assert reread(instance).gangs == instance.gangs


@pytest.mark.parametrize(
    ("text", "field", "said"),
    [
        (pods("{nodeLabels: {}, containers: [{name: main}]}"), "nodeLabels", "is empty"),
        (
            pods(variant("small", 1, cpu=2)),
            "pods[0].variants[0]",
            "it differs from the pod in more than devices",
        ),
        (
            f"{BOX}pods:\n  - {{name: p, requests: {{cpu: 1, rdma: 1}}, variants: "
            f"[{variant('small', 1)}], allocateStrategy: {{rdma: ApplyForAll}}}}\n",
            "pods[0].variants",
            "allocateStrategy says how many devices, too",
        ),
    ],
)
def test_what_does_not_go_together_is_refused(text: str, field: str, said: str) -> None:
    """
    Without labels, of other CPUs, beside a strategy: each with its field.
    """
    with pytest.raises(InputError) as caught:
        instance_of_text(text)

    assert field in str(caught.value)
    assert said in str(caught.value)


def test_a_reason_says_all_that_the_pod_asks_for() -> None:
    """
    Of five pods that ask for 4 small GPUs or 2 large ones, three are placed; of the others it is
    said that neither can be had.
    """
    more = pods(variant("small", 4), variant("large", 2)).replace("name: q", "name: q, replicas: 4")
    answer = solve(instance_of_text(more), SolveOptions(workers=1, work_limit=20))

    assert isinstance(answer, PartlyPlaced)
    assert len(answer.placement.pods) == 3
    assert {why for one in answer.unplaced for why in one.reasons} == {
        "outvoted (1 of 3 nodes: node-selector gpus=small or gpus=large; 2 of 3 nodes: "
        "device-count asks 4 gpu or 2 gpu)"
    }
