"""The last tier of many equal pods of the shared pool, strategy by strategy.

50 LS pods on 1,000 nodes of three machines of the catalogue: idle ones, and ones on which
other pods run, no two alike. Per strategy: the tiers of the greedy and the joint answer, on
how many nodes the pods are, whether that is proven, and in what time. The rival is first
fit: each pod on the first node with room, measured by the same judge.

Run: python benchmarks/strategies.py [PODS] [NODES] [SECONDS]
"""

from dataclasses import replace
from random import Random
from time import perf_counter

from _arguments import numbers_asked
from _timing import timed
from _worlds import lone, running_pod, spec

from placer.counting.account import accounts_of
from placer.counting.placements import NodeIdAssignmentFailure, realise_choices
from placer.judge.measure import measure
from placer.search.options import Engine, SolveOptions
from placer.search.plain_pods import plain_choice_on
from placer.search.solver import solve
from placer.state.batch import build_problem
from placer_models.cluster import Instance, Node
from placer_models.goals import TIERS_OF
from placer_models.machines.catalogue import load_machine
from placer_models.node_strategy import NodeStrategy
from placer_models.placement import PartlyPlaced, Placed, Placement
from placer_models.pod import Pod
from placer_models.policy import QosClass

SEED = 7
MACHINES = ("epyc-7402-nps1", "xeon-6430-2s", "dgx-a100")


def pod(name: str, cpu_milli: int, memory_gib: int) -> Pod:
    return Pod(name, "default", spec(QosClass.LS, cpu_milli, memory_gib))


def cluster(count: int, pods: int, *, busy: bool) -> Instance:
    """Return nodes, on which one to six other pods run or none, and equal pods that wait."""
    rng = Random(SEED)
    machines = [load_machine(name) for name in MACHINES]
    nodes = tuple(Node(f"n{i:05}", rng.choice(machines)) for i in range(count))
    running = []
    for node in nodes if busy else ():
        topology = node.machine.topology
        for i in range(rng.randint(1, 6)):
            old = pod(f"{node.name}-{i}", rng.randrange(500, 6_000), rng.randint(1, 30))
            numa_node = rng.choice(topology.numa_nodes)
            memory = ((numa_node.id, old.spec.requests.memory_bytes),)
            running.append(running_pod(old, node.name, topology.online, memory_bytes=memory))
    waiting = [pod(f"p{i}", 4_000, 8) for i in range(pods)]
    return Instance(nodes, tuple(map(lone, waiting)), running=tuple(running))


def first_fit(instance: Instance) -> Placement:
    """Place each pod on the first node whose sums have room for it."""
    accounts = accounts_of(instance)
    problem = build_problem(instance, accounts)
    left = [list(node.amounts) for node in problem.nodes]
    choices = {}
    for index in range(len(problem.pods)):
        shape = problem.shape_of(index)
        for node, room in enumerate(left):
            wants = shape.amounts_on(problem.nodes[node])
            if all(have >= want for have, want in zip(room, wants, strict=True)):
                left[node] = [have - want for have, want in zip(room, wants, strict=True)]
                choices[index] = plain_choice_on(problem, node)
                break
    placement = realise_choices(instance, accounts, problem, choices)
    assert not isinstance(placement, NodeIdAssignmentFailure)
    return placement


def show(what: str, instance: Instance, placement: Placement, took_s: float, proof: str) -> None:
    own = TIERS_OF[instance.strategy]
    worth = measure(instance, placement)[-len(own) :]
    told = ", ".join(f"{tier.name} {value:,}" for tier, value in worth)
    nodes = len({place.node for place in placement.pods})
    print(f"    {what:10} {took_s:7.2f} s  {told}; {nodes} nodes{proof}")


def report(title: str, instance: Instance, limit_s: float) -> None:
    print(title)
    for strategy in NodeStrategy:
        asked = replace(instance, strategy=strategy)
        print(f"  {strategy}")
        took_s, placement = timed(perf_counter, first_fit, asked)
        show("first fit", asked, placement, took_s, "")
        for engine in (Engine.GREEDY, Engine.AUTO):
            options = SolveOptions(engine, time_limit_s=limit_s, seed=SEED)
            took_s, answer = timed(perf_counter, solve, asked, options)
            assert isinstance(answer, Placed | PartlyPlaced)
            last = answer.tiers[-1]
            open_ = "" if last.bound is None else f", bound {last.bound}, gap {last.gap}"
            proof = ", proven" if last.proven else open_ or ", no bound"
            proof = proof if engine is Engine.AUTO else ""
            show(engine.value, asked, answer.placement, took_s, proof)


def main() -> None:
    said = numbers_asked(__doc__, pods=50, nodes=1_000, seconds=20)
    pods, nodes, limit_s = said.pods, said.nodes, said.seconds
    for busy in (False, True):
        title = f"{pods} equal LS pods on {nodes:,} {'busy' if busy else 'idle'} nodes"
        report(title, cluster(nodes, pods, busy=busy), limit_s)


if __name__ == "__main__":
    main()
