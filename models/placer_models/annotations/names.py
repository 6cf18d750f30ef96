"""Keys of the annotations that Placer reads from pods and nodes, or writes to them."""

RESOURCE_SPEC = "scheduling.koordinator.sh/resource-spec"
"""What a user asks of the CPUs of a pod (C14)."""

RESOURCE_STATUS = "scheduling.koordinator.sh/resource-status"
"""Which CPUs and NUMA nodes a pod was given (C14)."""

MEMORY_STATUS = "placer/memory-status"
"""Where a pod's memory is counted if ``resource-status`` may not say it: Placer's own annotation.

It has the form of ``resource-status``. If that named these NUMA nodes, Koordinator's node agent
would keep the pod to their CPUs.
"""

DEVICE_ALLOCATED = "scheduling.koordinator.sh/device-allocated"
"""Which devices a pod was given (D11)."""

DEVICE_ALLOCATE_HINT = "scheduling.koordinator.sh/device-allocate-hint"
"""How a user wants devices to be chosen (D9)."""

CPU_TOPOLOGY = "node.koordinator.sh/cpu-topology"
"""Where the CPUs of a node are (C15)."""

CPU_MANAGER_POLICY = "kubelet.koordinator.sh/cpu-manager-policy"
"""How the kubelet of a node gives out CPUs (C15)."""

POD_CPU_ALLOCS = "node.koordinator.sh/pod-cpu-allocs"
"""Which CPUs the kubelet of a node has given to pods (C15)."""

CPU_SHARED_POOLS = "node.koordinator.sh/cpu-shared-pools"
"""The CPUs of a node that LS pods share (C15)."""
