"""Batches of the benchmarks: drawn from a seed alone, and the rival's answer is one of ours."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from placer.judge.breaches import breaches
from placer.search.options import SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance
from placer_models.placement import Placed
from placer_models.pod import Gang

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
NAMES = (
    "plain",
    "high",
    "mixed",
    "shares",
    "linked",
    "kinds",
    "cores",
    "gangs",
    "apart",
    "spread",
)
AS_DRAWN_BEFORE = {
    "plain": "989069446b66",
    "high": "9635d5bca1fc",
    "mixed": "6581fbe63783",
    "shares": "ebefb84d8986",
}
"""Family -> what stands for a batch as it was drawn when its figures were first measured."""


@pytest.fixture(scope="module", autouse=True)
def benchmarks() -> Iterator[None]:
    sys.path.insert(0, str(BENCHMARKS))
    yield
    sys.path.remove(str(BENCHMARKS))


def small(name: str, seed: int) -> Instance:
    module: Any = import_module("_full_batches")
    found: Instance = module.batch(module.FAMILIES[name], 4, 1.0, seed)
    return found


def test_each_family_is_known() -> None:
    module: Any = import_module("_full_batches")

    assert tuple(module.FAMILIES) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_batch_is_drawn_from_its_seed_alone(name: str) -> None:
    assert small(name, 3) == small(name, 3)
    assert small(name, 3) != small(name, 4)


@pytest.mark.parametrize("name", AS_DRAWN_BEFORE)
def test_a_batch_stays_what_figures_were_measured_on(name: str) -> None:
    assert digest(small(name, 3)) == AS_DRAWN_BEFORE[name]


@pytest.mark.parametrize(
    "name",
    [
        # The rival proves nothing about these, so it always takes its 30 seconds.
        pytest.param(name, marks=pytest.mark.check if name == "spread" else ())
        for name in NAMES
    ],
)
def test_what_the_rival_places_on_a_node_fits_there(name: str) -> None:
    """
    The rival is worth a comparison where its answers are possible: each pod that it places is
    sent to the node it chose, and all of them have to be placed by our rules.
    """
    model: Any = import_module("_plain_rival")
    instance = small(name, 3)
    answer = model.rival(instance, 30, workers=1, seed=1)
    sent = sent_there(instance, answer.where)

    found = solve(sent, SolveOptions(time_limit_s=60, workers=1, seed=1))

    assert len(answer.where) > 4
    assert isinstance(found, Placed)
    assert not list(breaches(sent, found.placement))
    assert {pod.name: pod.node for pod in found.placement.pods} == answer.where


def test_a_batch_of_the_published_setting_is_drawn_from_its_seed_alone() -> None:
    module: Any = import_module("christensen")
    setting = module.Setting(4, 4, 2, 1.0)
    one = module.batch(setting, 0)

    assert one == module.batch(setting, 0)
    assert one != module.batch(setting, 1)
    assert sum(len(gang.pods) for gang in one.gangs) == 16


def test_the_emulated_default_scheduler_leaves_pods_out_of_batches_that_count() -> None:
    module: Any = import_module("christensen")
    for load in (0.95, 1.05):
        instance, placed = next(module.left_over(module.Setting(4, 4, 2, load)))

        best = solve(instance, SolveOptions(time_limit_s=60, workers=1, seed=1))
        tiers = [t for t in best.tiers if t.tier.name.startswith("placed.")]
        assert sum(placed) < len(instance.gangs)
        assert all(tier.proven for tier in tiers)
        assert tuple(tier.value // 2 for tier in tiers) >= placed


def sent_there(instance: Instance, where: dict[str, str]) -> Instance:
    """Return the pods that have a node, each with a label of that node to go to."""
    nodes = tuple(
        replace(node, labels=tuple(sorted((*node.labels, ("host", node.name)))))
        for node in instance.nodes
    )
    gangs: list[Gang] = []
    for gang in instance.gangs:
        pods = tuple(
            replace(
                pod,
                spec=replace(
                    pod.spec,
                    node_selector=tuple(
                        sorted((*pod.spec.node_selector, ("host", where[pod.name])))
                    ),
                ),
            )
            for pod in gang.pods
            if pod.name in where
        )
        assert not pods or len(pods) >= gang.minimum
        if pods:
            gangs.append(replace(gang, pods=pods))
    return Instance(nodes, tuple(gangs))


def digest(instance: Instance) -> str:
    """Return what stands for all that the nodes have and the pods ask for."""
    told = [
        [
            (n.name, len(n.machine.topology.cpus), len(n.machine.devices), n.labels)
            for n in instance.nodes
        ],
        [n.memory_bytes for node in instance.nodes for n in node.machine.topology.numa_nodes],
        [(g.name, g.priority, g.minimum, g.lone) for g in instance.gangs],
        [(p.name, p.spec.requests) for g in instance.gangs for p in g.pods],
    ]
    return sha256(repr(told).encode()).hexdigest()[:12]
