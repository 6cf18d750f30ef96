"""Reasons of refusals by columns: those that a look at each node by itself finds."""

from collections.abc import Iterator
from dataclasses import replace
from random import Random

import pytest

from greedy import roomy
from mixed_worlds import mixed_instance
from placer.scheduler import Scheduler
from placer.scheduling.decision import Batch
from placer.search import kept_blockers
from placer.search.options import Engine, SolveOptions
from placer.search.reasons import by_columns
from placer.search.reasons.stages import NodesAtOccupancyStage
from placer.state.requirements import PodRequirements
from placer_models.cluster import Instance
from placer_models.placement import Unplaced
from placer_models.pod import lone_gang, pods_of_gangs
from placer_models.reach import without_asks_beyond_node
from placer_models.reasons import Blocker

WORLDS = 6
"""How many worlds one test looks at."""

NEVER = 1_000_000
"""More nodes than there are."""


def refusals(world: Instance, seed: int) -> list[Unplaced]:
    """Return who gets no place, and why, of three times the pods of a world, one by one."""
    scheduler = Scheduler(world.nodes, world.running)
    pods = [without_asks_beyond_node(pod) for pod in pods_of_gangs(world.gangs)]
    Random(seed).shuffle(pods)
    found: list[Unplaced] = []
    for number, pod in enumerate(3 * pods):
        gang = lone_gang(replace(pod, name=f"{pod.name}-{number}"))
        decision = scheduler.place(
            Batch((gang,)), 600.0, options=SolveOptions(Engine.GREEDY), skip_illegal=True
        )
        found += getattr(decision.answer, "unplaced", ())
    return found


@pytest.mark.parametrize("batch", range(6), ids="batch {}".format)
def test_columns_tell_what_single_nodes_tell(batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Whatever words pods and nodes have: the same blockers, as often, in the same order, whether
    nodes are looked at by columns or one by one; and columns tell some of them.
    """
    told = 0
    plainly = by_columns.blockers_of_many_nodes

    def counted(
        look: by_columns.NodeBlockerInputs, unknown: kept_blockers.NodeIndices
    ) -> Iterator[tuple[Blocker, kept_blockers.NodeIndices]]:
        nonlocal told
        for blocker, nodes in plainly(look, unknown):
            told += len(nodes)
            yield blocker, nodes

    monkeypatch.setattr("placer.search.reasons.stages.blockers_of_many_nodes", counted)
    for seed in range(1000 * batch, 1000 * batch + WORLDS):
        for world in (mixed_instance(seed), roomy.instance(seed)):
            monkeypatch.setattr(kept_blockers, "MANY", 1)
            by_columns_found = refusals(world, seed)
            monkeypatch.setattr(kept_blockers, "MANY", NEVER)
            assert by_columns_found == refusals(world, seed), seed
    assert told


def refused_together(world: Instance) -> tuple[Unplaced, ...]:
    """Return who gets no place, and why, of three times the pods of a world in one batch."""
    pods = [*pods_of_gangs(world.gangs)]
    gangs = tuple(
        lone_gang(replace(pod, name=f"{pod.name}-{number}")) for number, pod in enumerate(3 * pods)
    )
    scheduler = Scheduler(world.nodes, world.running)
    options = SolveOptions(Engine.GREEDY)
    decision = scheduler.place(Batch(gangs), 600.0, options=options, skip_illegal=True)
    return getattr(decision.answer, "unplaced", ())


@pytest.mark.parametrize("batch", range(6), ids="batch {}".format)
def test_nodes_that_a_batch_left_alone_keep_their_blockers(
    batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    Nodes to which no pod of the batch has come block a pod as they did before: the same blockers,
    as often, in the same order, as if each node were looked at again.
    """
    taken_over = 0
    known_before = NodesAtOccupancyStage.known_before

    def counted(
        stage: NodesAtOccupancyStage, ask: PodRequirements
    ) -> kept_blockers.AskBlockerByNode | None:
        nonlocal taken_over
        known = known_before(stage, ask)
        taken_over += known is not None
        return known

    for seed in range(1000 * batch, 1000 * batch + WORLDS):
        for world in (mixed_instance(seed), roomy.instance(seed)):
            monkeypatch.setattr(NodesAtOccupancyStage, "known_before", counted)
            found = refused_together(world)
            monkeypatch.setattr(NodesAtOccupancyStage, "known_before", lambda stage, ask: None)
            assert found == refused_together(world), seed
    assert taken_over
