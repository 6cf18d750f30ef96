"""A cluster of 40 GPU nodes read aloud: what still fits, and what each lost node and zone costs."""

from collections import Counter
from pathlib import Path

import pytest

from commands import Placer
from placer.load import load_instance, load_offers, load_question
from placer.plan.fit import FitCountTask, count_fitting_pods
from placer.plan.survive import survive
from placer.pod_shape import read_pod_shape
from placer_models.cluster import Instance
from plan.gpu_dump import GPUS, NODES, ZONE, write_dump, zone_of


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Instance]:
    """The dump, and the cluster as it is read."""
    file = tmp_path_factory.mktemp("dump") / "gpu40.json"
    write_dump(file)
    return file, load_instance([file])


def left(instance: Instance) -> Counter[str]:
    """GPUs that nobody has, node by node, counted from the pods alone."""
    free = Counter({node.name: GPUS for node in instance.nodes})
    for one in instance.running:
        free[one.placement.node] -= one.pod.spec.requests.amount_of("nvidia.com/gpu")
    return free


@pytest.mark.check
def test_as_many_notebooks_fit_as_gpus_are_left(cluster: tuple[Path, Instance]) -> None:
    """
    Six of ten nodes have 2 GPUs left, one of ten all 8, and a notebook asks for one.
    """
    file, instance = cluster
    pod, asked = read_pod_shape("ml/notebook-0", [file], instance)

    found = count_fitting_pods(FitCountTask(asked, pod))

    assert (found.count, found.bound) == (80, 80) == (sum(left(instance).values()),) * 2
    (one,) = found.classes
    assert (one.machine, len(one.nodes), one.rule) == ("gpu.8x", NODES, "extended")


@pytest.mark.check
def test_whole_nodes_are_what_training_pods_want(cluster: tuple[Path, Instance]) -> None:
    """
    Four nodes are empty, so four more members of a training gang fit, though 80 GPUs are free.
    The gang runs, and its name means one of its members.
    """
    file, instance = cluster
    pod, asked = read_pod_shape("ml/train-0", [file], instance)

    found = count_fitting_pods(FitCountTask(asked, pod))

    assert (found.count, found.bound) == (4, 4)
    assert {place.node for place in found.placement.pods} == {"gpu-9", "gpu-19", "gpu-29", "gpu-39"}


@pytest.mark.check
def test_any_node_may_be_lost(cluster: tuple[Path, Instance]) -> None:
    """
    An empty node is left for each: a service needs 4 GPUs, a training gang restarts whole on 2 of
    its nodes and an empty one. Agents of lost nodes are not missed.
    """
    _, instance = cluster

    answer = survive(instance)

    assert answer.failed == ()
    assert sum(1 + len(one.loss.alike) for one in answer.losses) == NODES
    pods = {one.loss.name: one.pods for one in answer.losses}
    assert pods["gpu-0"] == 3  # a service and two notebooks
    assert pods["gpu-6"] == 3  # the members of a gang, of which one was here
    assert pods["gpu-9"] == 0  # nobody but the agent


@pytest.mark.check
def test_no_zone_may_be_lost_and_gangs_fail_whole(cluster: tuple[Path, Instance]) -> None:
    """
    Services and training want what is left of whole nodes, notebooks always fit.
    """
    _, instance = cluster

    answer = survive(instance, domain=ZONE)

    assert [(one.loss.name, one.pods, len(one.unplaced)) for one in answer.losses] == [
        ("a", 33, 7),
        ("b", 30, 6),
        ("c", 24, 6),
    ]
    for one in answer.losses:
        assert one.proven
        names = {pod.name for pod in one.unplaced}
        assert not any(name.startswith(("notebook", "agent")) for name in names)
        for gang in range(4):
            members = {f"train-{10 * gang + i}" for i in (6, 7, 8)}
            assert names & members in (set(), members)
        assert all(zone_of(int(name.split("-")[1])) for name in names)


OFFERS = """\
apiVersion: placer/v1
kind: Plan
offers:
  - {name: more, like: gpu-0, price: 30}
demand:
  more: {ml/train-0: 1}
scenarios:
  - {name: later, pods: {ml/train-0: 2}}
"""


@pytest.mark.check
def test_offers_are_read_whatever_their_plan_asks_for(cluster: tuple[Path, Instance]) -> None:
    """
    More pods like those that run are asked of the plan, not of what a loss is mended by.
    """
    file, instance = cluster
    plan = file.with_name("plan.yaml")
    plan.write_text(OFFERS)

    offers, _ = load_offers(plan, instance)

    assert [offer.name for offer in offers] == ["more"]


@pytest.mark.check
def test_more_gangs_like_one_that_runs_may_be_asked_for(cluster: tuple[Path, Instance]) -> None:
    """
    As a gang of three, whole or not at all.
    """
    file, _ = cluster
    plan = file.with_name("more.yaml")
    plan.write_text(OFFERS[: OFFERS.index("scenarios")])

    question = load_question(plan, [file])

    (gang,) = question.instance.gangs
    assert (gang.name, len(gang.pods), gang.minimum, gang.lone) == ("train-0-more-1", 3, 3, False)


@pytest.mark.check
def test_lost_zones_are_told_as_people_do(cluster: tuple[Path, Instance], placer: Placer) -> None:
    """
    A zone called a is named with its kind, and what outvotes a gang is said.
    """
    file, _ = cluster

    told = placer("plan", "survive", str(file), "--domain", ZONE, code=1).out

    assert "the worst is zone a: 7 of 33 pods." in told
    assert "\nWithout zone b\n" in told
    assert (
        "outvoted by other pods of the loss (26 of 26 nodes: nvidia.com/gpu: asks 8)"
        in " ".join(told.split())
    )
