"""An argument that nobody has is answered with the name that was meant."""

import pickle
from collections.abc import Callable
from dataclasses import replace

import pytest

import placer
from placer import PodSpec, Resources, Scheduler, SolveOptions, solve

GUESSES: dict[str, Callable[[], object]] = {
    "Resources has no argument 'memory'; did you mean memory_bytes?": lambda: Resources(memory=1),
    "Resources has no argument 'cpu'; did you mean cpu_milli?": lambda: Resources(cpu=1),
    "SolveOptions has no argument 'timelimit'; did you mean time_limit_s?": (
        lambda: SolveOptions(timelimit=1)
    ),
    "PodSpec has no argument 'nodeSelector'; did you mean node_selector?": (
        lambda: PodSpec(nodeSelector={})
    ),
    "solve has no argument 'instances'; did you mean instance?": (lambda: solve(instances=[])),
    "Scheduler has no argument 'node'; did you mean nodes?": (lambda: Scheduler(node=[])),
}


@pytest.mark.parametrize("said", GUESSES)
def test_a_guessed_argument_is_answered_with_the_nearest(said: str) -> None:
    with pytest.raises(TypeError) as caught:
        GUESSES[said]()

    assert str(caught.value) == said


def test_without_a_near_name_all_are_named() -> None:
    with pytest.raises(TypeError, match="no argument 'colour'; there are: cpu_milli, memory_bytes"):
        Resources(colour="red")


def test_a_guessed_name_of_the_package_is_answered() -> None:
    with pytest.raises(AttributeError, match=r"'Schedular'; did you mean Scheduler\?"):
        placer.Schedular  # noqa: B018 - the look is refused


def test_other_errors_of_types_stay_as_they_are() -> None:
    with pytest.raises(TypeError, match="cpu_milli is '2', of type str; expected int"):
        Resources("2")


def test_such_words_are_copied_and_pickled_as_before() -> None:
    word = Resources(2_000, memory_bytes=5)

    assert replace(word, cpu_milli=1) == Resources(1, 5)
    assert pickle.loads(pickle.dumps(word)) == word
