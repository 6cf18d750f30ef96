"""``Scheduler.explain``: why pods of a decision have no place (G7)."""

import pytest

from placer.scheduler import Scheduler
from placer.scheduling.errors import ContradictionError, StaleDecisionError
from placer_models.cluster import Node
from scheduler.cluster import BOX, DEADLINE_S, QUICK, batch, pod


@pytest.mark.parametrize("dry_run", [False, True])
def test_a_decision_is_explained(dry_run: bool) -> None:
    """
    Whether or not it was taken meanwhile: as the pods of the batch found the cluster.
    """
    scheduler = Scheduler([Node("n0", BOX), Node("n1", BOX, cordoned=True)])
    wanted = batch(pod("a", 1, gpus=3), pod("b", 1, gpus=3))
    decision = scheduler.place(wanted, DEADLINE_S, dry_run=dry_run, options=QUICK)

    (one,) = scheduler.explain(decision, seconds=30.0)
    assert one.pods == (("default", "b"),)
    assert one.token == "outvoted/device-count"
    assert [holder.pod[1] for holder in one.nearest[0].lacks[0].held_by] == ["a"]
    assert str(one.changes[0].changes[0]) == "uncordon=n1"
    assert scheduler.explain(decision, ("default", "a"), 0.0) == ()


def test_a_stale_decision_is_refused() -> None:
    scheduler = Scheduler([Node("n0", BOX)])
    decision = scheduler.place(batch(pod("a", 1, gpus=5)), DEADLINE_S, options=QUICK)
    scheduler.add_node(Node("n1", BOX))

    with pytest.raises(StaleDecisionError, match=r"made on version 0.*at version 1"):
        scheduler.explain(decision, seconds=0.0)


def test_a_pod_that_does_not_wait_is_refused() -> None:
    scheduler = Scheduler([Node("n0", BOX)])
    decision = scheduler.place(batch(pod("a", 1, gpus=5)), DEADLINE_S, options=QUICK)

    with pytest.raises(ContradictionError, match="no pod or gang 'default/x' waits"):
        scheduler.explain(decision, ("default", "x"), 0.0)
