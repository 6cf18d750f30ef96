"""Devices by a strategy in the Scheduler: given out, and given back to the last one."""

from judge.cases_strategies import EACH, HERE, applying
from placer.scheduler import Scheduler
from placer.scheduling.decision import Batch, lone_gang
from placer.search.options import Engine, SolveOptions
from placer_models.placement import Infeasible, Placed

QUICK = SolveOptions(engine=Engine.EXACT, workers=1, work_limit=5)


def test_what_is_given_by_a_strategy_comes_back() -> None:
    """
    Two NICs beside three GPUs; who wants all NICs waits until these are released.
    """
    scheduler = Scheduler(HERE)
    train = Batch((lone_gang(applying("train", 3, EACH)),))
    host = Batch((lone_gang(applying("host")),))
    decision = scheduler.place(train, 60.0, options=QUICK)
    assert isinstance(decision.answer, Placed)
    assert len(decision.placement.pods[0].minors("rdma")) == 2
    assert isinstance(scheduler.place(host, 60.0, options=QUICK).answer, Infeasible)

    restored = Scheduler.restore(scheduler.snapshot())
    assert restored.account_of("n") == scheduler.account_of("n")
    restored.release([("default", "train")])
    assert restored.account_of("n") == Scheduler(HERE).account_of("n")
    assert restored.place(host, 60.0, options=QUICK).placement.pods[0].minors("rdma") == (0, 1, 2)
    restored.release([("default", "host")])
    assert restored.account_of("n") == Scheduler(HERE).account_of("n")
