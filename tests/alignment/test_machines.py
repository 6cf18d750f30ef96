"""Whole nodes: what merging hints makes of pods there, and what Placer does."""

from collections.abc import Sequence
from copy import deepcopy
from random import Random

import pytest

from alignment.hints import merge
from alignment.peer_rows import Row, name_of, numa_nodes_of, table
from alignment.zones import (
    Amounts,
    Zones,
    homes_of,
    instance_of,
    node_of,
    pod_of,
    providers_of,
    take,
)
from figures import tell
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.placement import GaveUp, Infeasible, PodPlacement
from placer_models.pod import Pod
from placer_models.policy import AlignmentPolicy, AlignmentScope

KAI_ROWS = table("kai")["rows"]
STRICT = (AlignmentPolicy.RESTRICTED, AlignmentPolicy.SINGLE_NUMA_NODE)
WORLDS = range(150)


def merged_on(
    policy: AlignmentPolicy, has: Zones, free: Sequence[dict[str, int]], need: Amounts
) -> frozenset[int] | None:
    """Take the need where a merge of hints wants it; None: the kubelet rejects the pod."""
    everywhere = frozenset(range(len(has)))
    merged = merge(policy, providers_of(has, free, need), numa_nodes=sorted(everywhere))
    numa_nodes = everywhere if merged.affinity is None else merged.affinity
    return numa_nodes if merged.admitted and take(free, numa_nodes, need) else None


def free_in(row: Row) -> list[dict[str, int]]:
    """Return what is free on each NUMA node of the row."""
    free: list[dict[str, int]] = row["free"] if "free" in row else row["has"]
    return free


def kubelets_verdict(row: Row) -> frozenset[int] | None:
    """Return the NUMA nodes on which the row's pod runs; None: it is rejected."""
    policy, has = AlignmentPolicy(row["policy"]), row["has"]
    free = deepcopy(free_in(row))
    if row["scope"] == "pod":
        names = {name for container in row["containers"] for name in container}
        need = {name: sum(c.get(name, 0) for c in row["containers"]) for name in sorted(names)}
        return merged_on(policy, has, free, need)
    used: frozenset[int] = frozenset()
    for container in row.get("init", ()):
        need = {name: amount for name, amount in container.items() if name != "sidecar"}
        left = free if container.get("sidecar") else deepcopy(free)  # the others end, and free all
        numa_nodes = merged_on(policy, has, left, need)
        if numa_nodes is None:
            return None
        used |= numa_nodes if container.get("sidecar") else frozenset()
    for need in row["containers"]:
        numa_nodes = merged_on(policy, has, free, need)
        if numa_nodes is None:
            return None
        used |= numa_nodes
    return used


def placed(has: Zones, free: Zones, pods: Sequence[Pod]) -> tuple[PodPlacement, ...]:
    """Return the pods that Placer finds room for, proven to be as many as can be."""
    options = SolveOptions(engine=Engine.EXACT, workers=1, seed=1, work_limit=20)
    answer = solve(instance_of(has, free, pods), options)
    assert not isinstance(answer, GaveUp)
    if isinstance(answer, Infeasible):
        return ()
    assert answer.tiers[0].proven
    return answer.placement.pods


@pytest.mark.parametrize("row", KAI_ROWS, ids=name_of)
def test_hints_of_a_node_merge_to_kais_verdict(row: Row) -> None:
    """
    KAI predicts the kubelet: hints made of counts and merged, container by container or
    once for the pod, admit the same pods to the same NUMA nodes.
    """
    assert kubelets_verdict(row) == numa_nodes_of(row.get("numa_nodes"))


@pytest.mark.parametrize("row", KAI_ROWS, ids=name_of)
def test_placer_takes_what_kai_admits_and_nothing_else(row: Row) -> None:
    """
    On a node with pods running where KAI says that less is free; to as many NUMA nodes.
    """
    pod = pod_of(
        "p",
        AlignmentPolicy(row["policy"]),
        row["containers"],
        row.get("init", ()),
        AlignmentScope(row["scope"]),
    )

    places = placed(row["has"], free_in(row), [pod])

    assert len(places) == row["admitted"]
    for place in places:
        assert len(homes_of(node_of(row["has"]), pod, place)) == len(
            numa_nodes_of(row["numa_nodes"]) or ()
        )


def test_a_rejection_can_be_needless() -> None:
    """
    The kubelet puts 2 CPUs on the lowest NUMA node, so that 2 GPUs there lack their CPUs.
    Placer puts both pods down, because it looks at both.
    """
    has = [{"cpus": 4, "gpus": 2}, {"cpus": 4}]
    needs = [{"cpus": 2}, {"cpus": 3, "gpus": 2}]
    single = AlignmentPolicy.SINGLE_NUMA_NODE
    free = deepcopy(has)

    in_turn = [merged_on(single, has, free, need) for need in needs]
    together = placed(has, has, [pod_of(f"p{i}", single, [need]) for i, need in enumerate(needs)])

    assert in_turn == [{0}, None]
    assert len(together) == 2


@pytest.mark.check
def test_needless_rejections_are_counted() -> None:
    """
    Pods that arrive one by one at a small node and are merged in turn, against all of
    them together: never more, and as many fewer as rejections were needless.
    """
    pods = rejected = needless = 0
    for seed in WORLDS:
        rng = Random(seed)
        has = [
            {"cpus": rng.randint(2, 8), "gpus": rng.randint(0, 4)} for _ in range(rng.randint(2, 3))
        ]
        wants = [
            (rng.choice(STRICT), {"cpus": rng.randint(1, 5), "gpus": rng.randint(0, 3)})
            for _ in range(4)
        ]
        needs = [(policy, {k: v for k, v in need.items() if v}) for policy, need in wants]
        free = deepcopy(has)

        in_turn = sum(merged_on(policy, has, free, need) is not None for policy, need in needs)
        batch = [pod_of(f"p{i}", policy, [need]) for i, (policy, need) in enumerate(needs)]
        together = len(placed(has, has, batch))

        assert together >= in_turn
        pods += len(needs)
        rejected += len(needs) - in_turn
        needless += together - in_turn
    tell(
        f"{pods} pods on {len(WORLDS)} nodes: {rejected} rejected one by one, {needless} needlessly"
    )
