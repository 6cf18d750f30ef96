"""A growth curve of 20 sizes x 3 failures, on one process and on two.

A random mix (`_random_mixes`, seed 0) on a cluster of three zones, each with a few nodes of its
types: nothing fails, or the first zone is lost, or the second one. Each plan has one thread and a
work limit, so that both curves have to be the same.

Run: python benchmarks/plan_growth.py [STEPS] [WORK]
"""

import json
import os
import sys
import time
from dataclasses import replace
from fractions import Fraction

from _random_mixes import random_mix

from placer.plan.growth import GrowthCurve, grow
from placer.plan.question import PlanQuestion
from placer.plan.to_json import growth_to_json
from placer.sweep.workers import LocalProcesses

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


def main() -> None:
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    work = int(sys.argv[2]) if len(sys.argv) > 2 else 4
    cases = {"all": case(""), "a lost": case("a"), "b lost": case("b")}
    scales = [1 + Fraction(number, 10) for number in range(steps)]
    print(f"load of the machine before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs")
    seconds: dict[int, float] = {}
    curves: list[GrowthCurve] = []
    for processes in (1, 2):
        started_s = time.perf_counter()
        # One process of its own each time: starting it is part of the time.
        curve = grow(cases, scales, work_limit=work, workers=LocalProcesses(processes))
        seconds[processes] = time.perf_counter() - started_s
        curves.append(curve)
        print(f"{processes} processes: {len(curve.steps)} plans in {seconds[processes]:.1f} s")
    one, two = (json.dumps(growth_to_json(cases["all"], curve)) for curve in curves)
    print(f"ratio {seconds[1] / seconds[2]:.2f}; the same bytes: {one == two}")


if __name__ == "__main__":
    main()
