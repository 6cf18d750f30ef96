"""Pods refused one by one by a Scheduler on a busy fleet, with the reasons for each.

Each asks for all the memory of the largest machine, where a small pod runs on every node.

A pod is the first of its kind where no earlier refusal was of the same; later ones come after
some running pods have ended and others have taken their places, so that nodes have changed.
The baseline, in the same run, is the same Scheduler with all that calls leave forgotten.
Reasons are held against each other: they have to be equal.

Times are CPU times of the one thread that works.

Run: python benchmarks/refusals.py [NODES [PODS]]
"""

from dataclasses import replace
from random import Random

from _arguments import numbers_asked
from _timing import print_times
from _worlds import GIB, running_pod
from greedy_fleet import SPECS
from mixed_places import placed
from scheduler_places import BEFORE_PER_NODE, SEED, crowded, fleet

from placer.scheduler import Scheduler
from placer.scheduling.decision import Decision
from placer.search.options import Engine, SolveOptions
from placer_models.cluster import Node, RunningPod
from placer_models.placement import ContainerPlacement, Unplaced
from placer_models.pod import Container, Pod, PodSpec, Resources
from placer_models.policy import QosClass

CHANGES = 3
"""How many pods come between two that are refused."""


def left_out(decision: Decision) -> tuple[Unplaced, ...]:
    return getattr(decision.answer, "unplaced", ())


def memory_of(node: Node) -> int:
    return sum(node.memory_bytes_in().values())


def asking_for(memory_bytes: int, spec: PodSpec) -> PodSpec:
    (container,) = spec.containers
    requests = replace(container.requests, memory_bytes=memory_bytes)
    return replace(spec, containers=(replace(container, requests=requests),))


def resident(node: Node) -> RunningPod:
    """Return a small pod on the node, so that no node has all of its memory left."""
    topology = node.machine.topology
    container = Container("main", Resources(100, GIB))
    pod = Pod(f"on-{node.name}", "default", PodSpec((container,), QosClass.LS))
    home = topology.numa_nodes[0].id
    parts = (ContainerPlacement("main", topology.online),)
    held = {"memory_bytes": ((home, GIB),), "containers": parts}
    return running_pod(pod, node.name, topology.online, **held)


def main() -> None:
    said = numbers_asked(__doc__, nodes=1_000, pods=60)
    count, pods = said.nodes, said.pods
    rng = Random(SEED)
    nodes = fleet(count)
    scheduler = Scheduler(nodes, tuple(map(resident, nodes)))
    crowded(scheduler, rng, BEFORE_PER_NODE * count)
    options = SolveOptions(engine=Engine.GREEDY, workers=1)
    most = max(map(memory_of, nodes))
    larger = [asking_for(most, spec) for spec in SPECS]
    first, later, forgetful = [], [], []
    seen = set()
    for i in range(pods):
        for j in range(CHANGES):
            placed(scheduler, Pod(f"beside-{i}-{j}", "default", rng.choice(SPECS)), options)
        pod = Pod(f"refused-{i}", "default", rng.choice(larger))
        took_ms, other = placed(Scheduler.restore(scheduler.snapshot()), pod, options)
        again_ms, decision = placed(scheduler, pod, options)
        assert left_out(other) == left_out(decision)
        if decision.placement.pods:
            continue
        forgetful.append(took_ms)
        (later if pod.spec in seen else first).append(again_ms)
        seen.add(pod.spec)
    print(f"{count} nodes, {len(first) + len(later)} of {pods} pods refused")
    print_times("first pod of a kind", first)
    print_times("every later pod", later)
    print_times("all forgotten before, the baseline", forgetful)


if __name__ == "__main__":
    main()
