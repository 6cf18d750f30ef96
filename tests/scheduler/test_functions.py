"""Virtual functions in the Scheduler: given out once, and given back."""

from judge.cases_functions import HERE, sharing
from placer.scheduler import Scheduler
from placer.scheduling.decision import Batch, lone_gang
from placer.search.options import Engine, SolveOptions
from placer_models.placement import Infeasible, Placed

QUICK = SolveOptions(engine=Engine.EXACT, workers=1, work_limit=5)


def test_a_virtual_function_is_given_once_and_comes_back() -> None:
    """
    Two of kind a: the third pod waits until one of them is released.
    """
    scheduler = Scheduler(HERE)
    both = Batch((lone_gang(sharing("a")), lone_gang(sharing("b"))))
    assert isinstance(scheduler.place(both, 60.0, options=QUICK).answer, Placed)
    third = Batch((lone_gang(sharing("c")),))

    assert isinstance(scheduler.place(third, 60.0, options=QUICK).answer, Infeasible)
    freed = scheduler.placement_of(("default", "a")).devices
    scheduler.release([("default", "a")])
    decision = scheduler.place(third, 60.0, options=QUICK)
    assert decision.placement.pods[0].devices == freed

    restored = Scheduler.restore(scheduler.snapshot())
    assert restored.account_of("n") == scheduler.account_of("n")
    restored.release([("default", "b"), ("default", "c")])
    assert restored.account_of("n") == Scheduler(HERE).account_of("n")
