"""A full fleet of mixed machines and pods: what the joint search adds to greedy.

Nodes of eight kinds of the catalogue, pods that ask for as much as there is: GPU gangs,
latency-critical services, batch. Per size: tier 1 of the greedy answer, of the joint
answer, its bound, the gap, and the share of the gap to the bound that was closed.

Run: python benchmarks/fleet.py [SECONDS] [NODES ...]
"""

import random
from time import perf_counter

from _arguments import add_numbers, parser_for
from _timing import placed_tiers, timed
from _worlds import WHOLE_CORES, gang, lone, nodes_in_turn, spec

from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance
from placer_models.device import GPU
from placer_models.machines.catalogue import load_machine
from placer_models.placement import Answer, PartlyPlaced, Placed
from placer_models.pod import Gang, Pod
from placer_models.policy import AlignmentPolicy, BindPolicy, QosClass

KINDS = (
    "dgx-a100",
    "hgx-h100",
    "dgx-1-v100",
    "rtx-4090-8gpu",
    "epyc-7402-nps1",
    "xeon-6430-2s",
    "a6000-bridged-pairs",
    "polaris",
)


JOBS = (
    spec(QosClass.LSR, 8_000, 32, 1),
    spec(QosClass.LSR, 16_000, 64, 2, alignment=AlignmentPolicy.BEST_EFFORT),
    spec(QosClass.LS, 16_000, 128, 4),
    spec(QosClass.LSR, 24_000, 128, 8),
)
SERVICES = (
    spec(QosClass.LSR, 4_000, 8),
    spec(QosClass.LSE, 6_000, 16, **WHOLE_CORES),
    spec(QosClass.LS, 2_000, 4),
    spec(QosClass.BE, 8_000, 4),
    spec(
        QosClass.LSR,
        12_000,
        24,
        alignment=AlignmentPolicy.SINGLE_NUMA_NODE,
        bind=BindPolicy.SPREAD_BY_PCPUS,
    ),
)


def fleet(count: int, load: float, seed: int = 0) -> Instance:
    """Return nodes, and pods that ask for that share of their GPUs and most of their CPUs."""
    rng = random.Random(seed)
    nodes = nodes_in_turn(count, [load_machine(kind) for kind in KINDS], "n{:04}")
    gpus = sum(d.type == GPU for node in nodes for d in node.machine.devices)
    cpus = sum(len(node.machine.topology.online) for node in nodes)
    gangs: list[Gang] = []
    asked_gpus = asked_cpus = 0
    while asked_gpus < load * gpus:
        job = rng.choices(JOBS, (4, 3, 2, 1))[0]
        size = rng.choice((1, 1, 1, 2, 4))
        minimum = size if rng.random() < 0.7 else max(1, size // 2)
        priority = rng.choice((0, 0, 10))
        gangs.append(gang(f"job-{len(gangs)}", job, size, minimum, priority=priority))
        asked_gpus += size * job.requests.count_of(GPU)
        asked_cpus += size * job.requests.cpu_milli // 1000
    while asked_cpus < 0.8 * load * cpus:
        service = rng.choice(SERVICES)
        pod = Pod(f"service-{len(gangs)}", "default", service)
        gangs.append(lone(pod, rng.choice((0, 10))))
        asked_cpus += service.requests.cpu_milli // 1000
    return Instance(nodes, tuple(gangs))


def points(answer: Answer) -> tuple[int, int | None, int]:
    """Return tier 1 summed over priorities, its bound, and how many pods are left out."""
    if not isinstance(answer, Placed | PartlyPlaced):
        return 0, None, 0
    first = placed_tiers(answer)
    known = [value.bound for value in first if value.bound is not None]
    bound = sum(known) if len(known) == len(first) else None
    return sum(v.value for v in first), bound, len(getattr(answer, "unplaced", ()))


def main(seconds: float, sizes: list[int]) -> None:
    print(
        "nodes   pods  greedy points  left out     s  joint points  left out     s   bound  gap %"
    )
    for count in sizes:
        instance = fleet(count, 1.0 if count <= 32 else 0.9)
        rows = []
        for engine in (Engine.GREEDY, Engine.AUTO):
            options = SolveOptions(engine=engine, time_limit_s=seconds)
            took_s, answer = timed(perf_counter, solve, instance, options)
            rows.append((*points(answer), took_s))
        (greedy, _, out, greedy_s), (joint, bound, left, joint_s) = rows
        pods = sum(len(one.pods) for one in instance.gangs)
        gap = f"{100 * (bound - joint) / bound:5.2f}" if bound else "    -"
        print(
            f"{count:5}  {pods:5}  {greedy:13}  {out:8}  {greedy_s:4.1f}  {joint:12}  {left:8}"
            f"  {joint_s:4.1f}  {bound if bound is not None else '-':>6}  {gap}"
        )


if __name__ == "__main__":
    parser = parser_for(__doc__)
    add_numbers(parser, seconds=10.0)
    parser.add_argument("nodes", type=int, nargs="*", default=[4, 16, 64, 200])
    said = parser.parse_args()
    main(said.seconds, said.nodes)
