"""Objects of dynamic resource allocation for tests: small, as drivers and users write them."""

from collections.abc import Mapping, Sequence
from typing import Any

from kubernetes_worlds import Json, pod

GPU_DRIVER = "gpu.nvidia.com"
VERSION = "resource.k8s.io/v1"


def gpu_listed(number: int, **more: Any) -> Json:
    """Return a GPU as NVIDIA's driver lists it: two below each PCIe root."""
    attributes = {
        "type": {"string": "gpu"},
        "uuid": {"string": f"GPU-{number}"},
        "productName": {"string": "NVIDIA H100 80GB HBM3"},
        "resource.kubernetes.io/pcieRoot": {"string": f"pci0000:{number // 2}0"},
        "resource.kubernetes.io/numaNode": {"int": number // 2},
        **more.pop("attributes", {}),
    }
    return {
        "name": f"gpu-{number}",
        "attributes": attributes,
        "capacity": {"memory": {"value": "80Gi"}},
        **more,
    }


def nic_listed(number: int, **more: Any) -> Json:
    """Return a NIC with RDMA as dranet lists it: one below each PCIe root."""
    attributes = {
        "dra.net/rdma": {"bool": True},
        "dra.net/ifName": {"string": f"rdma{number}"},
        "resource.kubernetes.io/pcieRoot": {"string": f"pci0000:{number}0"},
        "resource.kubernetes.io/numaNode": {"int": number},
        **more.pop("attributes", {}),
    }
    return {"name": f"rdma{number}", "attributes": attributes, **more}


def resource_slice(
    node: str = "n1",
    devices: Sequence[Json] = (),
    *,
    driver: str = GPU_DRIVER,
    name: str = "",
    generation: int = 1,
    slices: int = 1,
    **more: Any,
) -> Json:
    """Return a ResourceSlice of a node: four GPUs, or what is given."""
    spec: Json = {
        "driver": driver,
        "pool": {
            "name": more.pop("pool", node),
            "generation": generation,
            "resourceSliceCount": slices,
        },
        "devices": list(devices) or [gpu_listed(i) for i in range(4)],
        **({"nodeName": node} if node else {}),
        **more,
    }
    return {
        "apiVersion": VERSION,
        "kind": "ResourceSlice",
        "metadata": {"name": name or f"{node}-{driver}"},
        "spec": spec,
    }


def device_class(name: str = "gpu", *expressions: str, **more: Any) -> Json:
    """Return a DeviceClass: NVIDIA's whole GPUs, or what the expressions say."""
    said = expressions or (
        f"device.driver == '{GPU_DRIVER}' && device.attributes['{GPU_DRIVER}'].type == 'gpu'",
    )
    selectors = [{"cel": {"expression": expression}} for expression in said]
    return {
        "apiVersion": VERSION,
        "kind": "DeviceClass",
        "metadata": {"name": name},
        "spec": {"selectors": selectors, **more},
    }


def nics() -> Json:
    """Return the DeviceClass of NICs with RDMA."""
    return device_class("nic", "device.driver == 'dra.net'", "device.attributes['dra.net'].rdma")


def request(name: str = "gpus", *expressions: str, of: str = "gpu", **more: Any) -> Json:
    """Return a request of a claim."""
    exactly = {"deviceClassName": of, **more}
    if expressions:
        exactly["selectors"] = [{"cel": {"expression": one}} for one in expressions]
    return {"name": name, "exactly": exactly}


def claim(name: str = "c", *requests: Json, status: Json | None = None, **more: Any) -> Json:
    """Return a ResourceClaim: one GPU, or what the requests say."""
    return {
        "apiVersion": VERSION,
        "kind": "ResourceClaim",
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": f"uid-claim-{name}",
            "resourceVersion": "5",
        },
        "spec": {"devices": {"requests": list(requests) or [request()], **more}},
        **({"status": status} if status else {}),
    }


def template(name: str = "t", *requests: Json, **more: Any) -> Json:
    """Return a ResourceClaimTemplate: one GPU, or what the requests say."""
    return {
        "apiVersion": VERSION,
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"spec": {"devices": {"requests": list(requests) or [request()], **more}}},
    }


def allocated(*devices: str, node: str = "n1", driver: str = GPU_DRIVER) -> Json:
    """Return the status of a claim that was given devices of a node."""
    results = [
        {"request": "gpus", "driver": driver, "pool": node, "device": device} for device in devices
    ]
    field = {"key": "metadata.name", "operator": "In", "values": [node]}
    selector = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    return {"allocation": {"devices": {"results": results}, "nodeSelector": selector}}


def claiming(
    name: str = "p",
    claims: Mapping[str, str] | None = None,
    *,
    templates: Mapping[str, str] | None = None,
    made: Mapping[str, str] | None = None,
    **more: Any,
) -> Json:
    """Return a pod whose container uses claims: the claim ``c``, or those that are given.

    Args:
        name: Of the pod.
        claims: Name in the pod -> name of the ResourceClaim.
        templates: Name in the pod -> name of the template.
        made: Name in the pod -> name of the ResourceClaim that was made of the template.
        more: As of `pod`.

    """
    named = {} if templates and claims is None else {"c": "c"} if claims is None else claims
    sources = [{"name": one, "resourceClaimName": of} for one, of in named.items()]
    sources += [
        {"name": one, "resourceClaimTemplateName": of} for one, of in (templates or {}).items()
    ]
    found = pod(name, more.pop("requests", None), resourceClaims=sources, **more)
    used = [{"name": source["name"]} for source in sources]
    found["spec"]["containers"][0]["resources"]["claims"] = used
    if made:
        found["status"]["resourceClaimStatuses"] = [
            {"name": one, "resourceClaimName": of} for one, of in made.items()
        ]
    return found
