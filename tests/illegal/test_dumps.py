"""Illegal pods of a dump: those that wait are left out, and those that run are misfits."""

import copy
from random import Random

import pytest

from dump_worlds import dump_world
from kubernetes_dumps import faults, notes, places, read
from kubernetes_worlds import Json, device, held, lsr, member, node, owned, pod, pod_group, topology
from placer.judge.misfits import misfits_of_instance
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance
from placer_models.placement import GaveUp, Infeasible, Placed
from placer_models.reasons import Illegal, IllegalGangInGroup, IllegalMembers

GREEDY = SolveOptions(Engine.GREEDY, workers=1, seed=1)
BATCHES = 10
LSR = {"koordinator.sh/qosClass": "LSR"}
HALF = {"cpu": "1500m", "memory": "1Gi"}
GPU_150 = {"cpu": "1", "koordinator.sh/gpu": "150"}
CLUSTER = (node(), topology(), device())

ILLEGAL: dict[str, tuple[Json, str, str]] = {
    "half a CPU of its own": (
        pod("bad", HALF, limits=HALF, labels=LSR),
        "spec",
        "containers[0].requests.cpu_milli: got 1.5 CPUs; LSR pods ask for a whole number of CPUs "
        "(rule cpu-count)",
    ),
    "one and a half GPUs": (
        pod("bad", GPU_150),
        "spec.containers",
        "container 'main': resources: device-whole: koordinator.sh/gpu: 150 percent is more than "
        "one device, but not whole devices; ask for up to 100, for 100 or for 200",
    ),
    "a part of a GPU without memory": (
        pod("bad", {"koordinator.sh/gpu-core": "50"}),
        "spec.containers",
        "container 'main': resources: device-combination: koordinator.sh/gpu-core cannot be asked "
        "for alone; add koordinator.sh/gpu-memory",
    ),
}
"""What is wrong -> the pod that waits, the field, and what is said of it."""


def left_out(instance: Instance) -> dict[str, object]:
    return {one.name: one.why[0] for one in instance.left_out}


@pytest.mark.parametrize(("bad", "field", "message"), ILLEGAL.values(), ids=ILLEGAL)
def test_an_illegal_pod_that_waits_is_left_out(bad: Json, field: str, message: str) -> None:
    """
    The instance has its reason with file, line and field; the summary names it.
    """
    instance, summary = read(*CLUSTER, bad, pod("fine"))

    assert left_out(instance) == {"bad": Illegal(field, message, "dump.json:4")}
    assert list(places(instance)) == ["fine"]
    assert f"illegal, not placed: Pod default/bad: {field}: {message}" in notes(summary)


def test_what_no_device_of_the_dump_shares_is_illegal_too() -> None:
    """
    A part of an NPU, where the nodes have GPUs: which quantities there are, the devices say.
    """
    asked = {"huawei.com/npu-core": "50", "koordinator.sh/gpu-memory-ratio": "50"}

    instance, summary = read(*CLUSTER, pod("bad", asked), pod("fine"))

    (why,) = left_out(instance).values()
    assert isinstance(why, Illegal)
    assert why.text.startswith("dump.json:4: spec: containers[0].requests.devices[0].share")
    assert "have no huawei.com/npu-core to share" in why.message
    assert list(places(instance)) == ["fine"]
    assert "illegal, not placed: Pod default/bad" in notes(summary)


def test_what_cannot_be_read_is_a_fault_as_before() -> None:
    """
    An amount below 0 is no amount, and says nothing about what the pod wants.
    """
    bad, _, _ = ILLEGAL["one and a half GPUs"]

    (fault,) = faults(*CLUSTER, bad, pod("less", {"cpu": "-1"}), pod("fine"))

    assert fault.startswith("dump.json:5: spec.containers[0].resources.requests.cpu: Pod default/")


def test_a_gang_runs_without_its_illegal_members_while_its_minimum_is_left() -> None:
    """
    Those that are bound count for it, as everywhere.
    """
    bad = member("g-1", "g", GPU_150)
    for minimum, more in ((1, ()), (2, (member("g-0", "g", nodeName="n1"),))):
        instance, _ = read(*CLUSTER, pod_group("g", minimum), bad, member("g-2", "g"), *more)

        assert list(places(instance)) == ["g-2"]
        assert list(left_out(instance)) == ["g-1"]


def test_a_gang_below_its_minimum_is_left_out_whole() -> None:
    """
    And its legal members say who is illegal.
    """
    pods = [member("g-0", "g"), member("g-1", "g", GPU_150), member("g-2", "g")]

    instance, _ = read(*CLUSTER, pod_group("g", 3), *pods, pod("fine"))

    why = left_out(instance)
    assert why["g-0"] == why["g-2"] == IllegalMembers("g", ("g-1",), 3, 3)
    assert isinstance(why["g-1"], Illegal)
    assert list(places(instance)) == ["fine"]


def test_the_group_of_such_a_gang_is_left_out_with_it() -> None:
    """
    Its gangs come together or not at all.
    """
    both = {"gang.scheduling.koordinator.sh/groups": '["default/g","default/h"]'}
    objects = [
        pod_group("g", 2, annotations=both),
        member("g-0", "g", GPU_150),
        member("g-1", "g"),
        pod_group("h", 1, annotations=both),
        member("h-0", "h"),
    ]

    instance, _ = read(*CLUSTER, *objects, pod("fine"))

    assert list(places(instance)) == ["fine"]
    (whole,) = [one for one in left_out(instance).values() if isinstance(one, IllegalGangInGroup)]
    assert whole.gang == "g"


def test_the_priority_of_a_gang_is_that_of_its_legal_members() -> None:
    """
    As if the others were not there.
    """
    objects = [member("g-0", "g", GPU_150, priority=9), member("g-1", "g", priority=3)]

    instance, _ = read(*CLUSTER, pod_group("g", 1), *objects)

    assert [gang.priority for gang in instance.gangs] == [3]


def test_an_illegal_member_of_a_gang_that_placer_cannot_place_is_named_too() -> None:
    """
    Whatever keeps the others of its gang off.
    """
    lacking = member("g-0", "g", resourceClaims=[{"name": "c", "resourceClaimName": "none"}])

    instance, summary = read(*CLUSTER, pod_group("g", 1), lacking, member("g-1", "g", GPU_150))

    assert set(left_out(instance)) == {"g-0", "g-1"}
    assert "not placed: PodGroup default/g" in notes(summary)


def legal_misfits(instance: Instance) -> dict[str, str]:
    return {one.pod[1]: one.message for one in misfits_of_instance(instance) if one.rule == "legal"}


@pytest.mark.parametrize(("bad", "field", "message"), ILLEGAL.values(), ids=ILLEGAL)
def test_an_illegal_pod_that_runs_is_a_misfit(bad: Json, field: str, message: str) -> None:
    """
    It ends nothing, and is named with what is wrong.
    """
    bound = copy.deepcopy(bad)
    bound["spec"]["nodeName"] = "n1"

    instance, summary = read(*CLUSTER, bound, pod("fine"))

    assert legal_misfits(instance) == {"bad": f"pod 'bad' is illegal: {field}: {message}"}
    assert list(places(instance)) == ["fine"]
    assert instance.left_out == ()
    assert "illegal pods that run: misfits" in notes(summary)
    assert "Pod default/bad" in notes(summary)


def fit(instance: Instance, count: int) -> bool:
    found = places(instance)
    assert len(found) in (0, count)
    return bool(found)


def test_the_cpus_that_it_is_said_to_own_are_its_own() -> None:
    """
    Two of eight, whatever its one and a half mean.
    """
    bad = pod("bad", HALF, limits=HALF, labels=LSR, annotations=owned("0-1"), nodeName="n1")

    assert fit(read(*CLUSTER, bad, lsr("p", 6))[0], 1)
    assert not fit(read(*CLUSTER, bad, lsr("p", 7))[0], 1)
    assert places(read(*CLUSTER, bad, lsr("p", 6))[0])["p"].cpuset == frozenset(range(2, 8))


def test_what_it_asks_for_beyond_the_cpus_it_owns_counts_in_the_shared_pool() -> None:
    """
    As does all of it where nobody names any; then no CPU by id is given out there either.
    """
    more = {"cpu": "2500m", "memory": "1Gi"}
    two = pod("bad", more, limits=more, labels=LSR, annotations=owned("0-1"), nodeName="n1")
    none = pod("bad", HALF, limits=HALF, labels=LSR, nodeName="n1")

    for bad, left in ((two, 5500), (none, 6500)):
        for asked, fits in ((left, True), (left + 100, False)):
            waits = pod("p", {"cpu": f"{asked}m"})
            assert fit(read(*CLUSTER, bad, waits)[0], 1) == fits
    assert not fit(read(*CLUSTER, none, lsr("p", 1))[0], 1)


def gpus(count: int) -> Json:
    return pod("p", {"cpu": "1", "nvidia.com/gpu": str(count)})


def test_the_devices_that_it_is_said_to_hold_are_given_to_nobody() -> None:
    """
    Others of the type are free.
    """
    bad = pod("bad", GPU_150, annotations=held(0), nodeName="n1")

    assert places(read(*CLUSTER, bad, gpus(3))[0])["p"].minors("gpu") == (1, 2, 3)
    assert not fit(read(*CLUSTER, bad, gpus(4))[0], 1)


def test_the_devices_that_its_environment_names_are_given_to_nobody() -> None:
    """
    Others of the type are free.
    """
    bad = pod("bad", GPU_150, nodeName="n1")
    bad["spec"]["containers"][0]["env"] = [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "GPU-2"}]

    assert places(read(*CLUSTER, bad, gpus(3))[0])["p"].minors("gpu") == (0, 1, 3)
    assert not fit(read(*CLUSTER, bad, gpus(4))[0], 1)


def test_where_nobody_names_its_devices_none_of_the_type_is_given_out() -> None:
    """
    It may hold any of them.
    """
    bad = pod("bad", GPU_150, nodeName="n1")

    assert not fit(read(*CLUSTER, bad, gpus(1))[0], 1)
    assert fit(read(*CLUSTER, bad, pod("p"))[0], 1)
    assert "devices nobody names" in notes(read(*CLUSTER, bad)[1])


def test_its_memory_and_its_plain_amounts_count() -> None:
    """
    As asked for.
    """
    tokens = node(amounts={"example.com/token": "3"})
    asked = {"memory": "10Gi", "example.com/token": "2", "koordinator.sh/gpu": "150"}
    bad = pod("bad", asked, nodeName="n1")

    for waits, fits in (
        ({"memory": "6Gi"}, True),
        ({"memory": "7Gi"}, False),
        ({"example.com/token": "1"}, True),
        ({"example.com/token": "2"}, False),
    ):
        assert fit(read(tokens, topology(), device(), bad, pod("p", waits))[0], 1) == fits


def test_a_dump_that_contradicts_itself_about_it_is_a_fault_all_the_same() -> None:
    """
    It owns what its node lacks, or what another pod owns.
    """
    for cpus, said in (("0-9", "Node n1 has 0-7"), ("1-2", "belongs to Pod default/first already")):
        bad = pod("bad", HALF, limits=HALF, labels=LSR, annotations=owned(cpus), nodeName="n1")
        first = lsr("first", annotations=owned("0-1"), nodeName="n1")

        (fault,) = faults(*CLUSTER, first, bad)

        assert said in fault


def spoilt(draw: Random, objects: list[Json]) -> tuple[list[Json], list[Json]]:
    """Return the objects with some pods made illegal, and without those pods."""
    with_bad, without = [], []
    for one in copy.deepcopy(objects):
        if one["kind"] == "Pod" and draw.random() < 0.3:
            asked = one["spec"]["containers"][0]["resources"]
            labels = one["metadata"]["labels"]
            if draw.random() < 0.5:
                labels |= LSR
                asked |= {"requests": HALF, "limits": HALF}
            elif labels.get("koordinator.sh/qosClass") != "BE":
                asked |= {"requests": GPU_150, "limits": {}}
                labels.pop("koordinator.sh/qosClass", None)
        else:
            without.append(one)
        with_bad.append(one)
    return with_bad, without


def is_illegal(instance: Instance) -> set[str]:
    return {n for n, why in left_out(instance).items() if isinstance(why, Illegal)}


@pytest.mark.parametrize("batch", range(BATCHES))
def test_a_dump_with_illegal_pods_is_solved_as_the_dump_without_them(batch: int) -> None:
    """
    Clusters drawn at random, with gangs and every kind of request.
    """
    skipped = 0
    for seed in range(batch, 12 * BATCHES, BATCHES):
        with_bad, without = spoilt(Random(f"dump-{seed}"), dump_world(Random(seed)))
        names = {one["metadata"]["name"] for one in without if one["kind"] == "Pod"}
        found, plain = read(*with_bad)[0], read(*without)[0]
        if names | is_illegal(found) != {
            one["metadata"]["name"] for one in with_bad if one["kind"] == "Pod"
        }:
            continue  # a pod that was to be spoilt stayed legal
        skipped += len(is_illegal(found))

        assert (found.nodes, found.gangs, found.groups) == (plain.nodes, plain.gangs, plain.groups)
        answer, other = solve(found, GREEDY), solve(plain, GREEDY)
        if isinstance(other, Infeasible | GaveUp):
            assert isinstance(answer, Infeasible | GaveUp)
            continue
        if isinstance(answer, Infeasible | GaveUp):
            assert not other.placement.pods
            continue
        assert (answer.placement, answer.tiers) == (other.placement, other.tiers)
        assert isinstance(answer, Placed) == (isinstance(other, Placed) and not found.left_out)
    assert skipped > 0
