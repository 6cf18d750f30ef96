"""Objects of dra-driver-cpu for tests, where a device is a NUMA node or a socket."""

from typing import Any

from claim_worlds import allocated, claiming, device_class, request, resource_slice
from kubernetes_worlds import Json, node, topology
from placer_models.cpuset import parse_cpu_list
from placer_models.kubernetes.cpu_config import opaque_cpu_config

CPUS = device_class("cpu", "device.driver == 'dra.cpu'")
NUMA = "resource.kubernetes.io/numaNode"
SPEC = "scheduling.koordinator.sh/numa-topology-spec"


def group(numa: int, count: int = 4, ids: str = "", *, socket: int = 0, **more: Any) -> Json:
    """Return the CPUs of a NUMA node as the driver lists them, by its default or for others."""
    attributes: Json = {
        NUMA: {"int": numa},
        "dra.cpu/numaNodeID": {"int": numa},
        "dra.net/numaNode": {"int": numa},
        "dra.cpu/socketID": {"int": socket},
        "dra.cpu/numCPUs": {"int": count},
        "dra.cpu/smtEnabled": {"bool": True},
        **({"dra.cpu/cpuIDs": {"string": ids}} if ids else {}),
    }
    return {
        "name": f"cpudevnuma{numa:03}",
        "allowMultipleAllocations": True,
        "attributes": attributes,
        "capacity": {"dra.cpu/cpu": {"value": str(count)}},
        **more,
    }


def socket(number: int, count: int = 4) -> Json:
    """Return the CPUs of a socket as the driver lists them."""
    found = group(0, count, socket=number)
    found["name"] = f"cpudevsocket{number:03}"
    for name in (NUMA, "dra.cpu/numaNodeID", "dra.net/numaNode"):
        del found["attributes"][name]
    return found


def groups(*devices: Json, name: str = "n1") -> Json:
    """Return the slice of a node: its two NUMA nodes, or what is given."""
    return resource_slice(name, list(devices) or [group(0), group(1)], driver="dra.cpu")


def asking(cpus: int, *selectors: str, name: str = "cpus", **more: Any) -> Json:
    """Return a request for a number of CPUs of one device."""
    capacity = {"requests": {"dra.cpu/cpu": str(cpus)}}
    return request(name, *selectors, of="cpu", capacity=capacity, **more)


def wants(cpus: int, name: str = "p", of: str = "c", **more: Any) -> Json:
    """Return a pod with a claim whose container asks for as many CPUs."""
    return claiming(name, {"c": of}, requests={"cpu": str(cpus), "memory": "1Gi"}, **more)


def held(cpus: str, device: str = "cpudevnuma000", count: int = 0, **more: Any) -> Json:
    """Return the status of a claim that was given CPUs; empty: the driver chose them."""
    status = allocated(device, driver="dra.cpu")
    (result,) = status["allocation"]["devices"]["results"]
    size = count or len(parse_cpu_list(cpus))
    result |= {"request": "cpus", "consumedCapacity": {"dra.cpu/cpu": str(size)}, **more}
    if cpus:
        status["allocation"]["devices"]["config"] = [
            opaque_cpu_config("cpus", parse_cpu_list(cpus))
        ]
    return status


BASE = [node(), topology(), CPUS, groups()]
