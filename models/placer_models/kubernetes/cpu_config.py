"""Configuration for dra-driver-cpu: the CPUs of a claim that somebody else chose."""

from collections.abc import Mapping

from placer_models.cpuset import CpuSet, format_cpu_list, parse_cpu_list
from placer_models.kubernetes.listed_devices import CPU_DRIVER
from placer_models.kubernetes.objects import Object

_API = "v1alpha1"


def cpu_config(request: str, cpus: CpuSet) -> Object:
    """Return the configuration of one request: the driver takes no two in one."""
    parameters = {"apiVersion": _API, "cpuConfig": {"cpuset": format_cpu_list(cpus)}}
    return {
        "source": "FromClaim",
        "requests": [request],
        "opaque": {"driver": CPU_DRIVER, "parameters": parameters},
    }


def cpuset_of(config: Object, request: str) -> CpuSet | None:
    """Return the CPUs that a configuration gives a request; None: it says nothing of them."""
    opaque = config.get("opaque")
    if not isinstance(opaque, Mapping) or opaque.get("driver") != CPU_DRIVER:
        return None
    if config.get("requests") != [request]:
        return None
    parameters = opaque.get("parameters")
    said = parameters.get("cpuConfig") if isinstance(parameters, Mapping) else None
    text = said.get("cpuset") if isinstance(said, Mapping) else None
    if not isinstance(text, str):
        return None
    try:
        return parse_cpu_list(text)
    except ValueError:
        return None
