"""Pods that would like certain devices for their shares (B14)."""

from dataclasses import replace
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from answers import expect
from instance_texts import instance_of_text, reread
from placer.judge.measure import measure
from placer.scheduler import Scheduler
from placer.scheduling.decision import Batch
from placer.search import joint_search
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.capacity import DeviceQuantity, DeviceQuantityUnit
from placer_models.cluster import Instance, Machine, Node, RunningPod
from placer_models.device import GPU, Device, VirtualFunction
from placer_models.device_share import DeviceShare, device_usage_millionths
from placer_models.files.errors import InputError
from placer_models.goals import DEVICE_CHOICE
from placer_models.legal import IllegalPodError
from placer_models.machines.catalogue import load_machine
from placer_models.placement import DeviceGrant, PartlyPlaced, Placed, Placement, PodPlacement
from placer_models.pod import Container, DeviceRequest, Gang, Pod, PodSpec, Resources, lone_gang
from placer_models.policy import DeviceChoicePolicy
from quota.given_out import device_given_out
from scheduler.cluster import BOX, DEADLINE_S

LEAST, MOST = DeviceChoicePolicy.LEAST_USED, DeviceChoicePolicy.MOST_USED
ENGINES = [Engine.GREEDY, Engine.EXACT]


def asking(
    name: str, *shares: DeviceShare, choice: DeviceChoicePolicy | None, kind: str = GPU
) -> Pod:
    counts = {share: shares.count(share) for share in shares}
    devices = tuple(DeviceRequest(kind, count, share) for share, count in counts.items())
    container = Container("main", Resources(100, devices=devices))
    return Pod(name, "default", PodSpec((container,), device_choice=choice))


def in_bytes(amount: int) -> DeviceShare:
    return DeviceShare(memory_bytes=amount)


def box(*memories: int) -> Machine:
    """Return a machine with a GPU of each memory."""
    gpus = tuple(Device(GPU, i, numa_node=0, memory_bytes=m) for i, m in enumerate(memories))
    return replace(BOX, devices=gpus)


def using(name: str, node: str, minor: int, share: DeviceShare, kind: str = GPU) -> RunningPod:
    pod = asking(name, share, choice=None, kind=kind)
    grant = DeviceGrant(kind, minor, share=share)
    return RunningPod(pod, PodPlacement(name, "default", None, node, frozenset(), devices=(grant,)))


def world(machine: Machine, running: tuple[RunningPod, ...], *pods: Pod) -> Instance:
    gangs = tuple(map(lone_gang, pods))
    return Instance((Node("n", machine),), gangs, running=running)


def solved(instance: Instance, engine: Engine) -> dict[str, tuple[int, ...]]:
    """Return the minors of each pod; the tier is 0 and, by the exact engine, proven."""
    answer = expect(Placed, solve(instance, SolveOptions(engine=engine, workers=1, seed=1)))
    (tier,) = (tier for tier in answer.tiers if tier.tier is DEVICE_CHOICE)
    assert tier.value == 0
    assert tier.proven or engine is Engine.GREEDY
    return {p.name: tuple(g.minor for g in p.devices) for p in answer.placement.pods}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("choice", "minor"), [(LEAST, 1), (MOST, 2)])
def test_a_pod_alone_has_the_device_of_its_choice(
    engine: Engine, choice: DeviceChoicePolicy, minor: int
) -> None:
    """
    The seed's cards: 5, 0, 12 and 3 of 20 are used, and 4 are asked for.
    """
    running = tuple(using(f"r{i}", "n", i, in_bytes(u)) for i, u in enumerate((5, 0, 12, 3)) if u)

    found = solved(
        world(box(20, 20, 20, 20), running, asking("p", in_bytes(4), choice=choice)), engine
    )

    assert found == {"p": (minor,)}


@settings(max_examples=15)
@given(
    cards=st.lists(st.tuples(st.integers(1, 20), st.integers(0, 20)), min_size=1, max_size=4),
    amount=st.integers(1, 12),
    choice=st.sampled_from(DeviceChoicePolicy),
)
def test_one_pod_is_the_rule_of_the_seed(
    cards: list[tuple[int, int]], amount: int, choice: DeviceChoicePolicy
) -> None:
    """
    The solver and a ledger of quotas choose devices of which as much is used.
    """
    quotas = [quota for quota, _ in cards]
    used = [min(use, quota) for quota, use in cards]
    running = tuple(using(f"r{i}", "n", i, in_bytes(u)) for i, u in enumerate(used) if u)
    expected = device_given_out(quotas, used, amount, choice)
    instance = world(box(*quotas), running, asking("p", in_bytes(amount), choice=choice))

    for engine in ENGINES:
        if expected is None:
            answer = solve(instance, SolveOptions(engine=engine, workers=1, seed=1))
            assert not isinstance(answer, Placed | PartlyPlaced)
        else:
            (minor,) = solved(instance, engine)["p"]
            assert part(used, quotas, minor) == part(used, quotas, expected - 1)


def part(used: list[int], quotas: list[int], index: int) -> int:
    return device_usage_millionths((used[index],), (quotas[index],), (1,))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_batch_is_spread_or_packed_as_one_by_one(engine: Engine) -> None:
    """
    Four equal pods on four idle cards of which each holds three.
    """
    for choice, devices in ((LEAST, 4), (MOST, 2)):
        pods = [asking(f"p{i}", in_bytes(6), choice=choice) for i in range(4)]
        found = solved(world(box(20, 20, 20, 20), (), *pods), engine)
        assert len(set(found.values())) == devices


def test_a_pod_wins_over_what_others_choose() -> None:
    """
    Each by its own choice: one on the fullest card, one on an idle one, in any order.
    """
    running = (using("r0", "n", 0, in_bytes(12)), using("r1", "n", 1, in_bytes(5)))
    pods = [
        asking("even", in_bytes(4), choice=LEAST),
        asking("packed", in_bytes(4), choice=MOST),
        asking("any", in_bytes(1), choice=None),
    ]
    for order in permutations(pods):
        found = solved(world(box(20, 20, 20), running, *order), Engine.EXACT)
        assert (found["even"], found["packed"]) == ((2,), (0,))


@pytest.mark.parametrize("engine", ENGINES)
def test_used_is_the_mean_over_what_is_asked_for(engine: Engine) -> None:
    """
    Card 0: 20 % of the compute and 60 % of the memory; card 1: 50 % and 50 %. Who asks for
    memory alone is not told of the compute.
    """
    running = (
        using("r0", "n", 0, DeviceShare(20, memory_percent=60)),
        using("r1", "n", 1, DeviceShare(50, memory_percent=50)),
    )
    both, memory = DeviceShare(10, memory_percent=10), DeviceShare(memory_percent=10)
    for share, minor in ((both, 0), (memory, 1)):
        instance = world(box(100, 100), running, asking("p", share, choice=LEAST))
        assert solved(instance, engine) == {"p": (minor,)}


@pytest.mark.parametrize("engine", ENGINES)
def test_other_devices_and_quantities_are_chosen_alike(engine: Engine) -> None:
    """
    Disks with space and queues: 8 of 10 queues are much, and 1 of 100 bytes are little.
    """
    capacity = (
        DeviceQuantity("queues", 10, DeviceQuantityUnit.UNITS),
        DeviceQuantity("space", 100, DeviceQuantityUnit.BYTES),
    )
    disks = tuple(Device("disk", i, numa_node=0, capacity=capacity) for i in range(2))
    machine = replace(BOX, devices=disks)

    def taking(queues: int, space: int) -> DeviceShare:
        return DeviceShare(
            capacity=(
                DeviceQuantity("queues", queues, DeviceQuantityUnit.UNITS),
                DeviceQuantity("space", space, DeviceQuantityUnit.BYTES),
            )
        )

    running = (
        using("r0", "n", 0, taking(8, 1), "disk"),
        using("r1", "n", 1, taking(1, 40), "disk"),
    )
    for choice, minor in ((LEAST, 1), (MOST, 0)):
        pod = asking("p", taking(1, 1), choice=choice, kind="disk")
        assert solved(world(machine, running, pod), engine) == {"p": (minor,)}


def test_a_device_without_a_function_is_no_choice() -> None:
    """
    The idle NIC has no virtual function left, so the other one is the least used.
    """
    nics = tuple(
        Device("rdma", i, numa_node=0, virtual_functions=(VirtualFunction(0, f"0000:0{i}:00.1"),))
        for i in range(2)
    )
    share = DeviceShare(percent=10)
    holder = using("r", "n", 0, DeviceShare(percent=1), "rdma")
    place = replace(holder.placement, devices=(replace(holder.placement.devices[0], vfs=(0,)),))
    holder = RunningPod(
        replace(holder.pod, spec=replace(holder.pod.spec, functions=(("rdma", ()),))), place
    )
    busy = using("busy", "n", 1, DeviceShare(percent=50), "rdma")
    pod = asking("p", share, choice=LEAST, kind="rdma")
    pod = replace(pod, spec=replace(pod.spec, functions=(("rdma", ()),)))

    found = solved(world(replace(BOX, devices=nics), (holder, busy), pod), Engine.EXACT)

    assert found == {"p": (1,)}


def test_nodes_are_not_compared() -> None:
    """
    A card of which much is used is off no choice where its node has no better one.
    """
    nodes = tuple(Node(name, box(20), (("name", name),)) for name in "ab")
    pod = asking("p", in_bytes(4), choice=LEAST)
    pinned = replace(pod, spec=replace(pod.spec, node_selector=(("name", "a"),)))
    instance = Instance(nodes, (lone_gang(pinned),), running=(using("r", "a", 0, in_bytes(12)),))

    assert solved(instance, Engine.EXACT) == {"p": (0,)}


def test_how_far_off_is_measured_in_millionths() -> None:
    """
    One new pod beside 12 of 20 where an idle card was there; the other alone. Who would rather be
    beside others misses what the fullest card that could give it has more.
    """

    def placed(*minors: int, choice: DeviceChoicePolicy = LEAST) -> int:
        pods = [asking(f"p{i}", in_bytes(4), choice=choice) for i in range(2)]
        instance = world(box(20, 20, 20), (using("r", "n", 0, in_bytes(12)),), *pods)
        places = tuple(
            PodPlacement(
                f"p{i}", "default", None, "n", frozenset(),
                devices=(DeviceGrant(GPU, minor, share=in_bytes(4)),),
            )
            for i, minor in enumerate(minors)
        )  # fmt: skip
        return dict(measure(instance, Placement(places)))[DEVICE_CHOICE]

    assert placed(0, 1) == 600_000
    assert placed(1, 2) == 0
    assert placed(1, 1) == 2 * 200_000  # either would be alone on card 2
    assert placed(0, 0) == 2 * 800_000
    assert placed(0, 0, choice=MOST) == 0
    assert placed(0, 1, choice=MOST) == 800_000
    assert placed(1, 2, choice=MOST) == 2 * 600_000


def test_whole_devices_leave_no_choice_and_default_has_no_tier() -> None:
    """
    Without a choice there is no tier; with one a pod has to ask for a share.
    """
    share = asking("p", in_bytes(4), choice=None)
    answer = expect(Placed, solve(world(box(20), (), share), SolveOptions(workers=1, seed=1)))
    assert DEVICE_CHOICE not in {tier.tier for tier in answer.tiers}
    whole = PodSpec(
        (Container("main", Resources(devices=(DeviceRequest(GPU, 1),))),), device_choice=LEAST
    )

    with pytest.raises(IllegalPodError, match=r"device_choice .*asks for no share of a device"):
        solve(world(box(20), (), Pod("p", "default", whole)))


def test_a_scheduler_chooses_devices_from_call_to_call() -> None:
    """
    Three pods spread over three cards, one after the other; the fourth packs.
    """
    scheduler = Scheduler([Node("n", box(20, 20, 20))])
    options = SolveOptions(engine=Engine.GREEDY, workers=1)
    minors = []
    for name, amount, choice in (
        ("a", 2, LEAST), ("b", 4, LEAST), ("c", 6, LEAST), ("d", 1, MOST), ("e", 1, LEAST),
    ):  # fmt: skip
        batch = Batch((lone_gang(asking(name, in_bytes(amount), choice=choice)),))
        (place,) = scheduler.place(batch, DEADLINE_S, options=options).placement.pods
        minors.append(place.devices[0].minor)

    assert len(set(minors[:3])) == 3
    assert minors[3:] == [minors[2], minors[0]]


FILE = """
apiVersion: placer/v1
kind: Instance
{file}
machines:
  - name: box
    numaNodes: [{{id: 0, memory: 64Gi, cpus: 0-7}}]
    devices: [{{type: gpu, count: 2, memory: 20Gi}}]
nodes: [{{name: n, machine: box}}]
pods:
  - {{name: a, shares: [{{memory: 4Gi}}]}}
  - {{name: b, shares: [{{memory: 4Gi}}], deviceChoice: most-used}}
  - {{name: c, requests: {{gpu: 1}}{pod}}}
"""


def read(**written: str) -> Instance:
    return instance_of_text(FILE.format(**{"file": "", "pod": "", **written}))


def test_a_file_says_what_its_pods_choose() -> None:
    """
    For pods with shares that say nothing; it is written back pod by pod.
    """
    instance = read(file="deviceChoice: least-used")

    chosen = [gang.pods[0].spec.device_choice for gang in instance.gangs]
    assert chosen == [LEAST, MOST, None]
    assert reread(instance) == instance


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ({"pod": ", deviceChoice: most-used"}, "pods[2].deviceChoice: the pod asks for no share"),
        ({"file": "deviceChoice: fullest"}, "got 'fullest'; expected 'least-used' or 'most-used'"),
        (
            {"file": "deviceChoice: least-used\n---\napiVersion: placer/v1\nkind: Instance\n"
             "deviceChoice: most-used"},
            "deviceChoice: is given by another document already; give it once",
        ),
    ],
)  # fmt: skip
def test_a_choice_that_cannot_be_is_refused(written: dict[str, str], message: str) -> None:
    """
    One message: where, what, and what to do.
    """
    with pytest.raises(InputError) as error:
        read(**written)

    assert message in str(error.value)


def test_what_is_left_usable_is_bounded_as_without_choices(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    However the choices fall out: no model of all pods one by one is needed for that.
    """
    percents = (10, 25, 40, 25)
    node = Node("n", load_machine("dgx-a100"))

    def answer(choice: DeviceChoicePolicy | None) -> Placed:
        pods = [
            asking(f"p{i}", DeviceShare(percent, memory_percent=percent), choice=choice)
            for i, percent in enumerate(percents)
        ]
        instance = Instance(
            (node,), tuple(Gang(p.name, "default", (p,), 1, lone=True) for p in pods)
        )
        return expect(Placed, solve(instance, SolveOptions(workers=1, work_limit=20)))

    free = answer(None).tiers[-1]
    monkeypatch.setattr(joint_search, "FEW_ASSIGNMENTS", 0)
    monkeypatch.setattr(joint_search.JointSearch, "_first", lambda search, tiers: None)
    monkeypatch.setattr(joint_search.JointSearch, "_node_by_node", lambda search: None)
    least = answer(LEAST).tiers[-1]

    assert free.proven
    assert least.bound == free.value > least.value
