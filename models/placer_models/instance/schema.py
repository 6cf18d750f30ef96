"""The schema of an instance file: which fields there are, and their types."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, ConfigDict, Field

from placer_models.device import GPU
from placer_models.device_strategy import DeviceCountStrategy
from placer_models.files.part import Amount, AmountsByName, Id, Name, Part, PlacerFileMetadataPart
from placer_models.instance.demand_schema import ExpectedDemandPart
from placer_models.instance.fields import (
    Alignment,
    Amplification,
    Count,
    CpuList,
    DeviceCount,
    GpuList,
    Level,
    Localities,
    Minor,
    MoveBudget,
    NodeBind,
    OneOrSeveral,
    Pages,
    Percent,
    PodBindPolicy,
    PodExclusivePolicy,
    Priority,
    Switch,
)
from placer_models.instance.machine_schema import MachineFile
from placer_models.instance.wish_schema import (
    Bind,
    ExclusiveWish,
    HostPortPart,
    JointDevicesPart,
    NodeAffinityPart,
    OneOf,
    PodAffinityPart,
    RequiredOrPreferredPart,
    TaintPart,
    TolerationPart,
    TopologySpreadPart,
)
from placer_models.node_strategy import NodeStrategy
from placer_models.pod import ContainerRole
from placer_models.policy import (
    AlignmentScope,
    BindPolicy,
    DeviceChoicePolicy,
    NumaStrategy,
    PartitionPolicy,
    QosClass,
    SameTypeDevicesScope,
)


class CpuManagerPolicyOptionsPart(Part):
    """What the kubelet's CPU manager is told, in its own names."""

    model_config = ConfigDict(alias_generator=lambda name: name.replace("_", "-"))

    full_pcpus_only: Switch = False
    align_by_socket: Switch = False
    distribute_cpus_across_numa: Switch = False
    prefer_align_cpus_by_uncorecache: Switch = False


class KubeletConfigurationPart(Part):
    """The part of a node's KubeletConfiguration that says where CPUs come from."""

    cpu_manager_policy_options: CpuManagerPolicyOptionsPart = CpuManagerPolicyOptionsPart()


class InstanceNodePart(Part):
    """Nodes that are alike; the name may be a host list."""

    name: str = Field(description="One name, or many as a host list: gpu-[00-03].")
    machine: str = Field(
        description="A machine of the catalogue or of `machines`, or the path of a machine file."
    )
    labels: dict[str, str] = Field(default_factory=dict)
    domains: dict[Level, Name] = Field(default_factory=dict)
    reserved_cpus: CpuList = ""
    unpooled_cpus: CpuList = Field(
        default="", description="CPUs that no pod of a pool runs on, such as reserved ones."
    )
    cpu_bind_policy: NodeBind | None = None
    cpu_locality: Localities | None = None
    numa_allocate_strategy: NumaStrategy | None = None
    kubelet: KubeletConfigurationPart = KubeletConfigurationPart()
    numa_policy: Alignment | None = None
    numa_scope: AlignmentScope | None = None
    unhealthy_devices: dict[str, tuple[Minor, ...]] = Field(default_factory=dict)
    checkpoint_devices: dict[str, tuple[Minor, ...]] = Field(
        default_factory=dict,
        description="Given to nobody, as by a kubelet's checkpoint unknown pods may have them.",
    )
    cordoned: bool = False
    closed: bool = Field(default=False, description="Cordoned, as nobody knows what it still has.")
    hugepages: Pages = Field(
        default_factory=dict, description="Pages by NUMA node and size: {'0': {1Gi: 64}}."
    )
    partitions: tuple[GpuList, ...] | None = Field(
        default=None, description="Sets of GPUs, instead of the machine's: ['0-1', '2-3', '0-3']."
    )
    gpu_partition_policy: PartitionPolicy | None = None
    offered: bool = Field(
        default=False, description="Not there yet: the first pod that comes to it opens it."
    )
    extended: AmountsByName = Field(
        default_factory=dict,
        description="Resources that are plain amounts, such as licences: pods ask by the name.",
    )
    mig: dict[str, tuple[Minor, ...]] = Field(
        default_factory=dict, description="GPUs in MIG mode, by table: {H100-80GB: [0, 1]}."
    )
    cpu_amplification: Amplification = Field(
        default=1.0, description="As how many CPUs each CPU of the pools counts: 1.5."
    )
    taints: tuple[TaintPart, ...] = ()
    max_pods: Annotated[int, Field(ge=0, le=1_000_000)] | None = Field(
        default=None, description="Most pods, running ones included; without it any number."
    )


class DeviceSharePart(Part):
    """The same share of each of ``count`` devices of one type; entries mean different devices."""

    type: str = GPU
    count: DeviceCount = 1
    percent: Percent | None = Field(
        default=None, description="Of a GPU's compute; of any other device: of all of it."
    )
    memory: Amount | None = None
    memory_percent: Percent | None = None
    capacity: AmountsByName = Field(
        default_factory=dict,
        description="What else of each device: {space: 5Gi, bandwidth: 200}, as its machine says.",
    )


class ContainerPart(Part):
    """One container of a pod."""

    name: Name
    role: ContainerRole = ContainerRole.APP
    requests: AmountsByName = Field(default_factory=dict)
    limits: AmountsByName = Field(default_factory=dict)
    shares: tuple[DeviceSharePart, ...] = ()


class VariantPart(Part):
    """What a pod asks for on the nodes that have all these labels."""

    node_labels: dict[str, str] = Field(min_length=1)
    containers: tuple[ContainerPart, ...] = Field(min_length=1)


class PodSpecPart(Part):
    """What every pod may say: members of gangs, lone pods and running ones."""

    name: Name
    qos: QosClass | None = None
    requests: AmountsByName = Field(default_factory=dict)
    limits: AmountsByName = Field(default_factory=dict)
    shares: tuple[DeviceSharePart, ...] = ()
    containers: tuple[ContainerPart, ...] = ()
    cpu_bind_policy: Bind | None = None
    cpu_locality: Localities = ()
    cpu_exclusive_policy: ExclusiveWish | None = None
    numa_policy: Alignment | None = None
    numa_scope: AlignmentScope | None = None
    node_selector: dict[str, str] = Field(default_factory=dict)
    node_affinity: NodeAffinityPart | None = None
    tolerations: tuple[TolerationPart, ...] = ()
    labels: dict[str, str] = Field(default_factory=dict)
    affinity: PodAffinityPart | None = None
    anti_affinity: PodAffinityPart | None = None
    topology_spread: OneOrSeveral[TopologySpreadPart] = ()
    joint_allocate: JointDevicesPart | None = None
    vf_selector: dict[str, dict[str, OneOf]] = Field(
        default_factory=dict,
        description="By device type: labels of the virtual function that comes with each share.",
    )
    allocate_strategy: dict[str, DeviceCountStrategy] = Field(
        default_factory=dict,
        description="By device type: of how many devices the pod has what it asks of one.",
    )
    required_topology_scope: dict[str, SameTypeDevicesScope] = Field(default_factory=dict)
    variants: tuple[VariantPart, ...] = Field(
        (), description="Other devices that the pod asks for on some nodes; the first counts."
    )
    device_choice: DeviceChoicePolicy | None = Field(
        None, description="Which devices the pod would like its shares of."
    )
    host_ports: tuple[HostPortPart, ...] = Field(
        (), description="Ports of the node that the pod has for itself."
    )
    uid: Id | None = Field(
        None, description="As the kubelet names its cgroups. Without: cgroups of Placer's own."
    )


class GangMemberPart(PodSpecPart):
    """One member of a gang, or as many alike as there are replicas."""

    replicas: Count | None = None


class WaitingPodPart(GangMemberPart):
    """A pod that waits by itself, or as many alike as there are replicas."""

    namespace: Name = "default"
    priority: Priority = 0
    weight: Count = 1


class NetworkLevelPart(Part):
    """A level of the network, and the label that names a node's domain there."""

    level: Level
    label: str


class GangGatherPart(RequiredOrPreferredPart):
    """Levels at which a gang is in one domain, or would like to be."""

    expected = "levels with their strength, such as 'preferred: rack'"

    required: OneOrSeveral[Level] = ()
    preferred: OneOrSeveral[Level] = ()


def _gather(value: object) -> object:
    return {"required": value} if isinstance(value, str) else value


Gather = Annotated[
    GangGatherPart, BeforeValidator(_gather, json_schema_input_type=Level | GangGatherPart)
]
"""``node`` alone is a demand; ``{preferred: rack}`` is a wish."""


class GangLevelSpreadPart(RequiredOrPreferredPart):
    """Levels, each with the most members that one of its domains may have."""

    expected = "levels with their most, such as 'required: {rack: 2}'"

    required: dict[Level, Count] = Field(default_factory=dict)
    preferred: dict[Level, Count] = Field(default_factory=dict)


class GangTopologyPart(Part):
    """Where the members of a gang have to be, or would like to be, relative to each other."""

    name: Name
    namespace: Name = "default"
    gather: Gather | None = None
    spread: GangLevelSpreadPart | None = None
    multiples: dict[Level, Count] = Field(default_factory=dict)


class RunningGangPart(GangTopologyPart):
    """A gang that runs, and what its members ask of each other's places."""


class GangPart(GangTopologyPart):
    """Pods that run together or not at all."""

    minimum: Count | None = None
    priority: Priority = 0
    weight: Count = 1
    pods: tuple[GangMemberPart, ...] = Field(min_length=1)


class GangGroupPart(Part):
    """Gangs that run together or not at all."""

    name: Name
    namespace: Name = "default"
    gangs: tuple[str, ...] = Field(min_length=1)


class RunningPodPart(PodSpecPart):
    """A pod in its place."""

    namespace: Name = "default"
    node: str
    cpuset: CpuList | None = None
    memory: dict[str, Amount] | None = None
    hugepages: Pages | None = None
    memory_guessed: bool = Field(
        False, description="Whether memory and hugepages are said as a guess."
    )
    devices: dict[str, tuple[Minor, ...]] = Field(default_factory=dict)
    vfs: dict[str, dict[str, Minor]] = Field(
        default_factory=dict, description="Virtual functions by type and minor: {rdma: {'0': 3}}."
    )
    gang: Name | None = Field(None, description="Its gang, one of the runningGangs.")
    movable: bool = Field(True, description="Whether it may move where there is a moveBudget.")
    of_node: bool = Field(
        False, description="Whether it runs for its node and ends with it, as in a DaemonSet."
    )
    restarts_with: str = Field(
        "", description="The gang that it restarts with, where nothing is asked of its places."
    )


class DefaultsPart(Part):
    """What the scheduler is set to: it holds where neither a pod nor its node says anything."""

    cpu_bind_policy: BindPolicy | None = None
    cpu_exclusive_policy: PodExclusivePolicy | None = None
    numa_policy: Alignment | None = None
    numa_allocate_strategy: NumaStrategy | None = None


OTHER_SPELLINGS = {
    "defaultCPUBindPolicy": "defaults: {cpuBindPolicy: ...}",
    "gatherStrategy": "gather: {required: ...} or gather: {preferred: ...}",
    "minMember": "minimum",
    "minAvailable": "minimum",
    "nodeCpuBindPolicy": "cpuBindPolicy",
    "nodeName": "node",
    "podAffinity": "affinity: {required: {matchLabels: ...}}",
    "podAntiAffinity": "antiAffinity: {required: {matchLabels: ...}}",
    "podCountMultiple": "multiples: {LEVEL: ...}",
    "numaTopologyPolicy": "numaPolicy",
    "preferredCPUBindPolicy": "cpuBindPolicy: {preferred: ...}",
    "preferredCPUExclusivePolicy": "cpuExclusivePolicy: {preferred: ...}",
    "qosClass": "qos",
    "requiredCPUBindPolicy": "cpuBindPolicy: {required: ...}",
    "requiredCPUExclusivePolicy": "cpuExclusivePolicy: {required: ...}",
    "topologySpreadConstraints": "topologySpread: {topologyKey: ..., labelSelector: ...}",
    "unschedulable": "cordoned",
}

UNSUPPORTED = {
    "distribute-cpus-across-cores": "set cpuBindPolicy at the pods",
    "strict-cpu-reservation": "give the reserved CPUs as unpooledCpus, too",
}

_STRENGTH = ", or one of them with its strength: {required: "

SHORT_FORMS = {
    "BindPolicyPart": f"{', '.join(PodBindPolicy)}{_STRENGTH}{PodBindPolicy.FULL_PCPUS}}}",
    "ExclusivePolicyPart": (
        f"{', '.join(PodExclusivePolicy)}{_STRENGTH}{PodExclusivePolicy.PCPU_LEVEL}}}"
    ),
    "GangGatherPart": (
        "a level such as node or rack, or levels with their strength: {preferred: rack}"
    ),
    "JointDevicesPart": (
        "types and a scope, such as {deviceTypes: [gpu, rdma], requiredScope: SamePCIe}"
    ),
    "GangLevelSpreadPart": "levels with their most, such as {required: {rack: 2}}",
}


class InstanceFile(Part):
    """One document of ``kind: Instance``; several of them make one instance."""

    other_spellings = OTHER_SPELLINGS
    unsupported = UNSUPPORTED
    short_forms = SHORT_FORMS

    api_version: Literal["placer/v1"]
    kind: Literal["Instance"]
    metadata: PlacerFileMetadataPart = PlacerFileMetadataPart()
    machines: tuple[MachineFile, ...] = ()
    network_topology: tuple[NetworkLevelPart, ...] = ()
    nodes: tuple[InstanceNodePart, ...] = ()
    pods: tuple[WaitingPodPart, ...] = ()
    gangs: tuple[GangPart, ...] = ()
    gang_groups: tuple[GangGroupPart, ...] = ()
    running: tuple[RunningPodPart, ...] = ()
    running_gangs: tuple[RunningGangPart, ...] = ()
    defaults: DefaultsPart | None = Field(
        None, description="What holds where neither a pod nor its node says anything."
    )
    device_choice: DeviceChoicePolicy | None = Field(
        None, description="Which devices pods that say nothing would like their shares of."
    )
    move_budget: MoveBudget | None = Field(
        None, description="So many running pods may get another place. Without it, none."
    )
    strategy: NodeStrategy | None = Field(
        None, description="Which nodes pods had better have, all else being equal: the last tier."
    )
    demand: ExpectedDemandPart | None = Field(
        None, description="The pods that are expected. Without: such as run and wait here."
    )
