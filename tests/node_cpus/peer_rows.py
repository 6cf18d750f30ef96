"""Rows of the peers' own tests of choosing CPUs, as instances of one pod on one node.

A data file names machines by what groups their CPUs: ``numa``, ``packages`` (the NUMA
nodes where not given), ``caches``, and how far apart the ``siblings`` of a core are. A row
has a machine, the CPUs that are ``free`` and ``reserved`` (a running pod owns the rest),
what each container asks for (``cpus``, or ``shared`` in milli CPUs), and what the peer
did: its CPUs, or how many caches they were of; nothing: it refused.

What is wanted: ``packed`` is few NUMA nodes, packages, caches and cores, in this order;
``spread`` the same with many cores; ``distributed`` even shares of few NUMA nodes;
``whole`` says that the node takes whole cores only.
"""

from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance, Machine, Node, RunningPod
from placer_models.cpuset import CpuSet, parse_cpu_list
from placer_models.placement import GaveUp, Infeasible, PartlyPlaced, Placed, PodPlacement
from placer_models.pod import Container, Gang, Pod, PodSpec, Resources
from placer_models.policy import (
    AlignmentPolicy,
    BindPolicy,
    CpuLocalityWish,
    NodeBindPolicy,
    NumaStrategy,
    QosClass,
)
from placer_models.topology import Cpu, NumaNode, Topology

DATA = Path(__file__).parent / "data"

Row = dict[str, Any]

Quality = tuple[int, ...]
"""Less is better, the first that differs decides."""


@cache
def table(name: str) -> dict[str, Any]:
    """Return a data file: where it comes from, machines, rows, and what is left out."""
    found: dict[str, Any] = yaml.safe_load((DATA / f"{name}.yaml").read_text("utf-8"))
    return found


def machine_of(name: str, groups: dict[str, Any]) -> Machine:
    """Return a machine of a data file."""
    numa, packages = _by_cpu(groups["numa"]), _by_cpu(groups.get("packages", groups["numa"]))
    caches = _by_cpu(groups.get("caches", []))
    apart = groups.get("siblings", len(numa))
    cpus = tuple(
        Cpu(i, core=i % apart, package=packages[i], numa_node=home, llc=caches.get(i))
        for i, home in sorted(numa.items())
    )
    homes = tuple(NumaNode(home, 0) for home in range(len(groups["numa"])))
    return Machine(name, "", Topology("x86_64", cpus, homes))


def instance_of(row: Row, machine: Machine) -> Instance:
    """Return the pod of a row, and its node with the pod that holds what is not free."""
    reserved = parse_cpu_list(row.get("reserved", ""))
    taken = machine.topology.online - parse_cpu_list(row["free"]) - reserved
    node = Node(
        "n",
        machine,
        reserved_cpus=reserved,
        cpu_bind=NodeBindPolicy.FULL_PCPUS_ONLY if row.get("whole") else NodeBindPolicy.NONE,
        numa_strategy=NumaStrategy.DISTRIBUTE_EVENLY if row["want"] == "distributed" else None,
    )
    owns = "cpus" in row
    amounts = [1000 * count for count in row["cpus"]] if owns else row["shared"]
    even = row["want"] == "distributed"
    spec = PodSpec(
        containers=tuple(
            Container(f"c{i}", Resources(cpu_milli=milli)) for i, milli in enumerate(amounts)
        ),
        qos=QosClass.LSR if owns else QosClass.LS,
        bind=BindPolicy.SPREAD_BY_PCPUS if row["want"] == "spread" else BindPolicy.DEFAULT,
        alignment=AlignmentPolicy.NONE if even else AlignmentPolicy.BEST_EFFORT,
        locality=() if even or not owns else tuple(CpuLocalityWish),
    )
    holder = Pod("holder", "default", _owning(len(taken)))
    place = PodPlacement("holder", "default", None, "n", taken)
    return Instance(
        nodes=(node,),
        gangs=(Gang("p", "default", (Pod("p", "default", spec),), 1, lone=True),),
        running=(RunningPod(holder, place),) if taken else (),
    )


def cpus_of(instance: Instance) -> CpuSet | None:
    """Return the CPUs that our pod owns, none if it shares them; None: it has no place."""
    match solve(instance, SolveOptions(engine=Engine.EXACT, workers=1, seed=1)):
        case Placed(placement, tiers):
            assert all(tier.proven for tier in tiers)
            owns = instance.gangs[0].pods[0].spec.qos.owns_cpus
            return placement.pods[0].cpuset if owns else frozenset()
        case Infeasible():
            return None
        case PartlyPlaced() | GaveUp() as answer:
            raise AssertionError(answer)


def quality(want: str, cpus: CpuSet, topology: Topology) -> Quality:
    """Return how good CPUs are for what is wanted."""
    held = [topology.cpu[cpu] for cpu in cpus]
    shares = Counter(cpu.numa_node for cpu in held)
    cores = len({cpu.core for cpu in held})
    if want == "distributed":
        widest = max(map(len, topology.cores.values()))
        apart = max(shares.values(), default=0) - min(shares.values(), default=0)
        return max(0, apart - widest), len(shares), cores
    groups = len(shares), len({cpu.package for cpu in held}), len({cpu.llc for cpu in held})
    return *groups, -cores if want == "spread" else cores


def _owning(cpus: int) -> PodSpec:
    return PodSpec((Container("main", Resources(cpu_milli=1000 * cpus)),), qos=QosClass.LSR)


def _by_cpu(groups: list[str]) -> dict[int, int]:
    return {cpu: index for index, text in enumerate(groups) for cpu in parse_cpu_list(text)}
