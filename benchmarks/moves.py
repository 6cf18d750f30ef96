"""A fragmented cluster repacked: what is placed with a budget of moves, and without.

Nodes of 8 GPUs run small pods scattered over them; pods that want all of a node wait. Run:
python benchmarks/moves.py [NODES] [SECONDS]. For each budget it prints what is placed, the
bound, the moves, and the time; the first row, without moves, is the baseline.
"""

from random import Random
from time import perf_counter

from _arguments import numbers_asked
from _timing import timed
from _worlds import lone, running_pod, spec

from placer.search.options import SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance, Node
from placer_models.device import GPU
from placer_models.goals import MOVES
from placer_models.machines.catalogue import load_machine
from placer_models.moves import moves_in_answer
from placer_models.placement import DeviceGrant, GaveUp, Infeasible, Placement
from placer_models.pod import Pod
from placer_models.policy import QosClass

MACHINE = load_machine("p4d-24xlarge")
CORES = sorted(MACHINE.topology.cores.values(), key=min)


def fragmented(nodes: int, budget: int) -> Instance:
    """Return nodes of which each runs one to three pods of one to two GPUs."""
    rng = Random(7)
    running = []
    for i in range(nodes):
        free = list(range(8))
        for j in range(rng.choice((1, 1, 2, 3))):
            gpus = [free.pop(rng.randrange(len(free))) for _ in range(rng.choice((1, 1, 2)))]
            pod = Pod(
                f"small-{i}-{j}", "default", spec(QosClass.LSR, 4000 * len(gpus), gpus=len(gpus))
            )
            cpus = frozenset().union(*CORES[4 * j : 4 * j + 2 * len(gpus)])
            grants = tuple(DeviceGrant(GPU, minor) for minor in sorted(gpus))
            running.append(running_pod(pod, f"n{i:03}", cpus, devices=grants))
    large = [
        Pod(f"large-{i}", "default", spec(QosClass.LSR, 32_000, gpus=8)) for i in range(nodes // 4)
    ]
    return Instance(
        nodes=tuple(Node(f"n{i:03}", MACHINE) for i in range(nodes)),
        gangs=tuple(map(lone, large)),
        running=tuple(running),
        move_budget=budget,
    )


def main(nodes: int, seconds: float) -> None:
    print(f"{nodes} nodes of {MACHINE.name}, {nodes // 4} pods of 8 GPUs wait; {seconds:g} s each")
    print("budget  placed  points  bound  moves  moves' bound  seconds")
    for budget in (0, 1, 2, 4, 8, 16):
        instance = fragmented(nodes, budget)
        options = SolveOptions(time_limit_s=seconds, workers=2, seed=1)
        took_s, answer = timed(perf_counter, solve, instance, options)
        if isinstance(answer, Infeasible | GaveUp):
            proof = "proven" if isinstance(answer, Infeasible) else "not proven"
            print(f"{budget:6}  {0:6}  none, {proof:30}  {took_s:7.2f}")
            continue
        moved = len(moves_in_answer(instance, answer.placement))
        tiers = {value.tier: value for value in answer.tiers}
        first, moves = answer.tiers[0], tiers.get(MOVES)
        print(
            f"{budget:6}  {len(_placed(answer.placement, instance)):6}  {first.value:6}  "
            f"{first.bound!s:>5}  {moved:5}  {moves.bound if moves else 0!s:>12}  {took_s:7.2f}"
        )


def _placed(placement: Placement, instance: Instance) -> set[tuple[str, str]]:
    running = {runner.pod.key for runner in instance.running}
    return {place.key for place in placement.pods} - running


if __name__ == "__main__":
    said = numbers_asked(__doc__, nodes=16, seconds=10.0)
    main(said.nodes, said.seconds)
