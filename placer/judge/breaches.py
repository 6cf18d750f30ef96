"""The rules that every placement has to keep, and the breaches of a placement.

The page docs/rules.md states the same rules in words, under the same names.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from placer.judge.affinity import affinity, anti_affinity
from placer.judge.alignment import alignment
from placer.judge.bound import bound_pool, constrained_burst
from placer.judge.container_parts import container_parts
from placer.judge.cpus import cpu_allocatable, cpu_bind, cpu_count, cpu_exclusive
from placer.judge.device_strategy import device_strategy
from placer.judge.devices import (
    device_count,
    device_exclusive,
    device_health,
    device_known,
    device_scope,
)
from placer.judge.environment import environment
from placer.judge.exclusivity import exclusive_cores, exclusive_numa_nodes
from placer.judge.extended import extended
from placer.judge.finding import Rule
from placer.judge.functions import device_functions
from placer.judge.gangs import gang_group, gang_minimum, gather
from placer.judge.host_ports import host_ports
from placer.judge.joint import joint
from placer.judge.links import partition
from placer.judge.max_pods import max_pods
from placer.judge.memory import hugepages, memory
from placer.judge.mig import mig
from placer.judge.moves import moves
from placer.judge.network import domain, multiples, spread
from placer.judge.node_affinity import node_affinity
from placer.judge.node_cpus import arm_cpu_policy, node_cpu_bind
from placer.judge.pods import closed, cordon, known, node_selector
from placer.judge.pools import be_pool, containers, shared_pool
from placer.judge.scene import NodesBefore, Scene, scene_of
from placer.judge.shares import device_share
from placer.judge.taints import taints
from placer.judge.topology_spread import topology_spread
from placer_models.cluster import Instance
from placer_models.moves import complete_with_current, with_movable_pods
from placer_models.placement import Placement
from placer_models.typed import typed

RULES: Mapping[str, Rule] = {
    "known": known,
    "cordon": cordon,
    "closed": closed,
    "taints": taints,
    "node-selector": node_selector,
    "node-affinity": node_affinity,
    "affinity": affinity,
    "anti-affinity": anti_affinity,
    "topology-spread": topology_spread,
    "cpu-count": cpu_count,
    "cpu-allocatable": cpu_allocatable,
    "cpu-exclusive": cpu_exclusive,
    "cpu-bind": cpu_bind,
    "node-cpu-bind": node_cpu_bind,
    "arm-cpu-policy": arm_cpu_policy,
    "exclusive-cores": exclusive_cores,
    "exclusive-numa-nodes": exclusive_numa_nodes,
    "shared-pool": shared_pool,
    "be-pool": be_pool,
    "bound-pool": bound_pool,
    "constrained-burst": constrained_burst,
    "containers": containers,
    "memory": memory,
    "extended": extended,
    "max-pods": max_pods,
    "host-ports": host_ports,
    "hugepages": hugepages,
    "device-known": device_known,
    "device-health": device_health,
    "device-exclusive": device_exclusive,
    "device-count": device_count,
    "device-strategy": device_strategy,
    "device-share": device_share,
    "device-functions": device_functions,
    "joint": joint,
    "partition": partition,
    "device-scope": device_scope,
    "mig": mig,
    "alignment": alignment,
    "container-parts": container_parts,
    "environment": environment,
    "gang-minimum": gang_minimum,
    "gang-group": gang_group,
    "domain": domain,
    "gather": gather,
    "spread": spread,
    "multiples": multiples,
    "moves": moves,
}


@dataclass(frozen=True, slots=True)
class Breach:
    """One rule that a placement breaks.

    Attributes:
        rule: The rule's name, as in docs/rules.md.
        subject: The pod, the node or the gang that it concerns.
        message: What is wrong and what is allowed, in one line.

    """

    rule: str
    subject: str
    message: str


@typed
def breaches(
    instance: Instance, placement: Placement, nodes_before: NodesBefore | None = None
) -> tuple[Breach, ...]:
    """Return all breaches of the placement, or none if it keeps every rule.

    Any placement may be given, even one that names things that do not exist. Only what is
    newly placed can be at fault: a node that takes nothing new is not looked at.

    Args:
        instance: The nodes, what runs there and what waits.
        placement: What is newly placed.
        nodes_before: The result of `scene.sites_of`, if already known.

    """
    last = nodes_before and nodes_before.faultless
    if last and last[0] is instance and last[1] is placement:
        return ()
    return broken_in(scene_with_moves(instance, placement, nodes_before))


def scene_with_moves(
    instance: Instance, placement: Placement, nodes_before: NodesBefore | None = None
) -> Scene:
    """Lay a placement over its instance, with the running pods that may move placed as well."""
    asked = with_movable_pods(instance, blamed, placement)
    if asked is instance:
        return scene_of(instance, placement, nodes_before)
    return scene_of(asked, complete_with_current(asked, placement))


def broken_in(scene: Scene) -> tuple[Breach, ...]:
    """Return all breaches in a scene."""
    found = tuple(
        Breach(name, finding.subject, finding.message)
        for name, rule in RULES.items()
        for finding in rule(scene)
    )
    if not found:
        scene.nodes_before.faultless = scene.instance, scene.placement
    return found


def blamed(instance: Instance, placement: Placement) -> tuple[Breach, ...]:
    """Return the breaches of a placement in which every pod of the question has a place."""
    return broken_in(scene_of(instance, placement))
