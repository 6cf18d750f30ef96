"""Words on their way to another process, and copies of them."""

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mixed_worlds import mixed_instance
from placer.load import load_instance, load_question
from placer.scheduling.errors import BadPodError
from placer_models.legal import IllegalPodError, PodSpecFault
from placer_models.machines.catalogue import catalogue_machine_names, load_machine
from worlds import tiny_instance

EXAMPLES = sorted((Path(__file__).parents[2] / "instances").glob("*.yaml"))

Copier = Callable[[object], object]

COPIERS: dict[str, Copier] = {
    "pickle": lambda words: pickle.loads(pickle.dumps(words)),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}


@pytest.fixture(params=COPIERS, ids=str)
def copier(request: pytest.FixtureRequest) -> Copier:
    """Each way to make another object of the same words."""
    return COPIERS[request.param]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_are_copied_as_they_are(path: Path, copier: Copier) -> None:
    instance = load_instance([path])

    copied = copier(instance)

    assert copied == instance
    assert hash(copied) == hash(instance)


@pytest.mark.parametrize("seed", range(12))
def test_worlds_are_copied_as_they_are(seed: int, copier: Copier) -> None:
    for instance in (tiny_instance(seed), mixed_instance(seed)):
        assert copier(instance) == instance


@pytest.mark.parametrize("name", catalogue_machine_names())
def test_what_is_worked_out_of_a_machine_comes_along(name: str, copier: Copier) -> None:
    """
    Fields that equality does not look at: cores, online CPUs, packages.
    """
    topology = load_machine(name).topology

    copied = copier(topology)

    assert isinstance(copied, type(topology))
    for field in ("cores", "core_facts", "cpu", "online", "package_in", "packages"):
        assert getattr(copied, field) == getattr(topology, field)
    with pytest.raises(TypeError):
        copied.cores[0] = frozenset()  # it is still read only


def test_nodes_of_one_machine_share_it_when_they_arrive() -> None:
    """
    Thousands of equal nodes are one machine before and after: what is sent stays small.
    """
    instance = load_instance([EXAMPLES[0].with_name("hello.yaml")])
    node = instance.nodes[0]

    first, second = pickle.loads(pickle.dumps((node, node)))

    assert first.machine is second.machine


def test_another_process_finds_what_it_looks_up() -> None:
    """
    Strings hash differently there, so that no hash of ours may have come along.
    """
    code = (
        "import pickle, sys\n"
        "instance = pickle.load(sys.stdin.buffer)\n"
        "fresh = pickle.loads(pickle.dumps(instance))\n"
        "specs = {pod.spec for gang in instance.gangs for pod in gang.pods}\n"
        "print(all(p.spec in specs for g in fresh.gangs for p in g.pods))\n"
    )
    instance = mixed_instance(3)
    for gang in instance.gangs:
        for pod in gang.pods:
            hash(pod.spec)

    told = subprocess.run(
        [sys.executable, "-c", code], input=pickle.dumps(instance), capture_output=True, check=True
    )

    assert told.stdout == b"True\n"


def test_the_question_of_a_plan_is_copied_as_it_is(copier: Copier) -> None:
    question = load_question(EXAMPLES[0].parent / "plan/cluster.yaml", [])

    assert copier(question) == question


def test_a_pod_that_is_refused_in_another_process_is_told_of_here() -> None:
    """
    The error says there what it says here.
    """
    fault = PodSpecFault(("containers", 0, "requests"), -1, "expected more")
    for kind in (IllegalPodError, BadPodError):
        refused = kind(("team", "web"), fault)

        again = pickle.loads(pickle.dumps(refused))

        assert type(again) is kind
        assert (str(again), again.pod, again.fault) == (str(refused), refused.pod, refused.fault)
