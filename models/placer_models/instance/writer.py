"""Instance files as they are written: reading one back gives the same instance."""

from collections.abc import Callable, Sequence
from itertools import chain, count

import yaml

from placer_models.cluster import Instance, Machine, Node
from placer_models.files.documents import API_VERSION
from placer_models.files.part import Json, MetadataPart, none_if_default
from placer_models.instance.defaults import defaults_to_dict
from placer_models.instance.demand import demand_to_dict
from placer_models.instance.gangs import (
    gang_to_dict,
    group_to_dict,
    lone_to_dict,
    running_gang_to_dict,
)
from placer_models.instance.machine_writer import machine_to_dict
from placer_models.instance.nodes import node_to_dict
from placer_models.instance.running_writer import running_to_dict
from placer_models.instance.schema import InstanceFile
from placer_models.node_strategy import NodeStrategy


class _Dumper(yaml.SafeDumper):
    """A YAML dumper that writes text of several lines as a block."""


def _text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


MachineTest = Callable[[Machine], bool]
"""Whether the reader finds exactly this machine by its name alone."""


def instance_to_yaml(instance: Instance, found_by_name: MachineTest) -> str:
    """Return the text of an instance file."""
    return yaml.dump(
        instance_to_dict(instance, found_by_name),
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        default_flow_style=None,
        width=100,
    )


def instance_to_dict(instance: Instance, found_by_name: MachineTest) -> Json:
    """Return the document of an instance: every pod and every node by itself.

    Machines that are found by name are named, others written out. Lone pods come
    before gangs, as they do when a file is read.
    """
    name_of, machines = _name_machines(instance.nodes)
    nodes = {node.name: node for node in instance.nodes}
    gangs: set[tuple[str, str | None]] = {gang.key for gang in instance.running_gangs}
    return InstanceFile.written(
        api_version=API_VERSION,
        kind="Instance",
        metadata=MetadataPart.written(name=instance.name) or None,
        machines=[
            machine_to_dict(machine, name)
            for name, machine in machines.items()
            if name != machine.name or not found_by_name(machine)
        ],
        nodes=[node_to_dict(node, name_of[id(node.machine)]) for node in instance.nodes],
        pods=[lone_to_dict(gang) for gang in instance.gangs if gang.lone],
        gangs=[gang_to_dict(gang) for gang in instance.gangs if not gang.lone],
        gang_groups=[group_to_dict(group) for group in instance.groups],
        running=[
            running_to_dict(
                pod,
                nodes[pod.placement.node],
                in_gang=(pod.pod.namespace, pod.placement.gang) in gangs,
            )
            for pod in instance.running
        ],
        running_gangs=[running_gang_to_dict(gang) for gang in instance.running_gangs],
        move_budget=instance.move_budget or None,
        strategy=none_if_default(instance.strategy, NodeStrategy.USABLE),
        defaults=defaults_to_dict(instance.common_defaults) or None,
        demand=demand_to_dict(instance.demand),
    )


def _name_machines(nodes: Sequence[Node]) -> tuple[dict[int, str], dict[str, Machine]]:
    """Return id() of a machine -> name, and name -> machine for the distinct machines."""
    name_of: dict[int, str] = {}
    machines: dict[str, Machine] = {}
    for machine in (node.machine for node in nodes):
        if id(machine) in name_of:
            continue
        name = next((name for name, other in machines.items() if other == machine), None)
        if name is None:
            names = chain([machine.name], (f"{machine.name}-{i}" for i in count(2)))
            name = next(name for name in names if name not in machines)
            machines[name] = machine
        name_of[id(machine)] = name
    return name_of, machines
