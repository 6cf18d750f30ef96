"""How many threads of work a job should have."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placer.queue.advice import advise_job_thread_count, job_thread_count_for_work
from placer.queue.model import US_PER_S

S = US_PER_S


def test_ten_threads_of_twenty_minutes_want_ten_times_as_many() -> None:
    """
    The document's example: 100 threads, all of them within two minutes.
    """
    advice = advise_job_thread_count("BILL", [1200 * S] * 10)

    assert (advice.by_work, advice.for_majority, advice.threads) == (100, 100, 100)
    assert (advice.factor, advice.within_now, advice.within_then) == (10, 0, 1)


def test_uneven_threads_want_more_than_the_work_alone_says() -> None:
    """
    The mean meets the target at 600 threads, but nine of ten only at 1,000.
    """
    advice = advise_job_thread_count("D1-IMD", [600 * S] * 15 + [1200 * S] * 4 + [4200 * S])

    assert (advice.by_work, advice.for_majority, advice.threads) == (150, 200, 200)
    assert advice.within_then == Fraction(19, 20)


def test_a_job_that_is_fine_keeps_its_threads() -> None:
    """
    Nine of ten threads end in time already: no change, and never fewer.
    """
    advice = advise_job_thread_count("PAYMENTS", [60 * S] * 9 + [500 * S])

    assert (advice.threads, advice.within_now) == (10, Fraction(9, 10))


def test_a_job_that_cannot_be_split_is_left_alone() -> None:
    """
    A file extract of two hours stays one thread.
    """
    assert advise_job_thread_count("EXTRACT", [7200 * S], splittable=False).threads == 1


@given(
    st.lists(st.integers(1, 10_000), min_size=1, max_size=30),
    st.integers(1, 500),
    st.integers(1, 1000),
)
def test_the_advice_keeps_its_promise(lengths: list[int], target: int, majority: int) -> None:
    """
    With the advised count the asked majority meets the target, and one thread less would not do.
    """
    advice = advise_job_thread_count("j", lengths, target_us=target, majority_permille=majority)

    assert advice.within_then * 1000 >= majority
    assert advice.threads >= max(
        advice.now, job_thread_count_for_work(sum(lengths), target_us=target)
    )
    if advice.for_majority > 1:
        fewer = Fraction(target * (advice.for_majority - 1), len(lengths))
        assert sum(length <= fewer for length in lengths) * 1000 < majority * len(lengths)


@pytest.mark.parametrize(
    ("lengths", "majority", "message"),
    [
        ([], 900, "job 'j' needs the lengths of its threads, each 0 or more"),
        ([5, -1], 900, "job 'j' needs the lengths of its threads, each 0 or more"),
        ([5], 0, "the majority is 0 permille; it is 1 to 1000"),
    ],
)
def test_advice_needs_a_history(lengths: list[int], majority: int, message: str) -> None:
    """
    No lengths, or a length below 0, is no history.
    """
    with pytest.raises(ValueError, match=message):
        advise_job_thread_count("j", lengths, majority_permille=majority)


def test_a_count_needs_work_and_a_target() -> None:
    """
    Nothing to do still takes a thread; work below 0 is a mistake.
    """
    assert job_thread_count_for_work(0) == 1
    with pytest.raises(ValueError, match="work is -1 us and the target 120000000 us"):
        job_thread_count_for_work(-1)
