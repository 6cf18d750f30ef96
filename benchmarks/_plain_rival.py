"""The rival: the Boolean CP-SAT model that one writes down first.

It has a literal for each pod that it is placed, for each pod and node that it is there, for each
gang that it runs, and for each pod and GPU that it has a part of it; whole GPUs and whole cores
are counted. It takes the priorities in turn, each for half of what is left of the time, and knows
nothing of equal pods and equal nodes.

What it says is no stricter than our rules, for all that the families of `_full_batches` draw. It
knows nothing of links, which are wishes, so that only ``placed`` is compared.
"""

import time
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from _full_batches import MIB, ZONE
from ortools.sat.python.cp_model import FEASIBLE, OPTIMAL, CpModel, CpSolver, IntVar, LinearExpr

from placer_models.cluster import Instance, Machine, Node
from placer_models.device_share import WHOLE_PERCENT
from placer_models.pod import Gang, PodSpec
from placer_models.policy import BindPolicy

WORKERS = 2


class RivalAnswer(NamedTuple):
    """What the rival made of a batch.

    Attributes:
        placed: What is placed of each priority, the higher one first, in `points_a_count`.
        where: Pod name -> node name.

    """

    placed: tuple[int, ...]
    where: dict[str, str]


def points_a_count(instance: Instance) -> int:
    """Return of how many points a count of what is placed is one.

    Two are one pod. Where gangs have members above their minimum, which are worth one point each,
    points are counted.
    """
    return 1 if any(gang.minimum < len(gang.pods) for gang in instance.gangs) else 2


def rival(instance: Instance, seconds: float, workers: int = WORKERS, seed: int = 0) -> RivalAnswer:
    """Return what the plain model places of each priority."""
    ends_s = time.monotonic() + seconds
    model = CpModel()
    priorities = sorted({gang.priority for gang in instance.gangs}, reverse=True)
    pods = [pod for gang in instance.gangs for pod in gang.pods]
    placed = [model.new_bool_var(f"placed[{i}]") for i in range(len(pods))]
    assign = [
        [model.new_bool_var(f"assign[{i},{j}]") for j in range(len(instance.nodes))]
        for i in range(len(pods))
    ]
    for literal, row in zip(placed, assign, strict=True):
        model.add(sum(row) == literal)
    variables = [*placed, *(x for row in assign for x in row)]
    for j, node in enumerate(instance.nodes):
        there = [(pod.spec, row[j]) for pod, row in zip(pods, assign, strict=True)]
        model.add(sum(x for spec, x in there if not selected(node, spec)) == 0)
        variables += fill(model, node.machine, there)
    variables += keep_apart_and_spread(model, instance, assign)
    worth: dict[int, list[LinearExpr]] = {priority: [] for priority in priorities}
    literals = iter(placed)
    for gang in instance.gangs:
        members = [next(literals) for _ in gang.pods]
        runs = members[0] if len(members) == 1 else all_or_nothing(model, gang, members)
        if runs is not members[0]:
            variables.append(runs)
        worth[gang.priority] += (
            members if points_a_count(instance) == 2 else [*members, gang.minimum * runs]
        )
    reached: list[int] = []
    where: dict[str, str] = {}
    for turn, priority in enumerate(priorities):
        mine = sum(worth[priority])
        model.maximize(mine)
        solver = CpSolver()
        solver.parameters.num_workers = workers
        solver.parameters.random_seed = seed
        left_s = max(0.01, ends_s - time.monotonic())
        solver.parameters.max_time_in_seconds = (
            left_s if turn + 1 == len(priorities) else left_s / 2
        )
        found = solver.solve(model) in (OPTIMAL, FEASIBLE)
        reached.append(round(solver.objective_value) if found else 0)
        model.add(mine >= reached[-1])
        if found:
            model.clear_hints()
            for variable in variables:
                model.add_hint(variable, solver.value(variable))
            where = {
                pod.name: node.name
                for pod, row in zip(pods, assign, strict=True)
                for node, x in zip(instance.nodes, row, strict=True)
                if solver.value(x)
            }
    return RivalAnswer(tuple(reached), where)


def selected(node: Node, spec: PodSpec) -> bool:
    """Return whether the node has each label that the pod asks for."""
    return set(spec.node_selector) <= set(node.labels)


def all_or_nothing(model: CpModel, gang: Gang, members: Sequence[IntVar]) -> IntVar:
    """Return the literal that the gang runs: at least its minimum then, else nobody."""
    runs = model.new_bool_var(f"runs[{gang.name}]")
    model.add(sum(members) >= gang.minimum * runs)
    for member in members:
        model.add_implication(member, runs)
    return runs


def keep_apart_and_spread(
    model: CpModel, instance: Instance, assign: Sequence[Sequence[IntVar]]
) -> list[IntVar]:
    """Hold pods that ask so to one a node, or to an even spread over zones, set by set.

    Return, for each set that spreads, how many pods the zone with the fewest has.
    """
    sets: defaultdict[PodSpec, list[Sequence[IntVar]]] = defaultdict(list)
    pods = [pod for gang in instance.gangs for pod in gang.pods]
    for pod, row in zip(pods, assign, strict=True):
        sets[pod.spec].append(row)
    zones: defaultdict[str, list[int]] = defaultdict(list)
    for j, node in enumerate(instance.nodes):
        zones[dict(node.labels).get(ZONE, "")].append(j)
    fewest = []
    for spec, rows in sets.items():
        if any(term.labels != spec.labels or not term.apart for term in spec.affinity):
            raise ValueError("the rival has pods that keep apart from their own set alone")
        if spec.affinity:
            for j in range(len(instance.nodes)):
                model.add(sum(row[j] for row in rows) <= 1)
        for spread in spec.spread:
            least = model.new_int_var(0, len(rows), "")
            fewest.append(least)
            for nodes in zones.values():
                there = sum(row[j] for row in rows for j in nodes)
                model.add(there >= least)
                model.add(there <= least + spread.max_skew)
    return fewest


def fill(model: CpModel, machine: Machine, there: Sequence[tuple[PodSpec, IntVar]]) -> list[IntVar]:
    """Hold one node to what it has; return the literals for parts of its GPUs.

    Whole GPUs are counted, and whole cores where pods own them. Where pods ask for a part of
    one GPU, each has a literal for each GPU.
    """
    topology = machine.topology
    memory = sum(numa.memory_bytes for numa in topology.numa_nodes) // MIB
    asked = [(spec.requests, x) for spec, x in there]
    owners = [(spec, x) for spec, x in there if spec.qos.owns_cpus]
    if not owners:
        model.add(sum(one.cpu_milli * x for one, x in asked) <= 1000 * len(topology.online))
    else:
        if len(owners) < len(there) or any(s.bind is not BindPolicy.FULL_PCPUS for s, _ in owners):
            raise ValueError("the rival has pods that own whole cores, or none that own any")
        cores = len({cpu.core for cpu in topology.cpus})
        milli = 1000 * len(topology.online) // cores
        model.add(sum(-(-spec.requests.cpu_milli // milli) * x for spec, x in owners) <= cores)
    model.add(sum(one.memory_bytes // MIB * x for one, x in asked) <= memory)
    wanted = [(request, x) for one, x in asked for request in one.devices]
    parts = [(request.share, x) for request, x in wanted if request.share is not None]
    if len(parts) < len(wanted):
        if parts:
            raise ValueError("the rival has whole GPUs or parts of GPUs, not both in one batch")
        model.add(sum(request.count * x for request, x in wanted) <= len(machine.devices))
    held: list[IntVar] = []
    rows = [[model.new_bool_var("") for _ in machine.devices] for _ in parts]
    for (_, x), row in zip(parts, rows, strict=True):
        model.add(sum(row) == x)
        held += row
    for k in range(len(machine.devices) if parts else 0):
        percent = sum((s.percent or 0) * row[k] for (s, _), row in zip(parts, rows, strict=True))
        model.add(percent <= WHOLE_PERCENT)
    return held
