"""Amounts, lists and names as people read them."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placer_cli.draw.bars import draw_bar
from placer_cli.draw.palette import QUIET, link_styles_by_bandwidth, owner_marks
from placer_cli.draw.texts import (
    MOST_SERIES,
    amount_text,
    gb_per_s_text,
    ids_text,
    memory_text,
    names_as_host_lists,
)
from placer_cli.draw.threads import StyledMark
from placer_cli.draw.verdict import gap_text
from placer_models.goals import BIND, POD_PAIR_MINIMUM, USABLE, Tier
from placer_models.instance.hosts import expand_hosts
from placer_models.placement import TierBoundSource, TierValue
from placer_models.quantity import cpu_milli_text


@pytest.mark.parametrize(
    ("amount", "text"),
    [(0, "0"), (1023, "1023"), (64 * 2**30, "64Gi"), (2 * 2**40 - 2**30, "2Ti"), (1536, "1.5Ki")],
)
def test_memory_has_three_digits_and_a_unit(amount: int, text: str) -> None:
    """
    Bytes are written in the largest unit that leaves a number of at least one.
    """
    assert memory_text(amount) == text


@pytest.mark.parametrize(
    ("name", "amount", "text"),
    [
        ("ephemeral-storage", 71 * 2**30, "71Gi"),
        ("kubernetes.io/batch-memory", 4 * 2**30, "4Gi"),
        ("kubernetes.io/batch-cpu", 12_000, "12,000"),
        ("example.com/licences", 4, "4"),
    ],
)
def test_plain_amounts_of_bytes_are_written_as_memory(name: str, amount: int, text: str) -> None:
    """
    Every node of a cluster has some: nobody counts them by the byte.
    """
    assert amount_text(name, amount) == text


@pytest.mark.parametrize(
    ("milli", "text"), [(0, "0"), (500, "0.5"), (64_000, "64"), (1_125, "1.125")]
)
def test_cpus_are_exact(milli: int, text: str) -> None:
    """
    Thousandths are shown only where there are any.
    """
    assert cpu_milli_text(milli) == text


@pytest.mark.parametrize(("centi", "text"), [(30_000, "300"), (1575, "15.75"), (100_000, "1,000")])
def test_bandwidth_is_in_gb_per_s(centi: int, text: str) -> None:
    """
    Integers of 0.01 GB/s become the number that data sheets have.
    """
    assert gb_per_s_text(centi) == text


@pytest.mark.parametrize(
    ("ids", "text"),
    [
        ([], ""),
        ([3], "3"),
        (range(16), "0-15"),
        (range(0, 64, 2), "0,2..62"),
        ([0, 5, 6, 9, 14, 20, 31, 40, 55], "9 of 0-55"),
    ],
)
def test_a_long_list_is_cut_short_without_a_lie(ids: list[int], text: str) -> None:
    """
    A list that does not fit says its step, or how many of which range.
    """
    assert ids_text(ids, 13) == text


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ([], ""),
        (["a"], "a"),
        (["web-0", "web-1", "web-3"], "web-[0-1,3] (3)"),
        (["n-09", "n-10"], "n-[09-10] (2)"),
        (["p-9", "p-10"], "p-[9-10] (2)"),
        (["n-09", "n-10", "n-100"], "n-[09-10] (2), n-100"),
        (["a", "b"], "a, b"),
        (["a-0", "b-0", "a-1"], "a-[0-1] (2), b-0"),
        (["a", "b", "c", "d", "e"], "a .. e (5)"),
        (["gpu", "gpu2"], "gpu, gpu2"),
        (["train", "train2", "train3"], "train, train[2-3] (2)"),
        (["n-1234567890", "n-1234567891"], "n-1[234567890-234567891] (2)"),
        (["n-\u0661", "n-\u0662"], "n-\u0661, n-\u0662"),
    ],
)
def test_a_series_of_names_is_a_host_list(names: list[str], text: str) -> None:
    """
    Leading zeros survive; names of many series show their ends; a range says how many it is.
    """
    assert names_as_host_lists(names) == text


@given(st.lists(st.text(alphabet="x019-", min_size=1, max_size=12), min_size=1, max_size=9))
def test_a_folded_series_unfolds_to_its_names(names: list[str]) -> None:
    """
    Read as a host list, what was folded stands for the names again, each once.
    """
    text = names_as_host_lists(names)

    if " .. " in text:
        assert len(set(names)) > MOST_SERIES
        unique = list(dict.fromkeys(names))
        assert text == f"{unique[0]} .. {unique[-1]} ({len(unique)})"
    else:
        ranges = re.sub(r" \(\d+\)", "", text).replace(", ", ",")
        assert sorted(expand_hosts(ranges)) == sorted(set(names))
        for listed, number in re.findall(r"(\S+\[\S+\]) \((\d+)\)", text):
            assert len(expand_hosts(listed)) == int(number)


@given(st.lists(st.text(max_size=4)))
def test_any_names_can_be_folded(names: list[str]) -> None:
    """
    Whatever the characters, there is a text.
    """
    assert isinstance(names_as_host_lists(names), str)


def test_owners_have_one_letter_while_letters_last() -> None:
    """
    52 owners have a letter each; from the 53rd on all have two.
    """
    assert owner_marks(3) == ("A", "B", "C")
    assert len(set(owner_marks(52))) == 52
    assert owner_marks(53)[:2] == ("AA", "AB")
    assert len(set(owner_marks(2000))) == 2000


def test_a_bar_shows_whoever_holds_something() -> None:
    """
    A part far below one column still has one, and the bar never grows.
    """
    parts = [
        (1, StyledMark("a", QUIET)),
        (0, StyledMark("b", QUIET)),
        (1000, StyledMark("c", QUIET)),
    ]

    assert draw_bar(parts, 1000, 8, ".").plain == "accccccc"
    assert draw_bar([(5, StyledMark("a", QUIET))], 10, 8, ".").plain == "aaaa...."
    assert draw_bar([(5, StyledMark("a", QUIET))], 0, 8, ".").plain == "........"


def test_the_fastest_link_stands_out() -> None:
    """
    Styles follow the bandwidth, not the name; unknown links are quiet.
    """
    styles = link_styles_by_bandwidth([100, 200, 0, 100])

    assert styles[200].bold
    assert styles[200] != styles[100]
    assert styles[0] == QUIET


@pytest.mark.parametrize(
    ("tier", "value", "bound", "text"),
    [
        (BIND, 4, 4, "0"),
        (BIND, 4, None, ""),
        (USABLE, 9_999, 10_000, "below 0.1 %"),
        (USABLE, 90, 100, "10.0 %"),
        (BIND, 12, 0, "12"),
        (POD_PAIR_MINIMUM, 1575, 0, "15.75"),
    ],
)
def test_a_gap_is_never_rounded_to_nothing(
    tier: Tier, value: int, bound: int | None, text: str
) -> None:
    """
    What is not optimal does not look optimal; beside a bound of 0 there is no percentage.
    """
    found = TierValue(tier, value, bound, proven=value == bound)
    assert gap_text(found) == text
    if value != bound:  # a limit that is met needs no search
        assert gap_text(found._replace(bound_from=TierBoundSource.LIMIT)) == ""
