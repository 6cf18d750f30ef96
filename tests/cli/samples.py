"""Machines and answers for the tests of the command, built from words alone."""

from placer_models.cluster import Instance, Machine, Node, RunningPod
from placer_models.cpuset import parse_cpu_list
from placer_models.device import Device, LinkMatrix
from placer_models.placement import (
    ContainerPlacement,
    DeviceGrant,
    Placement,
    PodPlacement,
)
from placer_models.pod import Container, DeviceRequest, Gang, Pod, PodSpec, Resources
from placer_models.policy import AlignmentPolicy, CoreKind, QosClass
from placer_models.topology import Cpu, NumaNode, Topology

GIB = 2**30


def topology(
    packages: int = 2,
    numa_per_package: int = 1,
    cores_per_numa: int = 8,
    threads: int = 2,
    cores_per_llc: int | None = None,
    memory_gib: int = 64,
    offline: frozenset[int] = frozenset(),
    efficiency: range = range(0),
    adjacent: bool = False,
    memoryless: int = 0,
    distances: bool = True,
) -> Topology:
    numa = packages * numa_per_package
    cores = numa * cores_per_numa
    cpus = []
    for core in range(cores):
        node = core // cores_per_numa
        for thread in range(1 if core in efficiency else threads):
            cpus.append(
                Cpu(
                    id=core * threads + thread if adjacent else thread * cores + core,
                    core=core,
                    package=node // numa_per_package,
                    numa_node=node,
                    llc=core // cores_per_llc if cores_per_llc else node // numa_per_package,
                    kind=CoreKind.EFFICIENCY if core in efficiency else CoreKind.PERFORMANCE,
                )
            )
    cpus = [
        Cpu(c.id, c.core, c.package, c.numa_node, c.llc, c.kind, c.id not in offline) for c in cpus
    ]
    nodes = [NumaNode(i, memory_gib * GIB) for i in range(numa)]
    nodes += [NumaNode(numa + i, 0) for i in range(memoryless)]
    n = len(nodes)
    return Topology(
        "x86_64",
        tuple(sorted(cpus, key=lambda c: c.id)),
        tuple(nodes),
        tuple(
            tuple(
                10 if i == j else 12 if i // numa_per_package == j // numa_per_package else 32
                for j in range(n)
            )
            for i in range(n)
        )
        if distances
        else (),
    )


def links(kinds: list[list[str]], gb_per_s: dict[str, float], shared: bool = False) -> LinkMatrix:
    return LinkMatrix(
        tuple(range(len(kinds))),
        tuple(tuple(0 if k == "X" else round(gb_per_s[k] * 100) for k in row) for row in kinds),
        tuple(tuple(row) for row in kinds),
        shared,
    )


def all_to_all(n: int, kind: str, gb: float) -> LinkMatrix:
    return links([["X" if i == j else kind for j in range(n)] for i in range(n)], {kind: gb}, True)


def gpus(
    numa: list[int], model: str, gib: int, broken: frozenset[int] = frozenset()
) -> list[Device]:
    return [
        Device(
            "gpu", i, f"GPU-{i}", model, gib * GIB, i not in broken, node, None, None, f"sw{i // 2}"
        )
        for i, node in enumerate(numa)
    ]


def dgx_a100() -> Machine:
    return Machine(
        "dgx-a100",
        "NVIDIA DGX A100",
        topology(2, 4, 16, 2, 4, 128),
        (
            *gpus([3, 3, 1, 1, 7, 7, 5, 5], "A100-SXM4-40GB", 40),
            *(
                Device("rdma", i, f"mlx5_{i}", numa_node=n, pcie_switch=f"sw{i}")
                for i, n in enumerate([3, 1, 7, 5])
            ),
        ),
        all_to_all(8, "NV12", 300),
        ("a source",),
    )


DGX1V = [
    "X NV1 NV1 NV2 NV2 SYS SYS SYS",
    "NV1 X NV2 NV1 SYS NV2 SYS SYS",
    "NV1 NV2 X NV2 SYS SYS NV1 SYS",
    "NV2 NV1 NV2 X SYS SYS SYS NV1",
    "NV2 SYS SYS SYS X NV1 NV1 NV2",
    "SYS NV2 SYS SYS NV1 X NV2 NV1",
    "SYS SYS NV1 SYS NV1 NV2 X NV2",
    "SYS SYS SYS NV1 NV2 NV1 NV2 X",
]


def dgx1_v100() -> Machine:
    return Machine(
        "dgx1-v100",
        "NVIDIA DGX-1 with V100",
        topology(2, 1, 20, 2, None, 256),
        (*gpus([0, 0, 0, 0, 1, 1, 1, 1], "V100-SXM2", 16, frozenset({6})),),
        links([row.split() for row in DGX1V], {"NV2": 50, "NV1": 25, "SYS": 15.75}),
        ("a source",),
        "One GPU of this one is dead.",
    )


def workstation() -> Machine:
    return Machine(
        "hybrid",
        "A workstation of 8 P-cores and 16 E-cores",
        topology(1, 1, 24, 2, None, 64, efficiency=range(8, 24), adjacent=True),
    )


def power9() -> Machine:
    return Machine(
        "power9",
        "POWER9, SMT4",
        topology(2, 1, 20, 4, 2, 256, adjacent=True, offline=frozenset({1, 2, 3})),
    )


def gb200() -> Machine:
    return Machine(
        "gb200",
        "GB200 tray",
        topology(2, 1, 72, 1, None, 480, memoryless=32),
        tuple(gpus([0, 0, 1, 1], "GB200", 186)),
        all_to_all(4, "NV18", 900),
    )


def dgx2() -> Machine:
    return Machine(
        "dgx-2",
        "DGX-2",
        topology(2, 1, 24, 2, None, 768),
        tuple(gpus([0] * 8 + [1] * 8, "V100-SXM3-32GB", 32)),
        all_to_all(16, "NV6", 150),
    )


def mi300a() -> Machine:
    kinds = [
        ["X" if i == j else "SAME" if i // 6 == j // 6 else "XGMI" for j in range(24)]
        for i in range(24)
    ]
    return Machine(
        "mi300a-cpx",
        "4 APUs of 6 partitions",
        topology(4, 1, 24, 2, 8, 128),
        tuple(gpus([i // 6 for i in range(24)], "MI300A", 21)),
        links(kinds, {"SAME": 1000, "XGMI": 128}),
    )


def epyc() -> Machine:
    return Machine("epyc-nps1", "two EPYC of 64 cores", topology(2, 1, 64, 2, 8, 512))


def pod(
    name: str,
    cpu: float = 0,
    gib: int = 0,
    gpu: int = 0,
    rdma: int = 0,
    qos: QosClass = QosClass.LS,
    namespace: str = "default",
) -> Pod:
    devices = [DeviceRequest(k, n) for k, n in (("gpu", gpu), ("rdma", rdma)) if n]
    asked = Resources(round(cpu * 1000), gib * GIB, (), tuple(devices))
    return Pod(name, namespace, PodSpec((Container("main", asked),), qos))


def place(
    who: Pod,
    node: str,
    cpus: str,
    memory: dict[int, int],
    gpu: tuple[int, ...] = (),
    rdma: tuple[int, ...] = (),
    gang: str | None = None,
) -> PodPlacement:
    cpuset = parse_cpu_list(cpus)
    grants = [DeviceGrant("gpu", m) for m in gpu] + [DeviceGrant("rdma", m) for m in rdma]
    return PodPlacement(
        who.name,
        who.namespace,
        gang,
        node,
        cpuset,
        (ContainerPlacement("main", cpuset),),
        tuple((n, gib * GIB) for n, gib in sorted(memory.items())),
        (),
        tuple(grants),
    )


def lone(who: Pod, priority: int = 0) -> Gang:
    return Gang(who.name, who.namespace, (who,), 1, priority, lone=True)


def busy() -> tuple[Instance, Placement]:
    """Two DGX A100: a training gang, a service, batch, a running pod, and trouble."""
    train = tuple(pod(f"train-{i}", 16, 64, 2, 1, QosClass.LSR) for i in range(3))
    api = pod("api", 8, 32, 0, 0, QosClass.LSE)
    web = tuple(pod(f"web-{i}", 2.5, 4) for i in range(4))
    batch = pod("batch", 30, 16, 0, 0, QosClass.BE, "jobs")
    old = pod("old", 4, 100, 1, 0, QosClass.LSR)
    pool = "1-7,17-47,64-111,129-143,160-175,192-239"
    nodes = (
        Node(
            "gpu-00",
            dgx_a100(),
            (("zone", "a"),),
            frozenset({0, 128}),
            AlignmentPolicy.RESTRICTED,
            frozenset({("gpu", 7)}),
        ),
        Node("gpu-01", dgx_a100(), (("zone", "b"),), frozenset({0, 128}), cordoned=True),
        Node("gpu-02", dgx_a100(), (), frozenset({0, 128})),
        Node("gpu-03", dgx_a100(), (), frozenset({0, 128})),
    )
    instance = Instance(
        nodes,
        (
            Gang("train", "default", train, 3, 10),
            lone(api, 5),
            *(lone(w) for w in web),
            lone(batch),
            lone(pod("huge", 500)),
        ),
        (),
        (RunningPod(old, place(old, "gpu-00", "16,144,17,145", {1: 100}, (2,))),),
        "busy",
    )
    placement = Placement(
        (
            place(train[0], "gpu-00", "48-55,176-183", {3: 64}, (0, 1), (0,), "train"),
            place(train[1], "gpu-00", "112-119,240-247", {7: 64}, (4, 5), (2,), "train"),
            place(train[2], "gpu-02", "48-55,176-183", {3: 64}, (0, 1), (0,), "train"),
            place(api, "gpu-00", "8-11,136-139", {0: 32}),
            *(place(w, "gpu-00", pool, {0: 4}) for w in web),
            place(batch, "gpu-00", pool, {2: 16}),
        )
    )
    return instance, placement
