"""Equal pods of a node that the model counts together, and those that it must not."""

from answers import expect
from greedy.small import Numa, machine
from judge.hand import node, pod, world
from placer.judge.measure import measure
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance
from placer_models.goals import ALIGNMENT, Tier
from placer_models.placement import Placed
from placer_models.policy import AlignmentPolicy, BindPolicy, QosClass


def values(instance: Instance) -> dict[Tier, int]:
    """Return the proven value of each tier; all pods have a place."""
    answer = expect(Placed, solve(instance, SolveOptions(engine=Engine.EXACT, workers=1, seed=1)))
    assert all(one.proven for one in answer.tiers)
    found = {one.tier: one.value for one in answer.tiers}
    assert found == dict(measure(instance, answer.placement))
    return found


def test_whole_cores_can_be_dealt_out_to_two_pods() -> None:
    """
    Two pods of 3 CPUs have one whole core each, never three cores together.
    """
    pods = [pod(f"p{i}", 3, bind=BindPolicy.FULL_PCPUS) for i in range(2)]
    cores = machine(Numa((2, 2)), Numa((2,)), Numa((2, 2)))

    assert values(world(*pods, nodes=[node(machine=cores)]))


def test_memory_of_two_numa_nodes_is_dealt_out_pod_by_pod() -> None:
    """
    Three pods of 3 bytes are in 10 bytes, one of them on both NUMA nodes of 5 bytes.
    """
    pods = [pod(f"p{i}", 0.1, memory=3, qos=QosClass.LS) for i in range(3)]
    halves = machine(Numa(memory_bytes=5), Numa(memory_bytes=5))
    instance = world(*pods, nodes=[node(machine=halves, alignment=AlignmentPolicy.BEST_EFFORT)])

    assert values(instance)[ALIGNMENT] == 1
