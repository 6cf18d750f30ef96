"""A cluster of 40 GPU nodes read aloud: what still fits, and what each lost node and zone costs."""

from collections import Counter
from pathlib import Path

import pytest

from placer.load import load_instance
from placer.plan.fit import FitTask, fit
from placer.plan.survive import survive
from placer.pod_shape import load_shape
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
    pod, asked = load_shape("ml/notebook-0", [file], instance)

    found = fit(FitTask(asked, pod))

    assert (found.count, found.bound) == (80, 80) == (sum(left(instance).values()),) * 2
    (one,) = found.classes
    assert (one.machine, len(one.nodes), one.rule) == ("gpu.8x", NODES, "extended")


@pytest.mark.check
def test_whole_nodes_are_what_training_pods_want(cluster: tuple[Path, Instance]) -> None:
    """
    Four nodes are empty, so four more members of a training gang fit, though 80 GPUs are free.
    """
    file, instance = cluster
    pod, asked = load_shape("ml/train-6", [file], instance)

    found = fit(FitTask(asked, pod))

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
