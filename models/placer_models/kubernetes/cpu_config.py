"""Configuration for dra-driver-cpu: the CPUs of a claim, chosen outside the driver."""

from collections.abc import Mapping, Sequence

from placer_models.cpuset import CpuSet, format_cpu_list, parse_cpu_list
from placer_models.kubernetes.listed_devices import CPU_DRIVER
from placer_models.kubernetes.object_fields import Object
from placer_models.kubernetes.resource_claim import is_request_meant

CPUSET = ("opaque", "parameters", "cpuConfig", "cpuset")
"""The field of a configuration that names the CPUs."""

_API = "v1alpha1"


def opaque_cpu_config(request: str, cpus: CpuSet) -> Object:
    """Return the configuration of a request; the driver accepts one request per configuration."""
    parameters = {"apiVersion": _API, "cpuConfig": {"cpuset": format_cpu_list(cpus)}}
    return {
        "source": "FromClaim",
        "requests": [request],
        "opaque": {"driver": CPU_DRIVER, "parameters": parameters},
    }


def configs_for_claim_request(configs: Sequence[Object], request: str) -> list[tuple[int, Object]]:
    """Return the configurations that apply to a request, each with its index.

    A configuration without requests applies to all of them. One that names a request applies
    to each of its alternatives.
    """
    found = []
    for i, config in enumerate(configs):
        opaque, requests = config.get("opaque"), config.get("requests")
        meant = not requests or (isinstance(requests, list) and is_request_meant(request, requests))
        if isinstance(opaque, Mapping) and opaque.get("driver") == CPU_DRIVER and meant:
            found.append((i, config))
    return found


def cpus_of_claim_config(config: Object) -> CpuSet:
    """Return the CPUs that a configuration gives its request.

    Raises:
        ValueError: It names no CPUs, or the text is no list of CPUs.

    """
    text: object = config
    for key in CPUSET:
        text = text.get(key) if isinstance(text, Mapping) else None
    if not isinstance(text, str):
        raise ValueError("is missing; the driver takes no configuration without it")
    found = parse_cpu_list(text)
    if not found:
        raise ValueError("names no CPU; expected as many as the request has")
    return found
