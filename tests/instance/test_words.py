"""What a good file says, in words."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from placer_models.cluster import Instance, RunningPod
from placer_models.device import GPU
from placer_models.pod import Container, ContainerRole, DeviceRequest, Gang, Resources
from placer_models.policy import (
    AlignmentPolicy,
    BindPolicy,
    ExclusivePolicy,
    GatherLevel,
    QosClass,
    RequiredOrPreferred,
)

HEAD = "apiVersion: placer/v1\nkind: Instance\n"
NODES = f"{HEAD}nodes: [{{name: n, machine: dgx-a100}}]\n"
GIB = 2**30


@pytest.fixture
def instance(read: Callable[..., Instance], sample: str) -> Instance:
    """Return the sample in words."""
    return read(sample)


def gangs_of(instance: Instance) -> dict[str, Gang]:
    return {gang.name: gang for gang in instance.gangs}


def test_nodes_of_a_host_list_differ_in_their_name_only(instance: Instance) -> None:
    """
    Two names, one machine, the same labels, reserved CPUs, policy and broken devices.
    """
    first, second, spare = instance.nodes

    assert [node.name for node in instance.nodes] == ["n0", "n1", "spare"]
    assert replace(first, name="n1") == second
    assert first.machine.name == spare.machine.name == "box"
    assert first.labels == (("zone", "a"),)
    assert first.reserved_cpus == {0, 1}
    assert first.alignment is AlignmentPolicy.BEST_EFFORT
    assert first.unhealthy == {(GPU, 3)}
    assert (first.cordoned, spare.cordoned) == (False, True)


def test_a_lone_pod_is_a_gang_of_its_own(instance: Instance) -> None:
    """
    Priority and weight are the gang's; everything else is the pod's.
    """
    gang = gangs_of(instance)["single"]
    spec = gang.pods[0].spec

    assert (gang.key, gang.lone, gang.minimum) == (("team", "single"), True, 1)
    assert (gang.priority, gang.weight) == (7, 3)
    assert (spec.qos, spec.bind, spec.bind_strength) == (
        QosClass.LSR,
        BindPolicy.FULL_PCPUS,
        RequiredOrPreferred.REQUIRED,
    )
    assert spec.alignment is AlignmentPolicy.RESTRICTED
    assert spec.node_selector == (("zone", "a"),)
    assert spec.requests == Resources(2000, 4 * GIB, (), (DeviceRequest(GPU, 1),))


def test_replicas_are_numbered_from_zero_and_one_without_is_not(
    instance: Instance, read: Callable[..., Instance]
) -> None:
    """
    `replicas: 1` makes name-0; no replicas make a pod of the plain name.
    """
    assert [name for name in gangs_of(instance) if name.startswith("many")] == [
        "many-0",
        "many-1",
        "many-2",
    ]
    one = read(f"{NODES}pods: [{{name: a, replicas: 1}}, {{name: b}}]")
    assert [gang.name for gang in one.gangs] == ["a-0", "b"]


def test_a_gang_has_members_of_several_kinds(instance: Instance) -> None:
    """
    Templates unfold in order; the gang and its group are named by namespace and name.
    """
    gang = gangs_of(instance)["gang"]

    assert [pod.name for pod in gang.pods] == ["worker-0", "worker-1", "chief"]
    assert (gang.minimum, gang.priority, gang.weight) == (2, 5, 2)
    assert (gang.gather, gang.lone) == (GatherLevel.NODE, False)
    assert instance.groups[0].gangs == (("default", "gang"),)


def test_without_a_minimum_a_gang_wants_all_its_members(read: Callable[..., Instance]) -> None:
    """
    The safe default: all or nothing.
    """
    found = read(f"{NODES}gangs: [{{name: g, pods: [{{name: a, replicas: 3}}, {{name: b}}]}}]")

    assert found.gangs[0].minimum == 4


def test_a_pod_that_asks_for_nothing_is_best_effort(read: Callable[..., Instance]) -> None:
    """
    Without a class: BE when nothing at all is asked for, LS otherwise (C2).
    """
    found = read(f"{NODES}pods: [{{name: a}}, {{name: b, requests: {{memory: 1}}}}]")

    assert [gang.pods[0].spec.qos for gang in found.gangs] == [QosClass.BE, QosClass.LS]


def test_containers_have_roles(instance: Instance) -> None:
    """
    App where nothing is said; a pod written without containers has one, called main.
    """
    boxes = gangs_of(instance)["boxes"].pods[0].spec.containers
    many = gangs_of(instance)["many-0"].pods[0].spec.containers

    assert [container.role for container in boxes] == [
        ContainerRole.INIT,
        ContainerRole.RESTARTABLE_INIT,
        ContainerRole.APP,
    ]
    assert many == (Container("main", Resources(500)),)


def test_a_limit_without_a_request_is_the_request(read: Callable[..., Instance]) -> None:
    """
    As in Kubernetes, where GPUs are often written as limits only.
    """
    found = read(
        f"{NODES}pods: [{{name: a, requests: {{cpu: 1}}, limits: {{cpu: 2, nvidia.com/gpu: '2'}}}}]"
    )

    assert found.gangs[0].pods[0].spec.requests == Resources(1000, devices=(DeviceRequest(GPU, 2),))


def test_quantities_are_exact(read: Callable[..., Instance]) -> None:
    """
    A number is read as it is written, not as a float.
    """
    found = read(
        f"{NODES}pods: [{{name: a, requests: {{cpu: 2.001, memory: 1125899906842.623k}}}}]"
    )

    assert found.gangs[0].pods[0].spec.requests == Resources(2001, 2**50 - 1)


@pytest.mark.parametrize(
    ("written", "policy", "strength"),
    [
        ("FullPCPUs", BindPolicy.FULL_PCPUS, RequiredOrPreferred.PREFERRED),
        ("{preferred: SpreadByPCPUs}", BindPolicy.SPREAD_BY_PCPUS, RequiredOrPreferred.PREFERRED),
        ("{required: SpreadByPCPUs}", BindPolicy.SPREAD_BY_PCPUS, RequiredOrPreferred.REQUIRED),
        ("Default", BindPolicy.DEFAULT, RequiredOrPreferred.PREFERRED),
    ],
)
def test_a_bind_policy_alone_is_a_wish(
    written: str, policy: BindPolicy, strength: RequiredOrPreferred, read: Callable[..., Instance]
) -> None:
    """
    Only `required:` makes it a demand.
    """
    pod = f"{{name: a, qos: LSR, requests: {{cpu: 2}}, cpuBindPolicy: {written}}}"
    found = read(f"{NODES}pods: [{pod}]")
    spec = found.gangs[0].pods[0].spec

    assert (spec.bind, spec.bind_strength) == (policy, strength)


@pytest.mark.parametrize(
    ("written", "policy", "strength"),
    [
        ("PCPULevel", ExclusivePolicy.PCPU_LEVEL, RequiredOrPreferred.PREFERRED),
        (
            "{preferred: NUMANodeLevel}",
            ExclusivePolicy.NUMA_NODE_LEVEL,
            RequiredOrPreferred.PREFERRED,
        ),
        ("{required: PCPULevel}", ExclusivePolicy.PCPU_LEVEL, RequiredOrPreferred.REQUIRED),
        ("Default", None, RequiredOrPreferred.PREFERRED),
        ("{preferred: None}", ExclusivePolicy.NONE, RequiredOrPreferred.PREFERRED),
    ],
)
def test_an_exclusive_policy_alone_is_a_wish(
    written: str,
    policy: ExclusivePolicy | None,
    strength: RequiredOrPreferred,
    read: Callable[..., Instance],
) -> None:
    """
    Only `required:` makes it a demand; Default is what the scheduler is set to, as without a word.
    """
    pod = f"{{name: a, qos: LSR, requests: {{cpu: 2}}, cpuExclusivePolicy: {written}}}"
    found = read(f"{NODES}pods: [{pod}]")
    spec = found.gangs[0].pods[0].spec

    assert (spec.exclusive, spec.exclusive_strength) == (policy, strength)


def test_numa_policies_may_be_spelt_as_the_kubelet_does(read: Callable[..., Instance]) -> None:
    """
    best-effort is BestEffort, and None is no policy.
    """
    words = ("none", "best-effort", "restricted", "single-numa-node", "None", "SingleNUMANode")
    pods = ", ".join(f"{{name: p{i}, numaPolicy: {word}}}" for i, word in enumerate(words))

    found = [gang.pods[0].spec.alignment.value for gang in read(f"{NODES}pods: [{pods}]").gangs]

    assert found == [
        "None", "BestEffort", "Restricted", "SingleNUMANode", "None", "SingleNUMANode"
    ]  # fmt: skip


def test_text_fields_take_what_looks_like_a_number(read: Callable[..., Instance]) -> None:
    """
    A name, a label or a CPU list is text in quotes and without.
    """
    found = read(
        HEAD + "nodes: [{name: 7, machine: dgx-2, reservedCpus: 0, labels: {zone: 012, on: true}}]"
    )
    node = found.nodes[0]

    assert (node.name, node.reserved_cpus) == ("7", {0})
    assert node.labels == (("on", "true"), ("zone", "012"))


def running(instance: Instance) -> dict[str, RunningPod]:
    return {pod.pod.name: pod for pod in instance.running}


def test_a_running_pod_holds_what_the_file_says(instance: Instance) -> None:
    """
    Its CPUs, its bytes and its devices; its container has all of its CPUs.
    """
    held = running(instance)["held"].placement

    assert held.cpuset == held.containers[0].cpuset == {2, 3}
    assert held.memory_bytes == ((0, GIB),)
    assert held.minors(GPU) == (1,)


def test_running_pods_that_share_cpus_run_in_the_pool(instance: Instance) -> None:
    """
    The pool of an LS pod is every online CPU that nobody owns, reserved ones inside.
    """
    assert running(instance)["floats"].placement.cpuset == set(range(16)) - {2, 3}


def test_memory_without_a_place_goes_where_most_room_is(instance: Instance) -> None:
    """
    80Gi do not fit one NUMA node of 64Gi: all of the emptier one, and the rest.
    """
    assert running(instance)["floats"].placement.memory_bytes == ((0, 16 * GIB), (1, 64 * GIB))


def test_memory_without_a_place_stays_with_the_cpus_of_the_pod(
    read: Callable[..., Instance], sample: str
) -> None:
    """
    The kernel gives a pinned pod memory of its own NUMA node first.
    """
    found = read(sample.replace("    memory: {0: 1Gi}\n", ""))

    assert running(found)["held"].placement.memory_bytes == ((0, GIB),)


def test_containers_of_a_running_pod_get_parts_of_its_cpus(
    read: Callable[..., Instance], sample: str
) -> None:
    """
    In the order written, by core; init containers and those without a request have all.
    """
    pod = (
        "  - {name: p, node: n1, qos: LSR, cpuset: 4-7, containers: [{name: i, role: init, "
        "requests: {cpu: 4}}, {name: a, requests: {cpu: 2}}, {name: b, requests: {cpu: 2}}, "
        "{name: c}]}\n"
    )
    parts = running(read(sample + pod))["p"].placement.containers

    assert {part.name: set(part.cpuset) for part in parts} == {
        "i": {4, 5, 6, 7},
        "a": {4, 5},
        "b": {6, 7},
        "c": {4, 5, 6, 7},
    }


def test_links_given_as_a_matrix_are_those_given_by_groups(
    read: Callable[..., Instance], sample: str
) -> None:
    """
    The matrix of the page on the format says the same as `all` and `within`.
    """
    page = (Path(__file__).parents[2] / "docs" / "instance-format.md").read_text(encoding="utf-8")
    matrix = page.partition("matrix: |\n")[2].partition("```")[0]
    given = "all: SYS, within: {NV4: [0-1, 2-3]}"
    rows = "\\n".join(line.strip() for line in matrix.splitlines())
    written = sample.replace(given, f'matrix: "{rows}"')

    assert written != sample
    assert read(written) == read(sample)
