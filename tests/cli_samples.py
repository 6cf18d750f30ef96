"""What the tests of the command draw: a busy cluster built from words, and a file."""

from io import StringIO
from pathlib import Path

from rich.console import Console, RenderableType

from placer_models.cluster import Instance, Node, RunningPod
from placer_models.cpuset import parse_cpu_list
from placer_models.machines.catalogue import load_machine
from placer_models.placement import ContainerPlacement, DeviceGrant, Placement, PodPlacement
from placer_models.pod import Container, DeviceRequest, Gang, Pod, PodSpec, Resources
from placer_models.policy import AlignmentPolicy, QosClass

GIB = 2**30

POOL = "1-7,12-15,18-47,56-111,120-127,129-135,140-143,146-175,184-239,248-255"
"""What the owners of ``busy`` leave of gpu-00."""

SMALL = """\
apiVersion: placer/v1
kind: Instance
metadata: {name: small}
nodes:
  - {name: "gpu-[0-1]", machine: dgx-1-v100}
gangs:
  - name: train
    pods:
      - {name: train, replicas: 2, qos: LSR, requests: {cpu: 4, memory: 8Gi, gpu: 2},
         limits: {cpu: 4}}
pods:
  - {name: web, requests: {cpu: 500m, memory: 1Gi}}
"""
"""An instance of two machines, a gang and a lone pod, all of which have a place."""

TOO_LARGE = SMALL + "  - {name: huge, requests: {gpu: 9}}\n"
"""The same with a pod that no node can hold."""


FOUR_CPUS = """\
apiVersion: placer/v1
kind: Instance
metadata: {name: w}
machines:
  - {name: small, numaNodes: [{id: 0, memory: 8Gi, cpus: "0-3"}]}
"""
"""The head of an instance of small machines."""

TWO_NUMA_NODES = """\
apiVersion: placer/v1
kind: Instance
metadata: {name: w}
machines:
  - name: small
    numaNodes:
      - {id: 0, memory: 8Gi, cpus: "0-3"}
      - {id: 1, memory: 8Gi, cpus: "4-7"}
"""
"""The head of an instance of machines of two NUMA nodes, which may have devices, too."""

ONE_CORDONED = (
    FOUR_CPUS
    + """\
nodes:
  - {name: a, machine: small}
  - {name: b, machine: small, cordoned: true}
pods:
  - {name: p, requests: {cpu: 3}}
  - {name: q, requests: {cpu: 3}}
"""
)
"""An instance of two pods, of which one would have a place on the node that is cordoned."""


def written(folder: Path, text: str, name: str = "instance.yaml") -> str:
    """Write a file; return its path as a command line has it."""
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return str(file)


def names_in(folder: Path) -> list[str]:
    """Return the names of all files in a folder, hidden ones too."""
    return sorted(file.name for file in folder.iterdir())


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
    return PodPlacement(
        name=who.name,
        namespace=who.namespace,
        gang=gang,
        node=node,
        cpuset=cpuset,
        containers=(ContainerPlacement("main", cpuset),),
        memory_bytes=tuple((numa, gib * GIB) for numa, gib in sorted(memory.items())),
        devices=(
            *(DeviceGrant("gpu", minor) for minor in gpu),
            *(DeviceGrant("rdma", minor) for minor in rdma),
        ),
    )


def lone(who: Pod, priority: int = 0) -> Gang:
    return Gang(who.name, who.namespace, (who,), 1, priority, lone=True)


def busy() -> tuple[Instance, Placement]:
    """Four DGX A100 with a gang, a service, web pods, batch, a running pod and trouble."""
    machine = load_machine("dgx-a100")
    kept = frozenset({0, 128})
    train = tuple(pod(f"train-{i}", 16, 64, 2, 1, QosClass.LSR) for i in range(3))
    api = pod("api", 8, 32, 0, 0, QosClass.LSE)
    web = tuple(pod(f"web-{i}", 2.5, 4) for i in range(4))
    batch = pod("batch", 30, 16, 0, 0, QosClass.BE, "jobs")
    old = pod("old", 4, 100, 1, 0, QosClass.LSR)
    instance = Instance(
        name="busy",
        nodes=(
            Node(
                name="gpu-00",
                machine=machine,
                labels=(("zone", "a"),),
                reserved_cpus=kept,
                alignment=AlignmentPolicy.RESTRICTED,
                unhealthy=frozenset({("gpu", 7)}),
            ),
            Node("gpu-01", machine, (("zone", "b"),), kept, cordoned=True),
            Node("gpu-02", machine, (), kept),
            Node("gpu-03", machine, (), kept),
            Node("gpu-04", machine, (), kept),
        ),
        gangs=(
            Gang("train", "default", train, 3, 10),
            lone(api, 5),
            *(lone(one) for one in web),
            lone(batch),
            lone(pod("huge", 500)),
        ),
        running=(RunningPod(old, place(old, "gpu-00", "16-17,144-145", {1: 100}, (2,))),),
    )
    placement = Placement(
        (
            place(train[0], "gpu-00", "48-55,176-183", {3: 64}, (0, 1), (0,), "train"),
            place(train[1], "gpu-00", "112-119,240-247", {7: 64}, (4, 5), (2,), "train"),
            place(train[2], "gpu-02", "48-55,176-183", {3: 64}, (0, 1), (0,), "train"),
            place(api, "gpu-00", "8-11,136-139", {0: 32}),
            *(place(one, "gpu-00", POOL, {0: 4}) for one in web),
            place(batch, "gpu-00", POOL, {2: 16}),
        )
    )
    return instance, placement


def text_of(drawing: RenderableType, width: int = 100) -> str:
    """Return a drawing as plain text; lines keep no trailing blanks."""
    console = Console(width=width, file=StringIO(), color_system=None, markup=False)
    console.print(drawing)
    lines = console.file.getvalue().splitlines()
    return "\n".join(line.rstrip() for line in lines)
