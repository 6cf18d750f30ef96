"""Plans of the benchmark: random mixes, and pods of a production trace where it is at hand."""

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from answers import expect
from placer.plan.answer import PurchasePlan
from placer.plan.plan import buy
from placer_models.pod import pods_of_gangs

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def benchmark(name: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a module of the benchmarks."""
    monkeypatch.setattr(sys, "path", [*sys.path, str(BENCHMARKS)])
    return import_module(name)


@pytest.mark.check
def test_a_plan_is_cheaper_than_those_of_naive_buyers(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    On a mix of 3 types and 8 shapes both rivals pay more, and nobody pays less than the bound.
    """
    question = benchmark("_random_mixes", monkeypatch).random_mix(2)
    rivals = benchmark("_buying_rivals", monkeypatch)

    answer = expect(PurchasePlan, buy(question, seconds=30.0, threads=1))

    market = answer.proof.market
    paid = [rivals.buy_one_by_one(market, best_fit=best_fit) for best_fit in (False, True)]
    assert answer.bound <= answer.price < min(map(question.in_currency, paid))


@pytest.mark.slow
def test_all_pods_of_a_trace_get_a_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    8,152 pods on 27 node types: all of them placed and judged, at no less than the bound.
    """
    traces = benchmark("_openb", monkeypatch)
    folder = traces.folder_of_traces(None)
    if folder is None:
        pytest.skip("set PLACER_OPENB to the folder of openb's CSV files")
    question = traces.openb(folder, "default")

    answer = expect(PurchasePlan, buy(question, seconds=30.0))

    assert answer.bound <= answer.price
    placed = {place.key for place in answer.witnesses[0].placement.pods}
    assert placed == {pod.key for pod in pods_of_gangs(question.instance.gangs)}
