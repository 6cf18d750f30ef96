"""Gangs of 16 to 64 pods on 500 nodes in racks, blocks and zones, part of them taken.

The same gangs ask for nothing, would like a rack and a block, need a block, need a rack
or nothing of it, come in multiples to each rack, or spread over racks. Per kind: pods
placed, and the tiers `placed` and `gathering` of the greedy answer and of the joint one
with a time limit, with their bounds and times.

Run: python benchmarks/gangs.py [SECONDS] [NODES]
"""

import random
from dataclasses import replace
from time import perf_counter

from _arguments import numbers_asked
from _timing import timed
from _worlds import gang, running_pod, spec

from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance, Node, RunningPod
from placer_models.device import GPU
from placer_models.goals import GATHERING
from placer_models.machines.catalogue import load_machine
from placer_models.network import GangNetworkLevelRule, GangNetworkLevelRuleKind
from placer_models.placement import DeviceGrant, PartlyPlaced, Placed, TierValue
from placer_models.pod import Gang, Pod
from placer_models.policy import QosClass, RequiredOrPreferred

SEED = 11
RACK, BLOCK, ZONE = 8, 40, 250
"""Nodes of a domain of each level."""

SHARE_OF_GPUS = 0.6
"""What the gangs ask for, of the GPUs that are free."""

ASKING: dict[str, tuple[GangNetworkLevelRule, ...]] = {
    "nothing": (),
    "prefer rack, block": (
        GangNetworkLevelRule(
            "rack", GangNetworkLevelRuleKind.GATHER, RequiredOrPreferred.PREFERRED
        ),
        GangNetworkLevelRule(
            "block", GangNetworkLevelRuleKind.GATHER, RequiredOrPreferred.PREFERRED
        ),
    ),
    "require block": (GangNetworkLevelRule("block", GangNetworkLevelRuleKind.GATHER),),
    "require block, prefer rack": (
        GangNetworkLevelRule("block", GangNetworkLevelRuleKind.GATHER),
        GangNetworkLevelRule(
            "rack", GangNetworkLevelRuleKind.GATHER, RequiredOrPreferred.PREFERRED
        ),
    ),
    "require rack": (GangNetworkLevelRule("rack", GangNetworkLevelRuleKind.GATHER),),
    "multiples of 4 in a rack": (
        GangNetworkLevelRule("rack", GangNetworkLevelRuleKind.MULTIPLES, count=4),
    ),
    "at most 4 in a rack": (
        GangNetworkLevelRule("rack", GangNetworkLevelRuleKind.SPREAD, count=4),
    ),
}


def fleet(count: int, rng: random.Random) -> tuple[tuple[Node, ...], tuple[RunningPod, ...]]:
    """Return nodes in three levels, and pods that hold some of their GPUs."""
    machine = load_machine("dgx-a100")
    nodes, running = [], []
    for i in range(count):
        levels = {"block": f"b{i // BLOCK}", "rack": f"r{i // RACK}", "zone": f"z{i // ZONE}"}
        nodes.append(Node(f"n{i:03}", machine, domains=tuple(sorted(levels.items()))))
        held = rng.choice((0, 0, 0, 2, 4, 8))
        if held:
            asked = spec(QosClass.LS, 0, gpus=held)
            grants = tuple(DeviceGrant(GPU, minor) for minor in range(held))
            one = Pod(f"r{i}", "default", asked)
            cpus = machine.topology.online
            running.append(running_pod(one, f"n{i:03}", cpus, devices=grants))
    return tuple(nodes), tuple(running)


def gangs(free: int, rng: random.Random) -> tuple[Gang, ...]:
    """Return gangs that ask for a share of the free GPUs, each pod for 1 to 8."""
    found: list[Gang] = []
    left = int(SHARE_OF_GPUS * free)
    while left > 0:
        size, gpus = rng.choice((16, 24, 32, 48, 64)), rng.choice((1, 1, 2, 4, 8))
        asked = spec(QosClass.LSR, 4000 * gpus, gpus=gpus)
        found.append(gang(f"g{len(found)}", asked, size, size * 3 // 4))
        left -= size * gpus
    return tuple(found)


def told(value: TierValue) -> str:
    bound = "?" if value.bound is None else str(value.bound)
    return f"{value.value}{'' if value.proven else f' (bound {bound})'}"


def measured(instance: Instance, engine: Engine, seconds: float) -> str:
    """Return pods placed, the tiers and the time of one solve."""
    options = SolveOptions(engine=engine, time_limit_s=seconds, workers=2, seed=1)
    took_s, answer = timed(perf_counter, solve, instance, options)
    if not isinstance(answer, Placed | PartlyPlaced):
        return f"{engine:7} {type(answer).__name__} {took_s:6.1f} s"
    first = answer.tiers[0]
    gathering = [value for value in answer.tiers if value.tier == GATHERING]
    return (
        f"{engine:7} {len(answer.placement.pods):5} pods  placed {told(first):18} "
        f"gathering {told(gathering[0]) if gathering else '-':16} {took_s:6.1f} s"
    )


def main() -> None:
    said = numbers_asked(__doc__, seconds=10.0, nodes=500)
    seconds, count = said.seconds, said.nodes
    rng = random.Random(SEED)
    nodes, running = fleet(count, rng)
    free = 8 * count - sum(len(runner.placement.devices) for runner in running)
    waiting = gangs(free, rng)
    pods = sum(len(one.pods) for one in waiting)
    print(f"{count} nodes, {free} GPUs free; {len(waiting)} gangs, {pods} pods")
    for name, levels in ASKING.items():
        asking = tuple(replace(one, levels=levels) for one in waiting)
        instance = Instance(nodes, asking, running=running)
        print(name)
        for engine in (Engine.GREEDY, Engine.AUTO):
            print("   ", measured(instance, engine, seconds), flush=True)


if __name__ == "__main__":
    main()
