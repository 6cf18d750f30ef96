"""Virtual functions of devices, as files say them (D9)."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from placer_models.cluster import Node
from placer_models.cpuset import format_cpu_list
from placer_models.device import FunctionSelector, VirtualFunction
from placer_models.files.faults import DocumentLocation
from placer_models.files.part import Json
from placer_models.instance.machine_parts import MachineVirtualFunctionsPart
from placer_models.message_text import in_quotes
from placer_models.placement import DeviceGrant
from placer_models.pod import PodSpec

FunctionHolders = dict[tuple[str, str, int, int], str]
"""(node, type, minor, minor of a virtual function) -> title of the pod that holds it."""


def numbered_virtual_functions(
    bus_ids: Sequence[str], groups: Sequence[MachineVirtualFunctionsPart]
) -> tuple[VirtualFunction, ...]:
    """Return the virtual functions of a device, numbered from 0 across its groups."""
    labels = [tuple(sorted(g.labels.items())) for g in groups for _ in range(g.count)]
    return tuple(
        VirtualFunction(minor, bus_id, labels[minor] if labels else ())
        for minor, bus_id in enumerate(bus_ids)
    )


def virtual_function_groups_to_list(functions: Sequence[VirtualFunction]) -> list[Json]:
    """Return the groups of a device's virtual functions; nothing where none has labels."""
    if not any(function.labels for function in functions):
        return []
    return [
        {"count": len(list(members)), **({"labels": dict(labels)} if labels else {})}
        for labels, members in groupby(functions, lambda function: function.labels)
    ]


def read_function_selectors(
    written: Mapping[str, Mapping[str, Sequence[str]]],
    shared: Collection[str],
    place: DocumentLocation,
) -> tuple[tuple[str, FunctionSelector], ...]:
    """Return which virtual functions come with the shares of a pod.

    Args:
        written: Device type -> label -> values of which the virtual function has one.
        shared: Types of which the pod asks for shares.
        place: Where it is written.

    """
    for kind in written:
        if kind not in shared:
            place.at(kind).fault(
                f"the pod asks for no share of a device of type {in_quotes(kind)}; ask for one, "
                "such as 'koordinator.sh/rdma: 1'",
                illegal=True,
            )
    return tuple(
        (kind, tuple(sorted((label, tuple(values)) for label, values in labels.items())))
        for kind, labels in sorted(written.items())
    )


def grants_with_virtual_functions(
    written: Mapping[str, Mapping[str, int]],
    grants: Sequence[DeviceGrant],
    spec: PodSpec,
    node: Node,
    holders: FunctionHolders,
    title: str,
    place: DocumentLocation,
) -> tuple[DeviceGrant, ...]:
    """Return a running pod's device grants with the virtual functions that the file names."""
    wishes = dict(spec.functions)
    found = []
    for grant in grants:
        wish = wishes.get(grant.type) if grant.share is not None else None
        given = written.get(grant.type, {}).get(str(grant.minor))
        at = place.at(grant.type, str(grant.minor))
        if wish is None or given is None:
            if wish is not None:
                (at if at.exists else place).fault(
                    f"is missing; name the virtual function of {grant.type} {grant.minor} that "
                    f"this pod holds: {{{grant.type}: {{'{grant.minor}': 0}}}}"
                )
            found.append(grant)
            continue
        machine = node.machine
        device = next(d for d in machine.devices if (d.type, d.minor) == (grant.type, grant.minor))
        has = {function.minor for function in device.virtual_functions}
        key = node.name, grant.type, grant.minor, given
        if given not in has:
            known = format_cpu_list(has) or "none"
            at.fault(f"there is no virtual function {given}; the device has {known}")
        elif holders.setdefault(key, title) != title:
            at.fault(
                f"virtual function {given} is held by the running pod {in_quotes(holders[key])}"
            )
        found.append(replace(grant, vfs=(given,)))
    for kind, minors in written.items():
        for minor in minors:
            if (kind, minor) not in {(g.type, str(g.minor)) for g in found if g.vfs}:
                place.at(kind, minor).fault(
                    f"the pod holds no share of {kind} {minor} that comes with a virtual function"
                )
    return tuple(found)
