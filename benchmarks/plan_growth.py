"""A growth curve of 20 sizes x 3 failures, on one process and on two.

A random mix (`_random_mixes`, seed 0) on a cluster of three zones, each with a few nodes of its
types: nothing fails, or the first zone is lost, or the second one. Each plan has one thread and a
work limit, so that both curves have to be the same. CPU time is told apart for this process, which
hands out the plans, and for those that solve them: what this one takes is what cannot be shared.

Run: python benchmarks/plan_growth.py [STEPS] [WORK]
"""

import json
import os
import time
from dataclasses import replace
from fractions import Fraction
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage

from _arguments import numbers_asked
from _random_mixes import random_mix

from placer.plan.growth import GrowthCurve, solve_plan_at_scales
from placer.plan.question import PlanQuestion
from placer.plan.to_json import plan_growth_to_dict
from placer.sweep.workers import LocalProcessSweepWorkers

ZONES = ("a", "b", "c")
NODES = 8
"""Nodes of each type in a zone."""


def case(lost: str) -> PlanQuestion:
    """Return the question on the zones that are left."""
    question = random_mix(0)
    nodes = tuple(
        replace(offer.node, name=f"{zone}-{offer.name}-{number}", offered=False)
        for zone in ZONES
        if zone != lost
        for offer in question.offers
        for number in range(NODES)
    )
    return replace(question, instance=replace(question.instance, nodes=nodes))


def cpu_s(whose: int) -> float:
    """Return the CPU time of this process, or of all others that it has started and that ended."""
    usage = getrusage(whose)
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    said = numbers_asked(__doc__, steps=20, work=4)
    cases = {"all": case(""), "a lost": case("a"), "b lost": case("b")}
    scales = [1 + Fraction(number, 10) for number in range(said.steps)]
    print(f"load of the machine before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs")
    seconds: dict[int, float] = {}
    curves: list[GrowthCurve] = []
    for processes in (1, 2):
        started_s, own_s, theirs_s = time.perf_counter(), cpu_s(RUSAGE_SELF), cpu_s(RUSAGE_CHILDREN)
        # One process of its own each time: starting it is part of the time.
        workers = LocalProcessSweepWorkers(processes)
        curve = solve_plan_at_scales(cases, scales, work_limit=said.work, workers=workers)
        workers.close()
        seconds[processes] = time.perf_counter() - started_s
        own_s, theirs_s = cpu_s(RUSAGE_SELF) - own_s, cpu_s(RUSAGE_CHILDREN) - theirs_s
        curves.append(curve)
        print(
            f"{processes} processes: {len(curve.steps)} plans in {seconds[processes]:.1f} s; "
            f"CPU {own_s:.1f} s here, {theirs_s:.1f} s there "
            f"({100 * own_s / (own_s + theirs_s):.1f} % here)",
            flush=True,
        )
    one, two = (json.dumps(plan_growth_to_dict(cases["all"], curve)) for curve in curves)
    print(f"ratio {seconds[1] / seconds[2]:.2f}; the same bytes: {one == two}")


if __name__ == "__main__":
    main()
