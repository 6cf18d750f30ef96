"""The edges of the environment of containers, and of whose their devices are."""

from collections.abc import Sequence
from dataclasses import replace

from judge.cases_containers import APP, HALF, INIT, SIDECAR, apart
from judge.hand import ALL_CPUS, MACHINE, Edge, asks, node, put, sees, world
from placer_models.cluster import Machine
from placer_models.cpuset import parse_cpu_list
from placer_models.device import Device
from placer_models.device_share import DeviceShare
from placer_models.environment import Env
from placer_models.placement import ContainerPlacement, DeviceGrant, PodPlacement
from placer_models.pod import DeviceRequest, Resources
from placer_models.policy import AlignmentPolicy
from placer_models.visible_devices import UNNAMED_GPUS

NVIDIA, AMD = "NVIDIA_VISIBLE_DEVICES", "AMD_VISIBLE_DEVICES"
FREE = AlignmentPolicy.NONE


def with_gpus(*gpus: Device) -> Machine:
    return replace(MACHINE, devices=gpus, gpu_links=None)


MIXED = with_gpus(Device("gpu", 0, id="GPU-a"), Device("gpu", 1, id="0x1f", model="MI300X"))
PARTITIONS = with_gpus(*(Device("gpu", i, id="0xabc", model="MI300A-XCD") for i in range(2)))
PLAIN = with_gpus(Device("rdma", 0))
CUT = replace(
    node(machine=with_gpus(Device("gpu", 0, id="GPU-a", model="A100-SXM4-40GB"))),
    mig=((0, "A100-40GB"),),
)

LONE = world(apart((APP, asks(gpus=1)), policy=FREE, scope=None))
TWO = apart((APP, asks(gpus=2)), (APP, asks()), (APP, asks(gpus=1)), policy=FREE, scope=None)
REUSE = apart((INIT, asks(gpus=2)), (APP, asks(gpus=1)), policy=FREE, scope=None)
GUARDED = apart(
    (SIDECAR, asks(gpus=1)), (INIT, asks(gpus=1)), (APP, asks(gpus=1)), policy=FREE, scope=None
)
NONE = apart((APP, asks()), policy=FREE, scope=None)
BOTH = world(apart((APP, asks(gpus=2)), policy=FREE, scope=None), nodes=[node(machine=MIXED)])
ONE_OF_BOTH = world(
    apart((APP, asks(gpus=1)), policy=FREE, scope=None), nodes=[node(machine=MIXED)]
)
SHARING = apart(
    (APP, Resources(devices=(DeviceRequest("gpu", 1, HALF),))),
    (APP, asks()),
    policy=FREE,
    scope=None,
)
COUNTED = world(
    apart((APP, asks(gpus=1)), (APP, asks()), policy=FREE, scope=None),
    nodes=[node(machine=with_gpus(Device("gpu", 0)), labels=dict([UNNAMED_GPUS]))],
)
INSTANCE = apart(
    (APP, Resources(devices=(DeviceRequest("mig-3g.20gb", 1),))), policy=FREE, scope=None
)


def has(*gpus: int, env: Env | None = None, share: DeviceShare | None = None) -> ContainerPlacement:
    """Return what one container has, by default shown its GPUs by minor."""
    grants = tuple(DeviceGrant("gpu", minor, share=share) for minor in gpus)
    cpus = parse_cpu_list(ALL_CPUS)
    return ContainerPlacement("", cpus, devices=grants, env=sees(*gpus) if env is None else env)


def of(*parts: ContainerPlacement, gpus: Sequence[int], env: Env = ()) -> PodPlacement:
    """Return the place of pod ``a`` with what its containers c0, c1, ... have."""
    named = tuple(replace(part, name=f"c{i}") for i, part in enumerate(parts))
    return replace(put("a", ALL_CPUS, gpus=gpus), containers=named, env=env)


def instance(env: Env) -> PodPlacement:
    grant = DeviceGrant("mig-3g.20gb", 0)
    return replace(of(has(env=env), gpus=()), devices=(grant,))


ENVIRONMENT_EDGES = {
    "container-parts: each container has as many devices as it asks for, without any policy": Edge(
        world(TWO),
        good=of(has(0, 1), has(), has(2), gpus=range(3)),
        bad=of(has(0), has(), has(2), gpus=range(3)),
    ),
    "container-parts: one that asks for none has none": Edge(
        world(TWO),
        good=of(has(0, 1), has(), has(2), gpus=range(3)),
        bad=of(has(0, 1), has(1), has(2), gpus=range(3)),
    ),
    "container-parts: containers that run together have no device in common": Edge(
        world(TWO),
        good=of(has(0, 2), has(), has(1), gpus=range(3)),
        bad=of(has(0, 1), has(), has(1), gpus=range(3)),
    ),
    "container-parts: what a container has its pod has": Edge(
        world(TWO),
        good=of(has(0, 1), has(), has(2), gpus=range(3)),
        bad=of(has(0, 1), has(), has(3), gpus=range(3)),
    ),
    "container-parts: an init container has again what a later one has": Edge(
        world(REUSE),
        good=of(has(0, 1), has(1), gpus=[0, 1]),
        bad=of(has(0, 1), has(1, 0), gpus=[0, 1]),
    ),
    "container-parts: but nothing of a sidecar before it": Edge(
        world(GUARDED),
        good=of(has(0), has(1), has(1), gpus=[0, 1]),
        bad=of(has(0), has(0), has(1), gpus=[0, 1]),
    ),
    "container-parts: a container has the share that its pod has": Edge(
        world(SHARING),
        good=replace(
            of(has(0, share=HALF), has(), gpus=()), devices=(DeviceGrant("gpu", 0, share=HALF),)
        ),
        bad=replace(of(has(0), has(), gpus=()), devices=(DeviceGrant("gpu", 0, share=HALF),)),
    ),
    "environment: a container is shown its GPUs by id or by minor, and not its neighbour's": Edge(
        world(TWO),
        good=of(has(0, 1, env=((NVIDIA, "GPU-1,GPU-0"),)), has(), has(2), gpus=range(3)),
        bad=of(has(0, 1, env=((NVIDIA, "GPU-0,GPU-2"),)), has(), has(2), gpus=range(3)),
    ),
    "environment: one without GPUs is told so: unset is not none": Edge(
        world(TWO),
        good=of(has(0, 1), has(), has(2), gpus=range(3)),
        bad=of(has(0, 1), has(env=()), has(2), gpus=range(3)),
    ),
    "environment: and not that it sees all": Edge(
        world(NONE), good=of(has(), gpus=()), bad=of(has(env=((NVIDIA, "all"),)), gpus=())
    ),
    "environment: nor is it told nothing at all": Edge(
        world(NONE), good=of(has(), gpus=()), bad=of(has(env=((NVIDIA, ""),)), gpus=())
    ),
    "environment: a GPU is named once": Edge(
        LONE, good=of(has(3), gpus=[3]), bad=of(has(3, env=((NVIDIA, "3,GPU-3"),)), gpus=[3])
    ),
    "environment: what all containers agree on may stand at the pod": Edge(
        LONE,
        good=of(has(3, env=()), gpus=[3], env=sees(3)),
        bad=of(has(3, env=()), gpus=[3], env=sees(2)),
    ),
    "environment: what they do not agree on does not": Edge(
        world(TWO),
        good=of(has(0, 1), has(), has(2), gpus=range(3)),
        bad=of(has(0, 1), has(), has(2), gpus=range(3), env=sees(0, 1)),
    ),
    "environment: a node without GPUs needs no variable, and shows none": Edge(
        world(NONE, nodes=[node(machine=PLAIN)]),
        good=of(has(env=()), gpus=()),
        bad=of(has(env=((NVIDIA, "0"),)), gpus=()),
    ),
    "environment: each vendor's runtime is told its own GPUs": Edge(
        BOTH,
        good=of(has(0, 1, env=((AMD, "0x1f"), (NVIDIA, "GPU-a"))), gpus=[0, 1]),
        bad=of(has(0, 1, env=((NVIDIA, "GPU-a,0x1f"),)), gpus=[0, 1]),
    ),
    "environment: also that there is none of its own": Edge(
        ONE_OF_BOTH,
        good=of(has(1, env=((AMD, "1"), (NVIDIA, "none"))), gpus=[1]),
        bad=of(has(1, env=((AMD, "1"),)), gpus=[1]),
    ),
    "environment: an id that several partitions have names none of them": Edge(
        world(
            apart((APP, asks(gpus=1)), policy=FREE, scope=None), nodes=[node(machine=PARTITIONS)]
        ),
        good=of(has(1, env=((AMD, "1"),)), gpus=[1]),
        bad=of(has(1, env=((AMD, "0xabc"),)), gpus=[1]),
    ),
    (
        "environment: GPUs that are only counted are named by nobody, and who has none is told so"
    ): Edge(
        COUNTED,
        good=of(has(0, env=()), has(env=((NVIDIA, "none"),)), gpus=[0]),
        bad=of(has(0), has(env=((NVIDIA, "none"),)), gpus=[0]),
    ),
    "environment: a MIG instance has no name before it is cut": Edge(
        world(INSTANCE, nodes=[CUT]), good=instance(()), bad=instance(sees())
    ),
}
