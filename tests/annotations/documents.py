"""What the tests of annotations share: any JSON, good documents, and what becomes of them."""

import json
from collections.abc import Callable, Mapping

from hypothesis import strategies as st

from answers import expect
from placer_models.annotations.device_allocated import read_device_allocated_annotation
from placer_models.annotations.device_hint import read_device_hints_annotation
from placer_models.annotations.names import (
    CPU_MANAGER_POLICY,
    CPU_SHARED_POOLS,
    CPU_TOPOLOGY,
    DEVICE_ALLOCATE_HINT,
    DEVICE_ALLOCATED,
    POD_CPU_ALLOCS,
    RESOURCE_SPEC,
    RESOURCE_STATUS,
)
from placer_models.annotations.node_topology import (
    read_cpu_manager_policy_annotation,
    read_cpu_shared_pools_annotation,
    read_cpu_topology_annotation,
    read_pod_cpu_allocs_annotation,
)
from placer_models.annotations.resource_spec import read_resource_spec_annotation
from placer_models.annotations.resource_status import read_resource_status_annotation

READERS: Mapping[str, Callable[[str], object]] = {
    RESOURCE_SPEC: read_resource_spec_annotation,
    RESOURCE_STATUS: read_resource_status_annotation,
    DEVICE_ALLOCATED: read_device_allocated_annotation,
    DEVICE_ALLOCATE_HINT: read_device_hints_annotation,
    CPU_TOPOLOGY: read_cpu_topology_annotation,
    CPU_MANAGER_POLICY: read_cpu_manager_policy_annotation,
    POD_CPU_ALLOCS: read_pod_cpu_allocs_annotation,
    CPU_SHARED_POOLS: read_cpu_shared_pools_annotation,
}

GOOD: Mapping[str, object] = {
    RESOURCE_SPEC: {
        "requiredCPUBindPolicy": "FullPCPUs",
        "preferredCPUBindPolicy": "SpreadByPCPUs",
        "preferredCPUExclusivePolicy": "PCPULevel",
    },
    RESOURCE_STATUS: {
        "cpuset": "0-3,8",
        "numaNodeResources": [
            {"node": 0, "resources": {"cpu": "4", "memory": "8Gi", "hugepages-2Mi": "3Mi"}},
            {"node": 1, "resources": {"cpu": 1, "kubernetes.io/batch-cpu": "1500m"}},
        ],
        "cpuSharedPools": [{"socket": 0, "node": 1, "cpuset": "0-25"}],
    },
    DEVICE_ALLOCATED: {
        "gpu": [
            {
                "minor": 0,
                "id": "GPU-1",
                "resources": {
                    "koordinator.sh/gpu-core": "100",
                    "koordinator.sh/gpu-memory": "16Gi",
                    "koordinator.sh/gpu-memory-ratio": 100,
                },
            }
        ],
        "rdma": [
            {
                "minor": 1,
                "resources": {"koordinator.sh/rdma": "1"},
                "extension": {"vfs": [{"minor": 2, "busID": "0000:09:00.2"}, {"busID": "x"}]},
            }
        ],
    },
    DEVICE_ALLOCATE_HINT: {
        "gpu": {"requiredTopologyScope": "NUMANode"},
        "rdma": {
            "selector": {"matchLabels": {"type": "fakeW"}},
            "vfSelector": {
                "matchExpressions": [{"key": "type", "operator": "In", "values": ["general"]}]
            },
            "allocateStrategy": "RequestsAsCount",
            "exclusivePolicy": "DeviceLevel",
        },
    },
    CPU_TOPOLOGY: {
        "detail": [
            {"id": 0, "core": 0, "socket": 0, "node": 0},
            {"id": 2, "core": 0, "socket": 1, "node": 1},
        ]
    },
    CPU_MANAGER_POLICY: {
        "policy": "static",
        "options": {"full-pcpus-only": "true"},
        "reservedCPUs": "0,8",
    },
    POD_CPU_ALLOCS: [
        {
            "namespace": "default",
            "name": "a",
            "uid": "u-1",
            "cpuset": "4-7",
            "managedByKubelet": True,
        }
    ],
    CPU_SHARED_POOLS: [{"socket": 0, "node": 1, "cpuset": "0-25"}],
}
"""A document of each annotation that uses every field."""


def names_in(document: object) -> set[str]:
    """Return the names of all fields, however deep."""
    if isinstance(document, list):
        return set().union(*map(names_in, document))
    if isinstance(document, dict):
        return set(document).union(*map(names_in, document.values()))
    return set()


NAMES = st.sampled_from(
    sorted(set().union(*map(names_in, GOOD.values())) | {"CPUSET", "hugepages-0", ""})
)

ANY_JSON = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(max_size=8),
        st.sampled_from(["0-3", "3-0", "16Gi", "-1", "1e400", "FullPCPUs", "In", "\ud800"]),
        st.sampled_from([2**31, -1, 10**39, 0.5]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.one_of(NAMES, st.text(max_size=4)), inner, max_size=4),
    ),
    max_leaves=12,
)


def spoilt(document: object, draw: Callable[[st.SearchStrategy[object]], object]) -> object:
    """Return the document with one part of it replaced by anything."""
    if isinstance(document, dict) and document and draw(st.integers(0, 4)):
        name = draw(st.sampled_from(sorted(document)))
        return {**document, name: spoilt(document[name], draw)}
    if isinstance(document, list) and document and draw(st.integers(0, 4)):
        i = expect(int, draw(st.integers(0, len(document) - 1)))
        return [*document[:i], spoilt(document[i], draw), *document[i + 1 :]]
    return draw(ANY_JSON)


def text_of(document: object) -> str:
    """Return a document as an annotation holds it."""
    return json.dumps(document)
