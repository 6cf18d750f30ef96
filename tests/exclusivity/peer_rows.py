"""Rows of Koordinator's CPU accumulator in our form, and what Placer answers to them.

A row is one pod on one node. The running pods of one exclusive policy are one pod, so that
none of them has fallen back. Other rows say why they are left out.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from even_topologies import even_topology
from placer.judge.breaches import breaches
from placer.judge.measure import measure
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance, Machine, Node, RunningPod
from placer_models.cpuset import CpuSet, parse_cpu_list
from placer_models.goals import SHARED_CORES, SHARED_NUMA_NODES
from placer_models.placement import (
    ContainerPlacement,
    PartlyPlaced,
    Placed,
    Placement,
    PodPlacement,
)
from placer_models.pod import Container, Pod, PodSpec, Resources
from placer_models.policy import (
    AlignmentPolicy,
    BindPolicy,
    CpuLocalityWish,
    ExclusivePolicy,
    QosClass,
)
from tiny_pods import lone

Row = Mapping[str, Any]

TABLE = Path(__file__).parent / "data" / "koordinator_cpus.json"

POLICIES = {
    "-": ExclusivePolicy.NONE,
    "P": ExclusivePolicy.PCPU_LEVEL,
    "N": ExclusivePolicy.NUMA_NODE_LEVEL,
}
BINDS = {"F": BindPolicy.FULL_PCPUS, "S": BindPolicy.SPREAD_BY_PCPUS}


def rows() -> list[Row]:
    """Return all rows, those left out too."""
    found: list[Row] = json.loads(TABLE.read_text(encoding="utf-8"))["rows"]
    return found


def instance_of(row: Row) -> Instance:
    """Return the row's node, what runs there and the pod that waits."""
    node = Node(
        "n", _machine(row["machine"]), reserved_cpus=parse_cpu_list(row.get("reserved", ""))
    )
    count, bind, policy = row["ask"].split()
    waiting = _pod("new", int(count), POLICIES[policy], BINDS[bind])
    # As few NUMA nodes, then packages, as can be: what the peer looks at.
    spec = replace(
        waiting.spec, alignment=AlignmentPolicy.BEST_EFFORT, locality=(CpuLocalityWish.PACKAGE,)
    )
    return Instance(
        (node,),
        (lone(replace(waiting, spec=spec)),),
        running=tuple(
            _running(f"held-{letter}", POLICIES[letter], parse_cpu_list(cpus))
            for letter, cpus in row.get("held", {}).items()
        ),
    )


def ours(instance: Instance) -> CpuSet | None:
    """Return the CPUs that the exact engine gives to the pod; None: it has no place."""
    answer = solve(instance, SolveOptions(engine=Engine.EXACT, workers=1, seed=1))
    if isinstance(answer, Placed | PartlyPlaced):
        return answer.placement.pods[0].cpuset
    return None


def worth(instance: Instance, cpus: CpuSet) -> tuple[int, ...]:
    """Return what a choice of CPUs is worth, less is better.

    Shared cores, shared NUMA nodes; NUMA nodes, packages; cores (more under Spread).
    """
    (gang,), (node,) = instance.gangs, instance.nodes
    spec = gang.pods[0].spec
    place = PodPlacement("new", "default", None, "n", cpus, (ContainerPlacement("main", cpus),))
    assert breaches(instance, Placement((place,))) == ()
    values = dict(measure(instance, Placement((place,))))
    topology = node.machine.topology.cpu
    cores = len({topology[cpu].core for cpu in cpus})
    return (
        values.get(SHARED_CORES, 0),
        values.get(SHARED_NUMA_NODES, 0),
        len({topology[cpu].numa_node for cpu in cpus}),
        len({topology[cpu].package for cpu in cpus}),
        -cores if spec.bind is BindPolicy.SPREAD_BY_PCPUS else cores,
    )


def compared() -> Iterator[tuple[Row, str]]:
    """Yield each row with how our choice compares to the peer's."""
    for row in rows():
        if "leftOut" in row:
            yield row, f"left out: {row['leftOut']}"
            continue
        instance = instance_of(row)
        cpus = ours(instance)
        if cpus is None or "peer" not in row:
            yield (
                row,
                "equal"
                if cpus is None and "peer" not in row
                else ("worse" if cpus is None else "better"),
            )
            continue
        mine, peers = worth(instance, cpus), worth(instance, parse_cpu_list(row["peer"]))
        yield row, "equal" if mine == peers else "better" if mine < peers else "worse"


def _machine(text: str) -> Machine:
    packages, nodes, cores, threads = map(int, text.split("x"))
    cpus, memory_bytes = packages * nodes * cores * threads, (0,) * (packages * nodes)
    topology = even_topology(cpus, *memory_bytes, threads=threads, packages=packages)
    return Machine(text, "", topology)


def _pod(name: str, cpus: int, policy: ExclusivePolicy, bind: BindPolicy) -> Pod:
    containers = (Container("main", Resources(1000 * cpus)),)
    return Pod(name, "default", PodSpec(containers, qos=QosClass.LSR, bind=bind, exclusive=policy))


def _running(name: str, policy: ExclusivePolicy, cpus: CpuSet) -> RunningPod:
    pod = _pod(name, len(cpus), policy, BindPolicy.DEFAULT)
    return RunningPod(pod, PodPlacement(name, "default", None, "n", cpus))
