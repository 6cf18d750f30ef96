"""Host lists, and the parts that messages are made of."""

import pytest

from placer_models.instance.hosts import MAX_HOSTS, expand_hosts
from placer_models.message_text import (
    count_with_noun,
    cpu_ids_with_noun,
    cpu_ids_with_verb,
    near_or_first_names_text,
    spelling_suggestion,
)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a", ["a"]),
        ("gpu-[00-03]", ["gpu-00", "gpu-01", "gpu-02", "gpu-03"]),
        ("n[8-11]", ["n8", "n9", "n10", "n11"]),
        ("n[08-11]", ["n08", "n09", "n10", "n11"]),
        ("n[1,3-4].local", ["n1.local", "n3.local", "n4.local"]),
        ("r[1-2]n[1-2]", ["r1n1", "r1n2", "r2n1", "r2n2"]),
        ("a,b[1-2],c", ["a", "b1", "b2", "c"]),
        ("n[0]", ["n0"]),
        ("n[007]", ["n007"]),
    ],
)
def test_a_host_list_stands_for_its_names(text: str, names: list[str]) -> None:
    """
    Brackets hold numbers and ranges, widths are kept, several brackets multiply.
    """
    assert list(expand_hosts(text)) == names


@pytest.mark.parametrize(
    "text",
    ["", "a,", ",a", "a,,b", "a[", "a]", "a[1", "a[]", "a[1-]", "a[-1]", "a[1-0]", "a[b]",
     "a[01-1]", "a[1-2-3]", "a[[1]]", "a[1 - 2]", "a[1,]", "a[9999999999]"],
)  # fmt: skip
def test_what_is_no_host_list_is_refused(text: str) -> None:
    """
    A bracket without its pair, an empty name, a range that runs backwards.
    """
    with pytest.raises(ValueError, match="host list"):
        expand_hosts(text)


def test_a_host_list_ends_at_the_limit() -> None:
    """
    The largest list is read, one name more is refused, and brackets do not multiply past it.
    """
    assert len(expand_hosts(f"n[1-{MAX_HOSTS}]")) == MAX_HOSTS
    for text in (f"n[0-{MAX_HOSTS}]", f"a,n[1-{MAX_HOSTS}]", "[0-9]" * 60, "n[0-999999999]"):
        with pytest.raises(ValueError, match="more than 100,000"):
            expand_hosts(text)


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
    assert near_or_first_names_text(name, known) == told


def test_one_is_not_several() -> None:
    """
    Nouns and verbs agree with their number.
    """
    assert [count_with_noun(n, "CPU") for n in (0, 1, 1.0, 2, 0.5)] == [
        "0 CPUs", "1 CPU", "1 CPU", "2 CPUs", "0.5 CPUs"
    ]  # fmt: skip
    assert count_with_noun(12_345, "pod") == "12,345 pods"
    assert (cpu_ids_with_noun({3}), cpu_ids_with_noun({3, 4})) == ("CPU 3", "CPUs 3-4")
    assert (cpu_ids_with_verb({3}), cpu_ids_with_verb({3, 4})) == ("CPU 3 is", "CPUs 3-4 are")


def test_the_name_that_was_meant_may_be_written_in_other_letters() -> None:
    """
    Large and small letters make no name another one.
    """
    assert spelling_suggestion("NODEA", ["nodeA", "nodeB"]) == "; did you mean 'nodeA'?"
    assert spelling_suggestion("gateway", ["nodeA", "nodeB"]) == ""
