"""Objects of a cluster become an Instance; what is wrong or missing is said of each."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml

from kubernetes_dumps import faults, notes, places, read
from kubernetes_worlds import (
    REQUIRED,
    Json,
    device,
    gpu,
    held,
    lsr,
    member,
    node,
    owned,
    pod,
    pod_group,
    topology,
)
from placer.judge.misfits import misfits_of_instance
from placer.kubernetes.dump import DumpError
from placer.node.document import placement_of_each_node
from placer_models.kubernetes.names import REQUESTED_CPU
from placer_models.placement import Placement
from placer_models.policy import QosClass

GIB = 2**30


def one_gpu(name: str, minor: int) -> Json:
    """Return a pod that runs and holds a GPU."""
    return pod(name, {"nvidia.com/gpu": "1"}, annotations=held(minor), nodeName="n1")


def test_a_node_without_topology_is_one_numa_node_where_nobody_owns_cpus() -> None:
    """
    LS pods run there; LSR pods and aligned pods wait for a node that says where its CPUs are.
    """
    aligned = {"scheduling.koordinator.sh/numa-topology-spec": {"numaTopologyPolicy": "Restricted"}}
    instance, summary = read(
        node("bare"), pod("ls"), lsr("owner"), pod("aligned", annotations=aligned)
    )
    assert len(instance.nodes[0].machine.topology.numa_nodes) == 1
    assert set(places(instance)) == {"ls"}
    assert "without a NodeResourceTopology: one NUMA node" in notes(summary)

    instance, _ = read(
        node("bare"), node("n1"), topology(), lsr("owner"), pod("aligned", annotations=aligned)
    )
    assert {place.node for place in places(instance).values()} == {"n1"}


def test_a_topology_gives_cpus_and_memory_by_numa_node() -> None:
    """
    Two threads a core, four CPUs and 8 GiB a NUMA node; policies by the kubelet's options.
    """
    policy = {"policy": "static", "options": {"full-pcpus-only": "true"}, "reservedCPUs": "0-1"}
    instance, _ = read(
        node(amounts={"cpu": "6"}, capacity={"cpu": "8", "memory": "16Gi"}),
        topology(annotations={"kubelet.koordinator.sh/cpu-manager-policy": policy}),
    )
    (found,) = instance.nodes
    layout = found.machine.topology
    assert [len(core) for core in layout.cores.values()] == [2] * 4
    assert found.memory_bytes_in() == {0: 8 * GIB, 1: 8 * GIB}
    assert found.reserved_cpus == {0, 1}
    assert found.cpu_bind == "FullPCPUsOnly"
    assert not instance.running  # what is allocatable is what is not reserved: nothing beside


def test_what_is_allocatable_below_the_machine_is_all_that_pods_have() -> None:
    """
    CPUs that the system keeps without naming them, and memory, in proportion.
    """
    instance, _ = read(
        node(amounts={"cpu": "5500m", "memory": "12Gi"}, capacity={"cpu": "8", "memory": "16Gi"}),
        topology(),
        pod("fits", {"cpu": "5500m", "memory": "12Gi"}),
        pod("not", {"cpu": "5501m", "memory": "1Gi"}),
    )
    assert instance.nodes[0].memory_bytes_in() == {0: 6 * GIB, 1: 6 * GIB}
    assert set(places(instance)) == {"fits"}


def test_a_part_of_a_cpu_is_given_out_too() -> None:
    """
    Virtual nodes have some: 1.5 of the two CPUs that there must be, or half of one.
    """
    waits = [pod(name, {"cpu": "500m"}) for name in "abcd"]
    assert len(places(read(node(amounts={"cpu": "1500m"}), *waits)[0])) == 3
    assert len(places(read(node(amounts={"cpu": "0.5"}), *waits)[0])) == 1


def test_a_node_is_not_told_of_what_stands_for_its_system() -> None:
    """
    Its document has the pods of the cluster, and no other.
    """
    instance, _ = read(
        node(amounts={"cpu": "7500m"}, capacity={"cpu": "8", "memory": "16Gi"}),
        topology(),
        pod("runs", nodeName="n1"),
    )
    assert [running.pod.title for running in instance.running] == ["runs", "node-system/n1"]
    (document,) = placement_of_each_node(instance, Placement())
    assert [one.pod.name for one in document.pods] == ["runs"]


def test_owned_cpus_count_against_what_is_allocatable() -> None:
    """
    As in Kubernetes: all requests of a node together, whoever owns what.
    """
    capacity = {"cpu": "8", "memory": "16Gi"}
    nodes = node(amounts={"cpu": "5500m"}, capacity=capacity), topology()
    assert set(places(read(*nodes, lsr("five", 5))[0])) == {"five"}
    assert not places(read(*nodes, lsr("six", 6))[0])


def test_reservations_of_koordinator_come_off() -> None:
    """
    Memory and CPUs by the annotation of the node, beside what the kubelet keeps.
    """
    said = '{"resources":{"cpu":"2","memory":"4Gi"}}'
    instance, _ = read(
        node(annotations={"node.koordinator.sh/reservation": said}),
        pod("six", {"cpu": "6", "memory": "12Gi"}),
        pod("more", {"cpu": "6100m"}),
    )
    assert set(places(instance)) == {"six"}


def test_a_node_takes_as_many_pods_as_it_says() -> None:
    """
    Pods that run count, pods that have ended do not.
    """
    small = {"cpu": "100m", "memory": "1Mi"}
    instance, _ = read(
        node(amounts={"pods": "3"}),
        pod("runs", small, nodeName="n1"),
        pod("ended", small, nodeName="n1", phase="Succeeded"),
        *(pod(f"p{i}", small) for i in range(4)),
    )
    assert len(places(instance)) == 2


def test_what_the_system_keeps_is_no_pod_of_the_node() -> None:
    """
    What is allocatable below the machine's is held by a stand-in, which takes nobody's place.
    """
    small = {"cpu": "100m", "memory": "1Mi"}
    kept = node(amounts={"pods": "2"}, capacity={"cpu": "10"})
    instance, _ = read(kept, *(pod(f"p{i}", small) for i in range(3)))
    assert instance.running
    assert len(places(instance)) == 2


def test_a_node_that_does_not_say_how_many_pods_takes_110() -> None:
    """
    That is the kubelet's own default.
    """
    silent = node()
    del silent["status"]["allocatable"]["pods"]
    instance, _ = read(silent)
    assert instance.nodes[0].max_pods == 110


def test_bound_pods_hold_what_their_annotations_say() -> None:
    """
    CPUs by id, devices by minor, memory by NUMA node; the shared pool is what is left.
    """
    status = {
        "cpuset": "4-5",
        "numaNodeResources": [{"node": 1, "resources": {"cpu": "2", "memory": "1Gi"}}],
    }
    key = "scheduling.koordinator.sh/resource-status"
    instance, _ = read(
        node(),
        topology(),
        device(),
        lsr("owner", annotations={key: status}, nodeName="n1"),
        pod("train", {"cpu": "1", "nvidia.com/gpu": "2"}, annotations=held(0, 3), nodeName="n1"),
    )
    owner, train = (running.placement for running in instance.running)
    assert owner.cpuset == {4, 5}
    assert owner.memory_bytes == ((1, GIB),)
    assert train.minors("gpu") == (0, 3)
    assert train.cpuset == {0, 1, 2, 3, 6, 7}
    assert not misfits_of_instance(instance)


def test_what_bound_pods_hold_is_never_given_again() -> None:
    """
    Four GPUs, two held: a pod that wants three has no place, one that wants two gets the others.
    """
    objects = node(), topology(), device()
    runs = pod("runs", {"nvidia.com/gpu": "2"}, annotations=held(1, 2), nodeName="n1")
    assert not places(read(*objects, runs, pod("three", {"nvidia.com/gpu": "3"}))[0])
    found = places(read(*objects, runs, pod("two", {"nvidia.com/gpu": "2"}))[0])
    assert found["two"].minors("gpu") == (0, 3)


def test_cpus_that_the_kubelet_gave_are_found_in_the_topology() -> None:
    """
    A Guaranteed pod without a class owns them where the kubelet is static (C2).
    """
    amounts = {"cpu": "2", "memory": "1Gi"}
    allocs = [
        {
            "namespace": "default",
            "name": "g",
            "uid": "uid-g",
            "cpuset": "2-3",
            "managedByKubelet": True,
        }
    ]
    instance, _ = read(
        node(),
        topology(
            annotations={
                "kubelet.koordinator.sh/cpu-manager-policy": {"policy": "static"},
                "node.koordinator.sh/pod-cpu-allocs": allocs,
            }
        ),
        pod("g", amounts, limits=amounts, nodeName="n1"),
        pod("waits", amounts, limits=amounts),
    )
    (running,) = instance.running
    assert running.pod.spec.qos is QosClass.LSR
    assert running.placement.cpuset == {2, 3}
    assert instance.gangs[0].pods[0].spec.qos is QosClass.LS


def test_a_pod_whose_cpus_nobody_knows_closes_its_node_to_owners() -> None:
    """
    It is said, and no CPU is given twice: the node gives out no more of its own.
    """
    instance, summary = read(node(), topology(), lsr("runs", nodeName="n1"), lsr("waits"), pod())
    assert set(places(instance)) == {"p"}
    assert "pods whose own CPUs nobody names: no more are given out there: Pod default/runs" in (
        notes(summary)
    )


def test_a_pod_whose_cpus_nobody_knows_keeps_its_ports() -> None:
    """
    Nobody else gets them, though it counts as one that shares CPUs.
    """
    ports = [{"hostPort": 80, "containerPort": 80}]
    runs, waits = lsr("runs", nodeName="n1"), pod("waits")
    for one in (runs, waits):
        one["spec"]["containers"][0]["ports"] = ports
    instance, _ = read(node(), topology(), runs, waits, pod())
    assert set(places(instance)) == {"p"}


@pytest.mark.parametrize("told", ["GPU-1,GPU-2", "1,2", "status", "checkpoint", "nobody"])
def test_devices_without_an_annotation_are_found_elsewhere(told: str) -> None:
    """
    In the environment, by id or minor; in the Device object; if nowhere, none is given out.
    """
    runs = pod("runs", {"nvidia.com/gpu": "2"}, nodeName="n1")
    objects = device()
    if told == "status":
        entry = {"namespace": "default", "name": "runs", "minors": [1, 2]}
        objects["status"] = {"allocations": [{"type": "gpu", "entries": [entry]}]}
    elif told == "checkpoint":
        entries = [{"podUID": "uid-runs", "deviceIDs": ["GPU-1", "GPU-2"]}]
        key = "node.koordinator.sh/gpu-checkpoints"
        objects["metadata"]["annotations"] = {key: json.dumps(entries)}
    elif told != "nobody":
        variable = {"name": "NVIDIA_VISIBLE_DEVICES", "value": told}
        runs["spec"]["containers"][0]["env"] = [variable]
    instance, summary = read(node(), objects, runs, pod("waits", {"nvidia.com/gpu": "1"}))

    if told == "nobody":
        assert not places(instance)
        assert "pods whose devices nobody names" in notes(summary)
    else:
        assert places(instance)["waits"].minors("gpu")[0] in (0, 3)


def test_what_pods_outside_the_dump_hold_is_given_to_nobody() -> None:
    """
    CPUs and devices that a node's agent names; those of pods in the dump are theirs (D12).
    """
    allocs = [
        {"namespace": "other", "name": "far", "uid": "u", "cpuset": "0-3"},
        {"namespace": "default", "name": "near", "uid": "uid-near", "cpuset": "4-5"},
    ]
    devices = device()
    entry = {"namespace": "other", "name": "far", "minors": [0, 1, 2]}
    devices["status"] = {"allocations": [{"type": "gpu", "entries": [entry]}]}
    instance, summary = read(
        node(),
        topology(annotations={"node.koordinator.sh/pod-cpu-allocs": allocs}),
        devices,
        lsr("near", nodeName="n1"),
        lsr("waits"),
    )
    (found,) = instance.nodes
    assert places(instance)["waits"].cpuset == {6, 7}
    assert [device.minor for device in found.devices if found.is_healthy(device)] == [3]
    assert "nodes that name pods which are not in the dump" in notes(summary)


def test_gpus_are_plain_amounts_where_no_object_lists_them() -> None:
    """
    Without Device objects nvidia.com/gpu is an extended resource of the node.
    """
    gpus = {"nvidia.com/gpu": "2"}
    instance, _ = read(
        node(amounts=gpus),
        pod("runs", {"nvidia.com/gpu": "1"}, nodeName="n1"),
        pod("a", {"nvidia.com/gpu": "1"}),
        pod("b", {"nvidia.com/gpu": "1"}),
    )
    assert len(places(instance)) == 1

    asked = pod("a", gpus, nodeSelector={"kubernetes.io/hostname": "n1"})
    instance, summary = read(node(amounts=gpus), node("n2"), device("n2"), asked)
    assert places(instance)["a"].node == "n1"
    assert "nodes with nvidia.com/gpu and no object that says which: counted alone" in notes(
        summary
    )


def test_sick_devices_are_not_given_out() -> None:
    """
    By their flag or by their condition (D6).
    """
    sick = [gpu(0, health=False), gpu(1, conditions=[{"type": "Healthy", "status": "False"}])]
    instance, _ = read(node(), device(devices=[*sick, gpu(2)]), pod("a", {"nvidia.com/gpu": "1"}))
    assert places(instance)["a"].minors("gpu") == (2,)


def test_zones_give_devices_that_no_object_lists() -> None:
    """
    By NUMA node; those that a zone calls taken belong to the pods that run.
    """
    zones = [
        {
            "name": f"node-{i}",
            "type": "Node",
            "resources": [
                {"name": "cpu", "capacity": 4, "allocatable": 3, "available": 3},
                {"name": "example.com/nic", "capacity": 2, "allocatable": 2, "available": free},
            ],
        }
        for i, free in enumerate((1, 2))
    ]
    found = topology(zones=zones, policies=["SingleNUMANodePodLevel"])
    del found["metadata"]["annotations"]
    instance, _ = read(
        node(),
        found,
        pod("runs", {"cpu": "1", "example.com/nic": "1"}, nodeName="n1"),
        pod("two", {"cpu": "2", "example.com/nic": "2"}),
    )
    place = places(instance)["two"]
    by_minor = {d.minor: d.numa_node for d in instance.nodes[0].machine.devices}
    assert [by_minor[minor] for minor in place.minors("example.com/nic")] == [1, 1]


def test_gangs_are_made_of_groups_and_labels() -> None:
    """
    Members that run count for the minimum; a pod by itself may have the name of a gang.
    """
    instance, summary = read(
        node(),
        pod_group("g", 3),
        member("a", "g", nodeName="n1"),
        member("b", "g"),
        member("c", "g"),
        pod("g"),
        member("x", "short"),
    )
    lone, gang = instance.gangs
    assert lone.lone
    assert [p.name for p in gang.pods] == ["b", "c"]
    assert gang.minimum == 2
    assert "PodGroup default/short: its PodGroup is not in the dump" in notes(summary)


def test_a_gang_of_which_pods_are_missing_waits() -> None:
    """
    It is not placed, and the summary says how many are there.
    """
    instance, summary = read(node(), pod_group("g", 3), member("a", "g"))
    assert not instance.gangs
    assert "1 of the 3 pods that it waits for are there" in notes(summary)


def test_cpus_that_best_effort_pods_ask_for_count_with_all_others() -> None:
    """
    The kubelet admits no pod beyond the allocatable CPUs, whatever its class by label.
    """
    best_effort = {"koordinator.sh/qosClass": "BE"}
    pods = [
        pod("runs", {"cpu": "4"}, nodeName="n1"),
        pod("be-0", {"cpu": "4"}, labels=best_effort),
        pod("be-1", {"cpu": "4"}, labels=best_effort),
        pod("ls", {"cpu": "4"}),
    ]
    instance, _ = read(node(), *pods)
    assert [gang.pods[0].spec.qos for gang in instance.gangs] == ["BE", "BE", "LS"]
    offered = dict(instance.nodes[0].extended)[REQUESTED_CPU]
    assert offered == 8_000
    assert len(places(instance)) == 1

    instance, _ = read(node(), *pods[:1], *pods[3:])
    assert REQUESTED_CPU not in dict(instance.nodes[0].extended)


def test_a_gang_of_volcano_comes_whole() -> None:
    """
    Its pods were placed one by one when its PodGroup was skipped.
    """
    kind = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup"}
    job = {**kind, "metadata": {"name": "job"}, "spec": {"minMember": 2}}
    named = {"scheduling.k8s.io/group-name": "job"}
    pods = [pod(name, {"cpu": "30"}, annotations=named) for name in ("a", "b")]
    instance, _ = read(node(), job, *pods)

    (gang,) = instance.gangs
    assert (gang.minimum, len(gang.pods)) == (2, 2)
    assert not places(instance)


def test_groups_of_gangs_come_together() -> None:
    """
    By the annotation of PodGroups; one that misses a gang is not placed.
    """
    pair = {"gang.scheduling.koordinator.sh/groups": '["default/a","default/b"]'}
    both = pod_group("a", 1, annotations=pair), pod_group("b", 1, annotations=pair)
    instance, _ = read(node(), *both, member("pa", "a"), member("pb", "b"))
    (found,) = instance.groups
    assert found.gangs == (("default", "a"), ("default", "b"))

    instance, summary = read(node(), *both, member("pa", "a"))
    assert not instance.gangs
    assert "its group waits for PodGroup default/b" in notes(summary)


def test_priorities_are_those_of_classes() -> None:
    """
    The value of a pod, of its class, of the default class.
    """
    kind = yaml.safe_load((Path(__file__).parent / "data" / "priority_class.yaml").read_text())
    high = {**kind, "metadata": {"name": "high"}, "value": 100}
    usual = {**kind, "metadata": {"name": "usual"}, "value": 5, "globalDefault": True}
    instance, _ = read(
        node(),
        high,
        usual,
        pod("a", priority=7),
        pod("b", priorityClassName="high"),
        pod("c"),
        pod("d", priorityClassName="system-node-critical"),
    )
    assert [gang.priority for gang in instance.gangs] == [7, 100, 5, 2_000_001_000]


def test_a_cordon_is_its_taint_and_a_condition_without_one_keeps_nobody_off() -> None:
    """
    As for kube-scheduler: daemons that tolerate the taint of a cordon come all the same.
    """
    daemon = {"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}
    instance, _ = read(node(unschedulable=True), pod("d", tolerations=[daemon]), pod("p"))
    assert set(places(instance)) == {"d"}
    assert not instance.nodes[0].closed

    instance, summary = read(node(conditions=[{"type": "Ready", "status": "False"}]), pod("p"))
    assert set(places(instance)) == {"p"}
    assert "with the condition NotReady and no taint for it: pods may come: n1" in notes(summary)


@pytest.mark.parametrize(
    ("more", "note"),
    [
        (
            {"annotations": {"node.koordinator.sh/resource-amplification-ratio": '{"memory":1.5}'}},
            "memory amplified by 1.5, for which there is no word",
        ),
        (
            {"labels": {"node.koordinator.sh/numa-topology-policy": "Restricted"}},
            "the NUMA policy Restricted and no NodeResourceTopology",
        ),
        (
            {"amounts": {"cpu": None, "memory": None}},
            "that say of no CPUs yet, taken as one: nothing new comes there: n1",
        ),
    ],
)
def test_a_node_that_pods_may_not_come_to_is_closed(more: Json, note: str) -> None:
    """
    And the summary says why, where the node does not say it in one word.
    """
    instance, summary = read(node(**more), pod())
    assert instance.nodes[0].closed
    assert not places(instance)
    assert note in notes(summary)


def test_taints_keep_off_who_does_not_tolerate_them() -> None:
    """
    By key, value and effect; a taint that would rather keep off never does.
    """
    gpus = [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]
    soft = [{"key": "x", "effect": "PreferNoSchedule"}]
    tolerations = {
        "any": [{"operator": "Exists"}],
        "key": [{"key": "gpu", "operator": "Exists"}],
        "value": [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}],
        "other-value": [{"key": "gpu", "value": "no"}],
        "other-effect": [{"key": "gpu", "operator": "Exists", "effect": "NoExecute"}],
    }
    pods = [pod(name, {"cpu": "1"}, tolerations=said) for name, said in tolerations.items()]
    instance, _ = read(node(taints=[*gpus, *soft]), *pods, pod("none", {"cpu": "1"}))
    assert set(places(instance)) == {"any", "key", "value"}

    nodes = node("a", taints=gpus), node("b", taints=[{"key": "k", "effect": "NoExecute"}])
    instance, _ = read(*nodes, node("c"), *pods, pod("none", {"cpu": "1"}))
    assert {name: place.node for name, place in places(instance).items() if name == "none"} == {
        "none": "c"
    }


def test_pods_with_demands_that_have_no_word_are_not_placed_and_named() -> None:
    """
    The others are.
    """
    claims = [{"persistentVolumeClaim": {"claimName": "c"}}]
    vain = {"podAffinity": {REQUIRED: [{"topologyKey": "z"}]}}
    instance, summary = read(node(), pod("a", affinity=vain, volumes=claims), pod("b"))
    assert set(places(instance)) == {"b"}
    assert (
        "not placed: Pod default/a: "
        "there is no word yet for required pod affinity that means no pod"
    ) in notes(summary)


def test_the_summary_counts_what_was_read_and_skipped() -> None:
    """
    One line for what is skipped, however much it is.
    """
    other = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}
    _, summary = read(node(), pod(), other, other)
    first, second, *_ = summary.lines()
    assert first == "read 1 Node, 1 Pod"
    assert second == "skipped 2 ConfigMap (v1): of kinds that are not read"


@pytest.mark.parametrize(
    ("objects", "messages"),
    [
        (
            [
                node(),
                topology(),
                lsr("a", annotations=owned("0-1"), nodeName="n1"),
                lsr("b", annotations=owned("1-2"), nodeName="n1"),
            ],
            ["CPU 1 of Node n1 belongs to Pod default/a already; a CPU has one owner"],
        ),
        (
            [node(), topology(), lsr("a", annotations=owned("0-2"), nodeName="n1")],
            ["names 3 CPUs, 0-2; its containers ask for 2"],
        ),
        (
            [node(), topology(), lsr("a", annotations=owned("8-9"), nodeName="n1")],
            ["CPUs 8-9: Node n1 has 0-7"],
        ),
        (
            [
                node(),
                device(),
                one_gpu("a", 1),
                one_gpu("b", 1),
            ],
            ["gpu 1 belongs to the running pod 'Pod default/a' already; a device has one holder"],
        ),
        (
            [
                node(),
                device(),
                one_gpu("a", 9),
            ],
            ["gpu 9: Node n1 has no such device; it has 0, 1, 2, 3 of the type"],
        ),
        (
            [node(), topology(numa_nodes=1, cpus=[(0, 0, 0, 0), (1, 1, 0, 0)]), device()],
            ["Device n1: gpu 2 is on NUMA node 1; the NodeResourceTopology has 0"],
        ),
        ([node(), node()], ["metadata.name: Node n1: is given already at dump.json:1"]),
        ([node(capacity={"cpu": "0"})], ["status.capacity.cpu: Node n1: got 0 CPUs"]),
        (
            [
                node(),
                pod("a", {"cpu": "-1"}),
                pod("b", {"koordinator.sh/gpu": "150"}),
                topology("n9", cpus=[(0, 0, 0, 0), (0, 0, 0, 1)]),
            ],
            [
                "requests.cpu: Pod default/a: '-1' is negative",
                "CPU 0 is there twice",
            ],
        ),
        ([pod("a", nodeName="n1"), node(amounts={"cpu": "x"})], ["Node n1: 'x' is no amount"]),
    ],
)
def test_each_faulty_object_is_named(objects: Sequence[Json], messages: Sequence[str]) -> None:
    """
    With file, line and field; one does not hide another, and nobody is blamed for another's fault.
    """
    found = faults(*objects)
    assert len(found) == len(messages)
    for fault, message in zip(found, messages, strict=True):
        assert fault.startswith("dump.json:")
        assert message in fault


def test_no_node_is_a_fault(tmp_path: Path) -> None:
    """
    Pods alone have nowhere to go, and the mend is the command that gets nodes.
    """
    from placer.load import load_instance

    path = tmp_path / "pods.json"
    path.write_text(json.dumps(pod()))
    with pytest.raises(DumpError, match="holds no Node; get the nodes, too: kubectl get"):
        load_instance([path])


def test_a_dump_and_an_instance_are_not_read_together(tmp_path: Path) -> None:
    """
    One message names both files.
    """
    from placer.load import load_instance
    from placer_models.files.errors import InputError

    dump, ours = tmp_path / "dump.json", tmp_path / "ours.yaml"
    dump.write_text(json.dumps(node()))
    ours.write_text("apiVersion: placer/v1\nkind: Instance\nnodes: []\n")
    with pytest.raises(InputError, match=r"ours.yaml:3: nodes: beside .*dump.json"):
        load_instance([dump, ours])


def test_an_empty_file_beside_a_dump_is_what_kubectl_wrote(tmp_path: Path) -> None:
    """
    It writes nothing of several kinds where it does not know one of them.
    """
    from placer.kubernetes.objects import ClusterObjects
    from placer.load import load_cluster, load_instance
    from placer_models.files.errors import InputError

    dump, empty = tmp_path / "dump.json", tmp_path / "more.yaml"
    dump.write_text(json.dumps(node()))
    empty.write_text("\n")
    for load in (load_instance, lambda paths: load_cluster(paths, ClusterObjects())):
        with pytest.raises(InputError, match=r"more\.yaml: is empty; kubectl .* leave that kind"):
            load([dump, empty])


def test_a_bound_pod_whose_numa_node_has_no_cpu_left_stops_nobody() -> None:
    """
    Its 100m are on NUMA node 1, where an LSR pod owns every CPU: owners go to the other node.
    """
    policy = {"node.koordinator.sh/numa-topology-policy": "SingleNUMANode"}
    status = "scheduling.koordinator.sh/resource-status"
    there = {status: {"numaNodeResources": [{"node": 1, "resources": {"cpu": "100m"}}]}}
    objects = (
        node(labels=policy),
        topology(),
        lsr("o", 4, annotations=owned("4-7"), nodeName="n1"),
        pod("c", {"cpu": "100m", "memory": "1Gi"}, annotations=there, nodeName="n1"),
        lsr("p", 2),
    )
    alone, _ = read(*objects)
    beside, _ = read(*objects, node("n2", labels=policy), topology("n2"))

    assert [misfit.pod[1] for misfit in misfits_of_instance(alone)] == ["c"]
    assert places(alone) == {}
    assert {place.node for place in places(beside).values()} == {"n2"}


@pytest.mark.parametrize(
    "metadata",
    [
        {"annotations": {"kubernetes.io/config.mirror": "0123456789abcdef0123456789abcdef"}},
        {"ownerReferences": [{"kind": "Node", "name": "n1"}]},
        {"ownerReferences": [{"kind": "DaemonSet", "name": "agent"}]},
    ],
)
def test_pods_that_run_for_their_node_do_not_move(metadata: Json) -> None:
    """
    Evicting a static pod or a DaemonSet's does nothing: it comes back to the same node.
    """
    runs = pod("agent", nodeName="n1")
    runs["metadata"] |= metadata

    instance, _ = read(node("n1"), node("n2"), runs, pod("guest", nodeName="n1"))

    assert {one.pod.name: one.movable for one in instance.running} == {
        "agent": False,
        "guest": True,
    }
