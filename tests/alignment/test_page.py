"""The page about alignment: its numbers are what Placer does, its lines what Python prints."""

import doctest
import re
from pathlib import Path

import pytest

from alignment.zones import homes_of, instance_of, pod_of
from placer.judge.measure import measure
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.goals import ALIGNMENT
from placer_models.placement import Infeasible, Placed
from placer_models.policy import AlignmentPolicy

PAGE = Path(__file__).parents[2] / "docs" / "rules" / "alignment.md"
TEXT = PAGE.read_text("utf-8")
ROW = re.compile(r"^\| (\d+) \| (\d+) \| (\d) and (\d) \| (.+) \| (.+) \| (.+) \| (\d+) \|$", re.M)
POLICIES = (
    AlignmentPolicy.SINGLE_NUMA_NODE,
    AlignmentPolicy.RESTRICTED,
    AlignmentPolicy.BEST_EFFORT,
)


def outcome(
    gpus: int, cpus: int, free_gpus: tuple[int, int], policy: AlignmentPolicy
) -> tuple[str, int]:
    """Return how many NUMA nodes the pod gets, or ``no``, and the value of the tier."""
    has = [{"gpus": 4, "cpus": 48}] * 2
    free = [{"gpus": count, "cpus": 48} for count in free_gpus]
    pod = pod_of("p", policy, [{"gpus": gpus, "cpus": cpus}])
    instance = instance_of(has, free, [pod])
    answer = solve(instance, SolveOptions(engine=Engine.EXACT, workers=1, seed=1, work_limit=20))
    if isinstance(answer, Infeasible):
        return "no", 0
    assert isinstance(answer, Placed)
    homes = homes_of(instance.nodes[0], pod, answer.placement.pods[0])
    return str(len(homes)), dict(measure(instance, answer.placement))[ALIGNMENT]


def test_the_page_has_an_example() -> None:
    """
    A page without numbers explains nothing.
    """
    assert len(ROW.findall(TEXT)) >= 4


@pytest.mark.parametrize("row", ROW.findall(TEXT), ids=" ".join)
def test_the_numbers_of_the_page_are_placers(row: tuple[str, ...]) -> None:
    """
    Who tries the example gets as many NUMA nodes as the page says, and its tier.
    """
    gpus, cpus, first, second, *shown, tier = row

    found = [
        outcome(int(gpus), int(cpus), (int(first), int(second)), policy) for policy in POLICIES
    ]

    assert [number for number, _ in found] == shown
    assert found[-1][1] == int(tier)


def test_python_prints_what_the_page_shows() -> None:
    """
    Who copies the lines of the page gets what stands below them.
    """
    (block,) = re.findall(r"^```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    example = doctest.DocTestParser().get_doctest(block, {}, PAGE.name, str(PAGE), 0)

    assert doctest.DocTestRunner().run(example).failed == 0
