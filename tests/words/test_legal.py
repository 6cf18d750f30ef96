"""What no pod may ask for is bad input, through files, `solve` and the Scheduler alike."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from placer.load import load_instance
from placer.scheduler import Scheduler
from placer.scheduling.decision import Batch
from placer.scheduling.errors import BadPodError, SchedulerError
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.affinity import AffinityTerm, InNodeAffinityLevel
from placer_models.capacity import DeviceQuantity, DeviceQuantityUnit
from placer_models.cluster import Instance, Node
from placer_models.device_share import DeviceShare
from placer_models.files.errors import InputError
from placer_models.legal import IllegalPodError, check_pods_legal, spec_faults
from placer_models.machines.catalogue import load_machine
from placer_models.pod import (
    Container,
    ContainerRole,
    DeviceRequest,
    Gang,
    Pod,
    PodSpec,
    Resources,
    lone_gang,
)
from placer_models.policy import (
    BindPolicy,
    ExclusivePolicy,
    QosClass,
    RequiredOrPreferred,
    SameTypeDevicesScope,
)

GREEDY = SolveOptions(engine=Engine.GREEDY, workers=1)
NODE = Node("n", load_machine("dgx-a100"))
LSE, LSR, LS, BE = QosClass.LSE, QosClass.LSR, QosClass.LS, QosClass.BE
HALF = DeviceShare(memory_percent=50)


def spec(
    cpu_milli: int = 1000,
    *,
    limit: int | None = None,
    share: DeviceShare | None = None,
    of: str = "gpu",
    **rest: Any,
) -> PodSpec:
    """Return a pod of one container; with a share, it asks for one device in part."""
    devices = (DeviceRequest(of, 1, share),) if share else ()
    asked = Resources(cpu_milli, devices=devices)
    return PodSpec((Container("main", asked, cpu_limit_milli=limit),), **rest)


ILLEGAL = {
    "half a CPU (C3)": (
        spec(1500, qos=LSR),
        "containers[0].requests.cpu_milli is 1500: got 1.5 CPUs; LSR pods ask for a whole number",
    ),
    "no CPU (C3)": (spec(0, qos=LSE), "qos is 'LSE': LSE pods own CPUs; ask for one or more"),
    "a limit above (C3)": (
        spec(2000, limit=3000, qos=LSR),
        "cpu_limit_milli is 3000: got 3 CPUs; the CPU limit of LSR pods equals the request, 2",
    ),
    "a limit below (C3)": (spec(2000, limit=1000, qos=LSE), "got 1 CPU; the CPU limit of LSE"),
    "a limit below the request of a shared pod": (
        spec(2000, limit=1000),
        "cpu_limit_milli is 1000: got 1 CPU; expected at least the request",
    ),
    "spread on Arm (C13)": (
        spec(
            qos=LSR,
            bind=BindPolicy.SPREAD_BY_PCPUS,
            node_selector=(("kubernetes.io/arch", "arm64"),),
        ),
        "bind is 'SpreadByPCPUs': it asks for nodes of aarch64, where pods take whole cores",
    ),
    "apart by core on Arm (C13)": (
        spec(
            qos=LSR,
            exclusive=ExclusivePolicy.PCPU_LEVEL,
            node_selector=(("kubernetes.io/arch", "aarch64"),),
        ),
        "exclusive is 'PCPULevel': it asks for nodes of aarch64, where pods keep apart by NUMA",
    ),
    "more than a device in part (D4)": (
        spec(share=DeviceShare(150, memory_percent=50)),
        "devices[0].share.percent is 150: the pod asks for 150 percent of each device",
    ),
    "compute alone (D4)": (spec(share=DeviceShare(50)), "a share of a GPU names its memory"),
    "memory in two ways (D4)": (
        spec(share=DeviceShare(None, 2**30, 50)),
        "memory and memoryPercent say the same",
    ),
    "memory of a NIC (D4)": (
        spec(share=DeviceShare(memory_percent=50), of="rdma"),
        "devices of type 'rdma' have no memory to share; they share percent",
    ),
    "part of an instance": (
        spec(share=DeviceShare(50), of="mig-1g.5gb"),
        "there are no shares of mig-1g.5gb",
    ),
    "what GPUs do not share": (
        spec(share=DeviceShare(50, None, 50, (DeviceQuantity("huawei.com/npu-cpu", 1),))),
        "devices of type 'gpu' have no huawei.com/npu-cpu to share; they share percent, memory",
    ),
    "nothing of a disk": (
        spec(share=DeviceShare(), of="disk"),
        "a share of a device of type 'disk' says how much; add 'percent', 'memory' or 'capacity'",
    ),
    "percent and an amount of a disk": (
        spec(share=DeviceShare(50, capacity=(DeviceQuantity("space", 1),)), of="disk"),
        "percent of a device of type 'disk' are of all that it has; ask for percent, or for",
    ),
    "a quantity below 1": (
        spec(share=DeviceShare(capacity=(DeviceQuantity("space", -1),)), of="disk"),
        "the pod asks for -1 of space; expected 1 to",
    ),
    "a quantity above 100 percent": (
        spec(
            share=DeviceShare(
                capacity=(DeviceQuantity("engine", 101, DeviceQuantityUnit.PERCENT),)
            ),
            of="disk",
        ),
        "the pod asks for 101% of engine; expected 1% to 100%",
    ),
    "a quantity twice": (
        spec(
            share=DeviceShare(capacity=(DeviceQuantity("space", 1), DeviceQuantity("space", 2))),
            of="disk",
        ),
        "expected each quantity once, ascending by name",
    ),
    "apart without CPUs": (
        spec(exclusive=ExclusivePolicy.PCPU_LEVEL, exclusive_strength=RequiredOrPreferred.REQUIRED),
        "exclusive is 'PCPULevel': the qos of this pod is LS; exclusive needs CPUs of its own",
    ),
    "on cores without CPUs": (
        spec(qos=BE, affinity=(AffinityTerm((("a", "b"),), level=InNodeAffinityLevel.CORE),)),
        "affinity[0].level is 'core': the qos of this pod is BE; level core needs CPUs",
    ),
    "no app": (
        PodSpec((Container("main", Resources(), ContainerRole.INIT),)),
        "containers is ('main',): none has the role 'app'",
    ),
    "less than nothing": (spec(-1), "container 'main' asks for -1 cpu_milli"),
    "shares at two containers (D4)": (
        PodSpec(
            (
                Container("a", Resources(1000, devices=(DeviceRequest("gpu", 1, HALF),))),
                Container("b", Resources(devices=(DeviceRequest("gpu", 1),)), ContainerRole.INIT),
            )
        ),
        "containers is ('a', 'b'): the containers a, b ask for devices of type 'gpu', and for "
        "shares; write all that the pod wants of the type at one of them",
    ),
    "two scopes": (
        spec(scopes=(("gpu", SameTypeDevicesScope.PCIE), ("gpu", SameTypeDevicesScope.NODE))),
        "scopes for devices of the types gpu, gpu",
    ),
}

LEGAL = {
    "whole CPUs": spec(2000, limit=2000, qos=LSR),
    "none in one of its containers": PodSpec(
        (Container("a", Resources(1000)), Container("b", Resources())), qos=LSE
    ),
    "a pool pod of half a CPU": spec(500, limit=2000),
    "spread elsewhere": spec(qos=LSR, bind=BindPolicy.SPREAD_BY_PCPUS),
    "a whole device, said as a share": spec(share=DeviceShare(50, memory_percent=100)),
    "part of a NIC": spec(share=DeviceShare(50), of="rdma"),
}


@pytest.mark.parametrize(("bad", "message"), ILLEGAL.values(), ids=ILLEGAL)
def test_the_library_refuses_an_illegal_pod(bad: PodSpec, message: str) -> None:
    """
    By name, with field, value and mend; the Scheduler's error is one of the Scheduler's, too.
    """
    pod = Pod("p", "team", bad)
    with pytest.raises(IllegalPodError) as by_solve:
        solve(Instance((NODE,), (lone_gang(pod),)), GREEDY)
    with pytest.raises(BadPodError) as by_scheduler:
        Scheduler((NODE,)).place(Batch((lone_gang(pod),)), 1, options=GREEDY)

    assert str(by_solve.value) == str(by_scheduler.value)
    assert str(by_solve.value).startswith("pod 'team/p': ")
    assert message in str(by_solve.value)
    assert by_solve.value.pod == ("team", "p")
    assert isinstance(by_scheduler.value, SchedulerError)
    assert isinstance(by_scheduler.value, IllegalPodError)


@pytest.mark.parametrize("good", LEGAL.values(), ids=LEGAL)
def test_a_legal_pod_is_asked_nothing(good: PodSpec) -> None:
    """
    On the other side of each edge.
    """
    assert list(spec_faults(good)) == []


def test_arm_is_asked_of_files_by_their_nodes() -> None:
    """
    Where every node is Arm; elsewhere it is a matter of nodes, and of reasons.
    """
    spread = spec(qos=LSR, bind=BindPolicy.SPREAD_BY_PCPUS)

    (fault,) = spec_faults(spread, on_arm_alone=True)
    assert (fault.path, fault.value) == ("bind", BindPolicy.SPREAD_BY_PCPUS)
    assert fault.message.startswith("every node is aarch64")


def test_the_second_of_two_pods_is_named() -> None:
    """
    A gang whose members share a spec is looked at once, others each for themselves.
    """
    good, bad = spec(qos=LSR), spec(1, qos=LSR)
    pods = tuple(Pod(f"p{i}", "default", each) for i, each in enumerate((good, good, bad)))

    with pytest.raises(IllegalPodError, match=r"^pod 'p2': containers\[0\].requests.cpu_milli"):
        check_pods_legal(Gang("g", "default", pods, 3).pods, [NODE])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            "qos: LSR, requests: {cpu: 1500m}",
            "requests.cpu: got 1.5 CPUs; LSR pods ask for",
        ),
        ("qos: LSE, requests: {memory: 1Gi}", "qos: LSE pods own CPUs; ask for one or more"),
        ("qos: LSR, requests: {cpu: 2}, limits: {cpu: 3}", "limits.cpu: got 3 CPUs; the CPU limit"),
    ],
)
def test_files_say_the_same(words: str, message: str, tmp_path: Path) -> None:
    """
    In their own fields, with the line.
    """
    file = tmp_path / "a.yaml"
    file.write_text(
        "apiVersion: placer/v1\nkind: Instance\nnodes: [{name: n, machine: dgx-a100}]\n"
        f"pods: [{{name: p, {words}}}]\n"
    )

    with pytest.raises(InputError) as refused:
        load_instance([file])

    assert f"a.yaml:4: pods[0].{message}" in str(refused.value)


WRONG: dict[str, tuple[Any, str]] = {
    "a text for an amount": (lambda: Resources("16"), "Resources: cpu_milli is '16', of type str"),
    "a float for an amount": (lambda: Resources(1, 2.5), "memory_bytes is 2.5, of type float"),
    "truth for an amount": (lambda: Resources(True), "cpu_milli is True, of type bool"),
    "a text for a policy": (
        lambda: replace(spec(), qos="LSR"),
        "PodSpec: qos is 'LSR', of type str; expected QosClass",
    ),
    "a list of containers": (
        lambda: PodSpec([Container("a", Resources())]),
        "of type list; expected a tuple of Container",
    ),
    "a number for a name": (lambda: Pod(7, "default", spec()), "Pod: name is 7, of type int"),
    "an odd one out": (
        lambda: Resources(devices=(DeviceRequest("gpu", 1), "gpu")),
        "devices[1] is 'gpu', of type str; expected a tuple of DeviceRequest",
    ),
    "a count of halves": (lambda: DeviceRequest("gpu", 0.5), "count is 0.5, of type float"),
    "a label that is no text": (
        lambda: PodSpec((Container("a", Resources()),), labels=(("app", 1),)),
        "labels[0][1] is 1, of type int",
    ),
    "a pod for a gang": (
        lambda: Batch((Pod("p", "default", spec()),)),
        "gangs[0] is the pod 'p'; give it a gang of its own by lone_gang(pod)",
    ),
    "a gang for a batch's gangs": (
        lambda: Batch(lone_gang(Pod("p", "default", spec()))),
        "Batch: gangs is Gang(",
    ),
    "a name for a gang's pods": (
        lambda: Gang("g", "default", ("p",), 1),
        "pods[0] is 'p', of type str; expected a tuple of Pod",
    ),
}


@pytest.mark.parametrize(("make", "message"), WRONG.values(), ids=WRONG)
def test_a_word_of_the_wrong_type_names_the_argument(make: Any, message: str) -> None:
    """
    At once, and not somewhere in the middle of a solve.
    """
    with pytest.raises(TypeError) as refused:
        make()

    assert message in str(refused.value)
