"""Keys of the annotations that Placer reads from pods or writes to them."""

RESOURCE_SPEC = "scheduling.koordinator.sh/resource-spec"
"""What a user asks of the CPUs of a pod (C14)."""

RESOURCE_STATUS = "scheduling.koordinator.sh/resource-status"
"""Which CPUs and NUMA nodes a pod was given (C14)."""

DEVICE_ALLOCATED = "scheduling.koordinator.sh/device-allocated"
"""Which devices a pod was given (D11)."""

DEVICE_ALLOCATE_HINT = "scheduling.koordinator.sh/device-allocate-hint"
"""How a user wants devices to be chosen (D9)."""
