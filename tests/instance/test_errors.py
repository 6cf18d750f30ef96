"""The parts that messages are made of."""

import pytest

from placer_models.files.errors import counted, cpus_with_noun, cpus_with_verb, near_or_first_names


@pytest.mark.parametrize(
    ("name", "known", "told"),
    [
        ("gnag", ["gang", "other"], "; did you mean 'gang'?"),
        ("x", [], "; there are none"),
        ("x", ["only"], "; there is 'only'"),
        ("x", ["c", "a"], "; there are 'c', 'a'"),
        ("xyz", ["a", "b", "c", "d", "e"], "; there are 'a', 'b', 'c' and 2 more"),
    ],
)
def test_a_reference_to_nothing_is_answered_with_what_there_is(
    name: str, known: list[str], told: str
) -> None:
    """
    The nearest name, or the first few in the order of the file.
    """
    assert near_or_first_names(name, known) == told


def test_one_is_not_several() -> None:
    """
    Nouns and verbs agree with their number.
    """
    assert [counted(n, "CPU") for n in (0, 1, 1.0, 2, 0.5)] == [
        "0 CPUs", "1 CPU", "1 CPU", "2 CPUs", "0.5 CPUs"
    ]  # fmt: skip
    assert counted(12_345, "pod") == "12,345 pods"
    assert (cpus_with_noun({3}), cpus_with_noun({3, 4})) == ("CPU 3", "CPUs 3-4")
    assert (cpus_with_verb({3}), cpus_with_verb({3, 4})) == ("CPU 3 is", "CPUs 3-4 are")
