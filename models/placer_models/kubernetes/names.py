"""Labels and annotations of Kubernetes' objects, except those about pods' devices.

Where a proposal and today's Koordinator differ, both names are read; today's is first in a tuple.
"""

NODE_DOMAIN = "node.koordinator.sh/"
GANG_DOMAIN = "gang.scheduling.koordinator.sh/"

CPU_BIND_POLICY = f"{NODE_DOMAIN}cpu-bind-policy"
NUMA_ALLOCATE_STRATEGY = f"{NODE_DOMAIN}numa-allocate-strategy"
NUMA_TOPOLOGY_POLICIES = (
    f"{NODE_DOMAIN}numa-topology-policy",
    f"{NODE_DOMAIN}numa-topology-alignment-policy",
)
GPU_PARTITION_POLICY = f"{NODE_DOMAIN}gpu-partition-policy"
GPU_MODELS = (f"{NODE_DOMAIN}gpu-model", "kubernetes.io/gpu-model", "nvidia.com/gpu.product")

RESERVATION = f"{NODE_DOMAIN}reservation"
AMPLIFICATION = f"{NODE_DOMAIN}resource-amplification-ratio"
SYSTEM_QOS = f"{NODE_DOMAIN}system-qos-resource"

GPU_PARTITIONS = ("scheduling.koordinator.sh/gpu-partitions",)
DEVICE_CHECKPOINTS = (f"{NODE_DOMAIN}devices-checkpoints", f"{NODE_DOMAIN}gpu-checkpoints")

QOS_CLASS = "koordinator.sh/qosClass"
PRIORITY_CLASS = "koordinator.sh/priority-class"
NUMA_TOPOLOGY_SPEC = "scheduling.koordinator.sh/numa-topology-spec"
DEVICE_JOINT_ALLOCATE = "scheduling.koordinator.sh/device-joint-allocate"
GPU_PARTITION_SPEC = "scheduling.koordinator.sh/gpu-partition-spec"

POD_GROUP_LABELS = (
    "pod-group.scheduling.sigs.k8s.io",
    "scheduling.x-k8s.io/pod-group",
    "pod-group.scheduling.sigs.k8s.io/name",
)
GANG_NAMES = (
    f"{GANG_DOMAIN}name",
    "scheduling.k8s.io/group-name",
    "scheduling.volcano.sh/group-name",
)
"""Annotations that name a pod's gang; the last two are Volcano's."""

GANG_MINIMUMS = (
    f"{GANG_DOMAIN}min-available",
    "pod-group.scheduling.sigs.k8s.io/min-available",
)
GANG_GROUPS = f"{GANG_DOMAIN}groups"
GANG_NETWORK = f"{GANG_DOMAIN}network-topology-spec"

BIND_GANG_GROUP = "internal.scheduling.koordinator.sh/bind-gang-group-id"
"""The gangs that a pod was bound together with."""

BIND_GANG_MEMBERS = "internal.scheduling.koordinator.sh/bind-gang-member-count"
"""How many pods of these gangs were bound together."""

INSTANCE_TYPES = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")
HOSTNAME = "kubernetes.io/hostname"
ZONES = ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone")
REGIONS = ("topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region")

CONFIG_MIRROR = "kubernetes.io/config.mirror"
"""The hash of the file of a static pod, on the object that stands for it in the API server."""

REQUESTED_CPU = "placer/requested-cpu-milli"
"""The extended resource that sums up what all pods of a node ask for as `cpu`, in milli CPUs."""

KNOWS_CPUS = ("placer:cpu-ids", "known")
"""A label for nodes whose CPUs are known by id; pods that own CPUs select it."""

KNOWS_NUMA_NODES = ("placer:numa-nodes", "known")
"""A label for nodes whose NUMA nodes are known; pods that are aligned select it."""

TAKES_DEFAULT_ALIGNMENT = ("placer:default-numa-policy", "possible")
"""A label for nodes whose NUMA nodes are known, or that say themselves how pods are aligned."""

LABEL_OF_NODE = "placer:label-node"
"""The label that stands for a node's label ``node``, which is the word for the node itself."""

LABEL_OF_HOSTNAME = "placer:label-hostname"
"""The label that stands for host names where these are no names of nodes: some node has none, or
two have the same."""

NOMINATED = ("placer:nominated", "true")
"""A label for pods that count as running on a node that is only kept for them: nobody's company."""

BEING_DELETED = ("placer:being-deleted", "true")
"""A label for running pods that are being deleted, which topology spread does not count."""
