"""A running pod that is illegal is a misfit, and what it holds is given to nobody else."""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from answers import expect
from illegal.illegal_pods import ILLEGAL
from mixed_worlds import mixed_instance
from placer.counting.account import account_of
from placer.counting.node_resources import NODE_RESOURCES
from placer.judge.breaches import breaches
from placer.judge.misfits import misfits_of_instance
from placer.load import is_catalogue_machine, load_instance
from placer.node.document import node_placement_faults, placement_of_node
from placer.node.targets import desired_container_cgroups
from placer.scheduler import Scheduler
from placer.scheduling.decision import Batch
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.affinity import AffinityTerm
from placer_models.cluster import Instance, Node, RunningPod
from placer_models.device_share import DeviceShare
from placer_models.host_ports import HostPort
from placer_models.illegal_running import illegality_text, running_pod_counted_as_legal
from placer_models.instance.writer import instance_to_dict
from placer_models.legal import spec_faults
from placer_models.machines.catalogue import load_machine
from placer_models.placement import (
    Answer,
    DeviceGrant,
    Infeasible,
    PartlyPlaced,
    Placed,
    Placement,
    PodPlacement,
)
from placer_models.pod import Container, ContainerRole, DeviceRequest, Pod, PodSpec, Resources
from placer_models.policy import ExclusivePolicy, QosClass
from placer_models.topology import Hugepages
from tiny_pods import lone

GIB = 1 << 30
GREEDY = SolveOptions(Engine.GREEDY, workers=1, seed=1)
EXACT = SolveOptions(Engine.EXACT, workers=1, seed=1)
NODE = Node("n", load_machine("dgx-a100"), extended=(("licences", 4),))
ONLINE = NODE.machine.topology.online
LSR, LS = QosClass.LSR, QosClass.LS
BATCHES = 10


def running(spec: PodSpec, name: str = "bad", **held: object) -> RunningPod:
    """Return a pod of the spec that runs on the node and holds so much."""
    held = {"cpuset": frozenset(), **held}
    place = PodPlacement(name, "default", None, "n", **held)
    return RunningPod(Pod(name, "default", spec), place)


def one(requests: Resources, qos: QosClass = LS, **wishes: object) -> PodSpec:
    spec = PodSpec((Container("main", requests),), qos)
    return replace(spec, **wishes)


def waiting(name: str, requests: Resources, qos: QosClass = LS) -> Pod:
    return Pod(name, "default", one(requests, qos))


def answer_to(*pods: Pod, beside: RunningPod, options: SolveOptions = GREEDY) -> Answer:
    return solve(Instance((NODE,), tuple(map(lone, pods)), running=(beside,)), options)


@pytest.mark.parametrize("spec", ILLEGAL.values(), ids=ILLEGAL)
def test_it_is_a_misfit_and_no_call_ends(spec: PodSpec) -> None:
    """
    Whatever no pod may ask for: the pod is named, keeps its place, and others come and go.
    """
    bad = running(spec, cpuset=frozenset({0, 1}) if spec.qos.owns_cpus else ONLINE)
    scheduler = Scheduler([NODE], [bad])
    (misfit,) = [one for one in scheduler.misfits() if one.rule == "legal"]
    fault = next(iter(spec_faults(spec)))

    assert misfit.pod == ("default", "bad")
    assert misfit.message == f"pod 'bad' is illegal: {fault.path}: {fault.message}"
    batch = Batch((lone(waiting("fine", Resources(1000), LSR)),))
    assert isinstance(scheduler.place(batch, 60, options=GREEDY).answer, Placed)
    snapshot = scheduler.snapshot()
    assert snapshot.instance.running[0].pod.spec == spec
    assert Scheduler.restore(snapshot).snapshot() == snapshot
    assert misfits_of_instance(snapshot.instance)[0] == misfit
    scheduler.release([("default", "bad")])
    assert scheduler.misfits() == ()


@pytest.mark.parametrize("spec", ILLEGAL.values(), ids=ILLEGAL)
def test_what_is_counted_of_it_is_a_legal_pod(spec: PodSpec) -> None:
    """
    It asks for just what it holds, and it is counted once: as itself from then on.
    """
    bad = running(
        spec,
        cpuset=frozenset({0, 1}),
        memory_bytes=((0, GIB), (1, -GIB)),
        devices=(DeviceGrant("gpu", 0, "", DeviceShare(percent=150, memory_percent=150)),),
    )

    counted = running_pod_counted_as_legal(bad)

    assert [*spec_faults(counted.pod.spec)] == []
    assert illegality_text(bad)
    assert not illegality_text(counted)
    assert not counted.movable
    assert running_pod_counted_as_legal(counted) is counted
    assert counted.pod.spec.requests.memory_bytes == GIB
    assert counted.placement.devices == (DeviceGrant("gpu", 0),)


def test_a_legal_pod_is_counted_as_it_is() -> None:
    """
    Also one that holds something else than it asks for: that is for other rules to say.
    """
    fine = running(one(Resources(3000), LSR), cpuset=frozenset({0}))

    assert running_pod_counted_as_legal(fine) is fine


def test_its_own_cpus_stay_its_own() -> None:
    """
    Those of its place, however many it asks for; a CPU that it does not own is free.
    """
    left = len(ONLINE) - 2
    bad = running(ILLEGAL["half a CPU of its own"], cpuset=frozenset({0, 128}))

    fits = answer_to(waiting("all", Resources(1000 * left), LSR), beside=bad)
    beyond = answer_to(waiting("all", Resources(1000 * left + 1000), LSR), beside=bad)

    assert isinstance(fits, Placed)
    assert fits.placement.pods[0].cpuset == ONLINE - {0, 128}
    assert isinstance(beyond, Infeasible)


def test_an_owner_without_a_cpu_counts_in_the_shared_pool() -> None:
    """
    Its request does, as that of an LS pod.
    """
    bad = running(ILLEGAL["half a CPU of its own"])
    total = 1000 * len(ONLINE)

    assert isinstance(answer_to(waiting("p", Resources(total - 1500)), beside=bad), Placed)
    assert isinstance(answer_to(waiting("p", Resources(total - 1400)), beside=bad), Infeasible)


LESS_THAN_NOTHING = {
    "CPU": (one(Resources(-4000)), {}, Resources(1000 * len(ONLINE) + 1000)),
    "memory": (
        one(Resources(0, -(1 << 40))),
        {"memory_bytes": ((0, -(1 << 40)),)},
        Resources(0, sum(NODE.memory_bytes_in().values()) + GIB),
    ),
    "hugepages": (
        one(Resources(hugepages=(Hugepages(1 << 21, -8),))),
        {"hugepages": ((0, 1 << 21, -8),)},
        Resources(hugepages=(Hugepages(1 << 21, 1),)),
    ),
    "a resource": (
        one(Resources(extended=(("licences", -4),))),
        {},
        Resources(extended=(("licences", 5),)),
    ),
    "a share of a GPU": (
        ILLEGAL["a negative share"],
        {"devices": (DeviceGrant("gpu", 0, "", DeviceShare(percent=-50, memory_percent=-50)),)},
        Resources(devices=(DeviceRequest("gpu", 8, DeviceShare(memory_percent=1)),)),
    ),
    "CPU beside CPU of another container": (
        PodSpec((Container("a", Resources(-9000)), Container("b", Resources(1000)))),
        {},
        Resources(1000 * len(ONLINE)),
    ),
}
"""What asks for less than nothing, what it is said to hold, and what is more than there is."""


@pytest.mark.parametrize("options", [GREEDY, EXACT], ids=["greedy", "exact"])
@pytest.mark.parametrize(
    ("spec", "held", "more"), LESS_THAN_NOTHING.values(), ids=LESS_THAN_NOTHING
)
def test_who_asks_for_less_than_nothing_leaves_no_more_than_there_is(
    spec: PodSpec, held: dict[str, object], more: Resources, options: SolveOptions
) -> None:
    """
    An amount below 0 counts as 0, in the solver and in the judge.
    """
    bad = running(spec, **held)

    assert isinstance(answer_to(waiting("p", more), beside=bad, options=options), Infeasible)


def test_a_device_of_an_impossible_share_is_given_to_nobody() -> None:
    """
    All of it counts as held, whatever of it was meant; a share that is possible stays a share.
    """
    wrong = DeviceGrant("gpu", 0, "", DeviceShare(percent=150, memory_percent=150))
    right = DeviceGrant("gpu", 1, "", DeviceShare(memory_percent=30))
    requests = (DeviceRequest("gpu", 1, wrong.share), DeviceRequest("gpu", 1, right.share))
    bad = running(one(Resources(devices=requests)), devices=(wrong, right))
    share = DeviceShare(memory_percent=70)

    left = account_of(NODE, [running_pod_counted_as_legal(bad)]).devices
    answer = answer_to(
        waiting("p", Resources(devices=(DeviceRequest("gpu", 7, share),))), beside=bad
    )
    too_many = answer_to(
        waiting("p", Resources(devices=(DeviceRequest("gpu", 8, share),))), beside=bad
    )

    assert {minor for kind, minor in left.free if kind == "gpu"} == set(range(2, 8))
    assert left.shared.keys() == {("gpu", 1)}
    assert isinstance(answer, Placed)
    assert answer.placement.pods[0].minors("gpu") == (1, 2, 3, 4, 5, 6, 7)
    assert isinstance(too_many, Infeasible)


def test_whom_it_keeps_off_is_kept_off() -> None:
    """
    Its wishes about others count, as they do for any pod that runs.
    """
    away = AffinityTerm((("app", "web"),), apart=True)
    bad = running(
        replace(ILLEGAL["half a CPU of its own"], affinity=(away,)), cpuset=frozenset({0, 1})
    )
    web = replace(waiting("web", Resources(1000)), spec=one(Resources(1000), labels=away.labels))

    assert isinstance(answer_to(web, beside=bad), Infeasible)
    assert isinstance(answer_to(waiting("other", Resources(1000)), beside=bad), Placed)


def test_its_ports_stay_its_own() -> None:
    """
    Nobody else gets a port of the node that it has, whatever is illegal about it.
    """
    ports = (HostPort(80),)
    half = ILLEGAL["half a CPU of its own"]
    bad = running(replace(half, host_ports=ports), cpuset=frozenset({0, 1}))
    web = replace(waiting("web", Resources(1000)), spec=one(Resources(1000), host_ports=ports))

    assert isinstance(answer_to(web, beside=bad), Infeasible)
    assert isinstance(answer_to(waiting("other", Resources(1000)), beside=bad), Placed)


@pytest.mark.parametrize("rule", NODE_RESOURCES)
def test_it_holds_the_amounts_of_nodes_that_it_asks_for(rule: str) -> None:
    """
    Whatever a node has as a whole is held by an illegal pod as by any other.
    """
    asked = one(
        Resources(1500, extended=(("licences", 2),)), LSR, host_ports=(HostPort(80, ip="10.0.0.7"),)
    )
    assert illegality_text(running(asked))
    wanted = NODE_RESOURCES[rule].wanted

    counted = running_pod_counted_as_legal(running(asked, cpuset=frozenset({0, 1})))

    assert dict(wanted(counted.pod.spec)) == dict(wanted(asked)) != {}


def test_it_keeps_apart_by_the_cpus_that_it_owns() -> None:
    """
    Under an exclusive policy, too.
    """
    apart = {
        "exclusive": ExclusivePolicy.NUMA_NODE_LEVEL,
        "exclusive_strength": one(Resources(), LSR).bind_strength.REQUIRED,
    }
    bad = running(replace(ILLEGAL["half a CPU of its own"], **apart), cpuset=frozenset({0, 128}))
    asked = Pod("p", "default", one(Resources(1000), LSR, **apart))

    answer = expect(Placed, answer_to(asked, beside=bad))

    cpu = NODE.machine.topology.cpu
    own = {cpu[c].numa_node for c in answer.placement.pods[0].cpuset}
    assert cpu[0].numa_node not in own


def test_all_containers_of_an_owner_have_all_of_its_cpus() -> None:
    """
    Which of them has which is not said by what no pod may ask for.
    """
    spec = PodSpec(
        (
            Container("init", Resources(500), ContainerRole.INIT),
            Container("a", Resources(1500)),
            Container("b", Resources(500)),
        ),
        LSR,
    )
    counted = running_pod_counted_as_legal(running(spec, cpuset=frozenset({0, 1})))

    assert [(c.name, c.role, c.requests.cpu_milli) for c in counted.pod.spec.containers] == [
        ("init", ContainerRole.INIT, 0),
        ("a", ContainerRole.APP, 2000),
        ("b", ContainerRole.APP, 0),
    ]
    assert {part.name: part.cpuset for part in counted.placement.containers} == dict.fromkeys(
        ("init", "a", "b"), frozenset({0, 1})
    )


def test_it_never_moves() -> None:
    """
    However many may, and whatever is gained by it.
    """
    bad = running(ILLEGAL["half a CPU of its own"], cpuset=frozenset({0, 1}))
    asked = lone(waiting("p", Resources(1000 * len(ONLINE)), LSR))
    other = replace(NODE, name="o", machine=replace(load_machine("dgx-spark"), name="o"))
    instance = Instance((NODE, other), (asked,), running=(bad,), move_budget=5)

    assert isinstance(solve(instance, EXACT), Infeasible)

    home = replace(bad.placement, node="o")
    assert breaches(instance, Placement((home,)))


def test_a_pod_that_says_itself_what_is_illegal_is_believed() -> None:
    """
    As a reader that met what no spec can say.
    """
    bad = replace(running(one(Resources(1000)), cpuset=ONLINE), illegal="a.yaml:3: gpu 150")

    (misfit,) = Scheduler([NODE], [bad]).misfits()

    assert (misfit.rule, misfit.message) == ("legal", "pod 'bad' is illegal: a.yaml:3: gpu 150")


def spoilt(rng: Random, runner: RunningPod) -> RunningPod:
    """Return a running pod that asks for what no pod may ask for, and holds what it held."""
    spec = runner.pod.spec
    first, *others = spec.containers
    asked = first.requests
    bad = [
        lambda: replace(asked, cpu_milli=asked.cpu_milli + 500 if spec.qos.owns_cpus else -3000),
        lambda: replace(asked, memory_bytes=-asked.memory_bytes - 1),
        lambda: replace(asked, extended=(("tokens", -7),)),
        lambda: replace(asked, devices=(*asked.devices, DeviceRequest("gpu", -3))),
    ]
    first = replace(first, requests=rng.choice(bad)())
    spec = replace(spec, containers=(first, *others), strategies=())
    if rng.random() < 0.3:
        spec = replace(spec, containers=(*spec.containers, spec.containers[0]))
    return replace(runner, pod=replace(runner.pod, spec=spec))


def check_world(seed: int, options: SolveOptions) -> int:
    """Solve a world whose running pods are illegal; return how many of them are."""
    rng, instance = Random(f"running-{seed}"), mixed_instance(seed)
    bad = tuple(spoilt(rng, r) if rng.random() < 0.7 else r for r in instance.running)
    instance = replace(instance, running=bad)
    illegal = {runner.pod.key for runner in bad if illegality_text(runner)}

    answer = solve(instance, options)

    named = {misfit.pod for misfit in misfits_of_instance(instance) if misfit.rule == "legal"}
    assert named == illegal
    if isinstance(answer, Placed | PartlyPlaced):
        assert breaches(instance, answer.placement) == ()
        placed = answer.placement.pods
        assert illegal.isdisjoint(place.key for place in placed)
        check_nothing_twice(instance, placed)
    return len(illegal)


def check_nothing_twice(instance: Instance, placed: Iterable[PodPlacement]) -> None:
    """Count, by plain sums over what places say, that nobody has what a running pod holds."""
    pods = {pod.key: pod for gang in instance.gangs for pod in gang.pods}
    new = {place.key for place in placed}
    runs = [(r.pod.spec, r.placement) for r in instance.running if r.pod.key not in new]
    pods |= {runner.pod.key: runner.pod for runner in instance.running}
    came = [(pods[place.key].spec, place) for place in placed]
    for node in instance.nodes:
        there, here = ([(s, p) for s, p in some if p.node == node.name] for some in (runs, came))
        taken = Counter(c for s, p in there if s.qos.owns_cpus for c in p.cpuset)
        given = Counter(c for s, p in here if s.qos.owns_cpus for c in p.cpuset)
        assert not given & taken
        assert max(given.values(), default=0) <= 1
        memory = Counter(node.memory_bytes_in())
        for _, place in (*there, *here):
            memory.subtract({numa: max(0, amount) for numa, amount in place.memory_bytes})
        added = {numa for _, place in here for numa, amount in place.memory_bytes if amount}
        assert all(memory[numa] >= 0 for numa in added)
        whole = Counter((g.type, g.minor) for _, p in here for g in p.devices if g.share is None)
        held = {(g.type, g.minor) for _, p in there for g in p.devices}
        assert held.isdisjoint(whole)
        assert max(whole.values(), default=0) <= 1
        asked = sum(max(0, c.requests.amount_of("tokens")) for s, _ in here for c in s.containers)
        assert asked <= dict(node.extended).get("tokens", 0)


@pytest.mark.parametrize("batch", range(BATCHES))
def test_worlds_with_illegal_running_pods(batch: int) -> None:
    """
    The fast path answers, names who is illegal, and gives nothing out twice.
    """
    seeds = range(batch, 20 * BATCHES, BATCHES)
    assert sum(check_world(seed, GREEDY) for seed in seeds) > 0


@pytest.mark.check
@pytest.mark.parametrize("batch", range(BATCHES))
def test_worlds_with_illegal_running_pods_exactly(batch: int) -> None:
    """
    So does the exact search.
    """
    for seed in range(5_000 + batch, 5_000 + 8 * BATCHES, BATCHES):
        check_world(seed, EXACT)


def test_a_node_is_told_what_is_counted_of_it() -> None:
    """
    The document of its node has it with the CPUs that it owns, and nothing is wrong with that.
    """
    bad = running(ILLEGAL["half a CPU of its own"], cpuset=frozenset({0, 1}))
    instance = Instance((NODE,), (), running=(bad,))

    document = placement_of_node(NODE, instance, Placement())

    assert node_placement_faults(document) == ()
    (target,) = desired_container_cgroups(document)
    assert (target.title, target.cpus) == ("bad/main", frozenset({0, 1}))


@pytest.mark.parametrize("spec", ILLEGAL.values(), ids=ILLEGAL)
def test_a_file_has_what_is_counted_of_it(spec: PodSpec, tmp_path: Path) -> None:
    """
    So it can be read again, and leaves just as much.
    """
    bad = running(spec, cpuset=frozenset({0, 1}) if spec.qos.owns_cpus else ONLINE)
    instance = Instance((NODE,), (), running=(bad,))
    file = tmp_path / "a.json"
    file.write_text(json.dumps(instance_to_dict(instance, is_catalogue_machine)))

    read = load_instance([file])

    (again,) = read.running
    assert not illegality_text(again)
    assert (
        account_of(NODE, [again]).resources
        == account_of(NODE, [running_pod_counted_as_legal(bad)]).resources
    )
    assert (
        account_of(NODE, [again]).cores
        == account_of(NODE, [running_pod_counted_as_legal(bad)]).cores
    )
    assert (
        account_of(NODE, [again]).pools
        == account_of(NODE, [running_pod_counted_as_legal(bad)]).pools
    )
