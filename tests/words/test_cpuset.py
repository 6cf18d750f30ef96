"""CPU sets in the kernel's list format.

The rows are facts of k8s.io/utils cpuset_test.go (list parse and format), which the
kubelet reads and writes its state with.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placer_models.cpuset import MAX_CPU_ID, format_cpu_list, parse_cpu_list

READ = [
    ("", ""),
    ("5", "5"),
    ("1,2,3,4,5", "1-5"),
    ("1-5", "1-5"),
    ("1-2,3-5", "1-5"),
    ("5,4,3,2,1", "1-5"),
    ("3-6,1-5", "1-6"),
    ("3-3,5-5", "3,5"),
    ("0-3,0-3,2", "0-3"),
    ("007", "7"),
]

REFUSED = [
    *("nonnumeric", "non-numeric", "no,numbers", "0-a", "a-0", "0,a", "a,0", "1-2,a,3-5"),
    *("0,", "0,,", ",3", ",,3", "0,,3", "-1", "1-", "1,2-,3", "1,-2,3", "-1--2", "--1", "1--"),
    *("3-0", "0--3", " ", " 1", "1 ", "1, 2", "1 - 2", "+1", "1_0", "0x1", "1.0", "1;2", "\n"),
    *("٣", "²", "1-2-3", f"{MAX_CPU_ID + 1}", f"0-{MAX_CPU_ID + 1}", "9" * 5000, "0-3:1/2"),
]


@pytest.mark.parametrize(("text", "shortest"), READ)
def test_lists_are_read_and_written_at_their_shortest(text: str, shortest: str) -> None:
    """
    Order, overlaps and repetition do not matter; the written form is the kernel's.
    """
    assert format_cpu_list(parse_cpu_list(text)) == shortest


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: repr(text[:12]))
def test_anything_else_is_refused_with_the_text_in_the_message(text: str) -> None:
    """
    Blanks, signs, other digits, reversed ranges and missing numbers are no lists.
    """
    with pytest.raises(ValueError, match="CPU list"):
        parse_cpu_list(text)


@pytest.mark.parametrize(
    ("cpus", "text"),
    [([], ""), ([5], "5"), ([1, 2, 3, 4, 5], "1-5"), ([1, 2, 3, 5, 6, 8], "1-3,5-6,8")],
)
def test_runs_are_joined(cpus: list[int], text: str) -> None:
    """
    Two neighbours are a run already.
    """
    assert format_cpu_list(cpus) == text


@given(st.frozensets(st.integers(0, 300)))
def test_what_is_written_reads_back(cpus: frozenset[int]) -> None:
    """
    Every set survives.
    """
    assert parse_cpu_list(format_cpu_list(cpus)) == cpus


@given(st.text(alphabet="0123456789,- ax", max_size=12))
def test_any_text_is_a_set_or_a_refusal(text: str) -> None:
    """
    No other exception, whatever the text.
    """
    try:
        cpus = parse_cpu_list(text)
    except ValueError:
        return
    assert parse_cpu_list(format_cpu_list(cpus)) == cpus


def test_a_long_list_that_repeats_itself_costs_no_more_than_its_cpus() -> None:
    """
    20,000 times the same large range: each CPU is added once.
    """
    assert len(parse_cpu_list(",".join([f"0-{MAX_CPU_ID}"] * 20_000))) == MAX_CPU_ID + 1
