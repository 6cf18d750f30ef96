"""Deadlines: the greedy answer is given however late it is, and a halt is a deadline (G2)."""

from dataclasses import replace

import pytest

from mixed_worlds import mixed_instance
from placer.search import joint_search, neighbourhoods
from placer.search.halt import SearchHalt
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance
from placer_models.placement import GaveUp, Infeasible, PartlyPlaced, Placed, Placement
from worlds import tiny_instance


def options(time_limit_s: float, engine: Engine = Engine.AUTO) -> SolveOptions:
    return SolveOptions(engine, time_limit_s, workers=1, seed=1)


def placement_of(instance: Instance, solving: SolveOptions) -> Placement:
    found = solve(instance, solving)
    return Placement() if isinstance(found, Infeasible | GaveUp) else found.placement


@pytest.mark.parametrize("engine", Engine)
def test_the_greedy_answer_is_never_cut_short(engine: Engine) -> None:
    """
    No time at all, and whatever greedy finds with all the time there is comes back.
    """
    for seed in range(25):
        for instance in (tiny_instance(seed), mixed_instance(seed)):
            greedy = placement_of(instance, options(60, Engine.GREEDY))

            assert placement_of(instance, options(1e-9, engine)) == greedy


def test_a_halted_search_answers_with_what_it_has() -> None:
    """
    Ended before anything is searched, the answer is the greedy one; reasons may lack the time to
    prove that there is none.
    """
    for seed in range(25):
        instance = tiny_instance(seed)
        halt = SearchHalt()
        halt.call()
        greedy = placement_of(instance, options(60, Engine.GREEDY))

        assert placement_of(instance, replace(options(60), halt=halt)) == greedy


def test_a_halt_ends_what_runs() -> None:
    """
    Called when the first tier is about to be solved: no other tier is.
    """
    halted = []
    for seed in range(25):
        halt, told = SearchHalt(), []

        def tell(words: str, halt: SearchHalt = halt, told: list[str] = told) -> None:
            told.append(words)
            if words.startswith("tier"):
                halt.call()

        solve(tiny_instance(seed), replace(options(60, Engine.EXACT), halt=halt), tell)
        halted.append(sum(words.startswith("tier") for words in told))

    assert set(halted) == {0, 1}


def test_time_that_is_left_goes_on_being_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A search that gives up long before the limit is begun again, until the time is over.
    """
    for size in ("MOST_ASSIGNMENTS", "MOST_LINKED_ASSIGNMENTS", "FEW_ASSIGNMENTS"):
        monkeypatch.setattr(joint_search, size, 0)
    monkeypatch.setattr(neighbourhoods, "FRUITLESS_ROUNDS", 2)
    halt, told = SearchHalt(), []

    def tell(words: str) -> None:
        told.append(words)
        if words.startswith("neighbourhood 1,") and told.count(words) == 3:
            halt.call()

    answer = solve(tiny_instance(8), replace(options(60), halt=halt), tell)

    assert halt.called_s is not None
    assert isinstance(answer, Placed | PartlyPlaced)
    assert not all(tier.proven for tier in answer.tiers)
