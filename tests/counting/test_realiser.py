"""An answer in counts becomes a placement."""

from dataclasses import replace

from answers import expect
from greedy.small import Numa, faults, gang, instance, machine, realised, spec
from placer.counting.account import accounts_of
from placer.counting.placements import NodeIdAssignmentFailure, realise_choices
from placer.greedy.place import place_greedily
from placer.state.batch import build_problem
from placer_models.cluster import Instance, RunningPod
from placer_models.device import GPU
from placer_models.placement import Placement, PodPlacement
from placer_models.pod import Container, Pod, Resources
from placer_models.policy import QosClass
from placer_models.problem.problem import Choice, Choices, CoreTake

HALF = Numa(cores=(2, 2), memory_bytes=100, gpus=2)
SMALL = machine(HALF, HALF)


def answer(world: Instance) -> Placement:
    return realised(world, place_greedily(build_problem(world)))


def refused(world: Instance, choices: Choices) -> NodeIdAssignmentFailure:
    accounts = accounts_of(world)
    return expect(
        NodeIdAssignmentFailure,
        realise_choices(world, accounts, build_problem(world, accounts), choices),
    )


def test_pools_are_what_the_whole_placement_leaves() -> None:
    """
    The LS pod stands first, yet its pool is without the CPUs of the LSR and LSE pods.
    """
    world = instance(
        [SMALL],
        gang("web", spec(1, qos=QosClass.LS)),
        gang("batch", spec(1, qos=QosClass.BE)),
        gang("db", spec(2, qos=QosClass.LSE), spec(2, qos=QosClass.LSR)),
    )
    web, batch, exclusive, reserved = answer(world).pods

    assert web.cpuset == frozenset(range(8)) - exclusive.cpuset - reserved.cpuset
    assert batch.cpuset == frozenset(range(8)) - exclusive.cpuset
    assert batch.containers[0].cpuset == batch.cpuset


def test_gpus_are_named_by_minor_where_an_id_is_unknown() -> None:
    """
    A pod sees its GPUs by id if all are known, by minor otherwise; who has none is told so.
    """
    named = replace(SMALL, devices=tuple(replace(d, id=f"GPU-{d.minor}") for d in SMALL.devices))
    partly = replace(named, devices=(replace(named.devices[0], id=""), *named.devices[1:]))
    for where, seen in ((named, "GPU-0,GPU-1,GPU-2,GPU-3"), (partly, "0,1,2,3")):
        world = instance([where], gang("job", spec(gpus=4), spec(1)))
        job, other = answer(world).pods

        assert job.env == (("NVIDIA_VISIBLE_DEVICES", seen),)
        assert other.env == (("NVIDIA_VISIBLE_DEVICES", "none"),)


def test_gpus_of_another_vendor_have_its_variable() -> None:
    """
    AMD's container runtime reads a variable of its own; NVIDIA's would hide nothing there.
    """
    amd = replace(SMALL, devices=tuple(replace(d, model="MI300X") for d in SMALL.devices))
    job, other = answer(instance([amd], gang("job", spec(gpus=2), spec(1)))).pods

    assert job.env == (("AMD_VISIBLE_DEVICES", "0,1"),)
    assert other.env == (("AMD_VISIBLE_DEVICES", "none"),)


def test_a_lone_pod_has_no_gang_and_a_member_has_its_own() -> None:
    """
    The gang that stands for a lone pod is not named in the placement.
    """
    alone = replace(gang("a", spec(1)), lone=True)
    world = instance([SMALL], alone, gang("b", spec(1)))

    assert [pod.gang for pod in answer(world).pods] == [None, "b"]


def test_memory_without_a_policy_comes_from_where_the_gpus_are() -> None:
    """
    Sixty bytes fit beside the pod's GPUs, and that is where they are.
    """
    world = instance([SMALL], gang("job", spec(gpus=2, memory_bytes=60, qos=QosClass.LS)))
    (job,) = answer(world).pods
    home = {d.minor: d.numa_node for d in SMALL.devices}[job.minors(GPU)[0]]

    assert job.memory_bytes == ((home, 60),)


def test_what_runs_already_keeps_its_place() -> None:
    """
    The new pod gets the CPUs and the bytes that the running one left.
    """
    world = instance([machine(Numa(cores=(2, 2), memory_bytes=100))], gang("new", spec(2)))
    pod = Pod("old", "default", spec(2, memory_bytes=100))
    place = PodPlacement("old", "default", None, "n0", frozenset({0, 1}), memory_bytes=((0, 100),))
    world = replace(world, running=(RunningPod(pod, place),))
    choices = place_greedily(build_problem(world))

    assert [place.cpuset for place in realised(world, choices).pods] == [{2, 3}]
    assert faults(world, choices) == ()


def test_counts_that_no_ids_can_give_are_answered_with_a_reason() -> None:
    """
    Three whole cores of two, memory from a NUMA node that has less, GPUs that are gone,
    a pod that owns fewer CPUs than it asks for: each is named, none is an exception.
    """
    node = machine(Numa(cores=(2, 2), memory_bytes=10, gpus=1))
    none = (CoreTake(),)
    too_many_cores = instance([node], gang("a", spec(6)))
    too_much_memory = instance([node], gang("a", spec(memory_bytes=11)))
    too_many_gpus = instance([node], gang("a", spec(gpus=2)))

    found = refused(too_many_cores, {0: Choice(0, (CoreTake(3),), ((0,),))})
    assert found.node == "n0"
    assert "3 whole cores" in found.reason
    assert "11 bytes" in refused(too_much_memory, {0: Choice(0, none, ((0,),), ((11,),))}).reason
    assert "2 gpu devices" in refused(too_many_gpus, {0: Choice(0, none, ((2,),))}).reason
    few = refused(too_many_cores, {0: Choice(0, (CoreTake(2),), ((0,),))})
    assert few.reason == "pod 'a-0' owns 6 CPUs; its counts give 4"


def test_containers_that_part_a_cpu_are_answered_with_a_reason() -> None:
    """
    Two halves of a CPU make a whole one, but a CPU with an owner is not parted.
    """
    half = Resources(cpu_milli=500)
    parted = replace(spec(1), containers=(Container("a", half), Container("b", half)))
    world = instance([machine(Numa(cores=(1,)))], gang("a", parted))

    assert "whole ones" in refused(world, {0: Choice(0, (CoreTake(1),), ())}).reason
