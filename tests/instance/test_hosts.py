"""Host lists."""

import pytest

from placer_models.instance.hosts import MAX_HOSTS, expand_hosts


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
