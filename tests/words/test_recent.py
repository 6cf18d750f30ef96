"""Values used last: made once while they are kept, and the oldest goes first."""

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from placer_models.recent import RecentlyUsedCache


def _made(key: int, made: list[int]) -> str:
    made.append(key)
    return f"value {key}"


@given(st.lists(st.integers(0, 5), max_size=40), st.integers(1, 4))
def test_those_used_last_are_kept(keys: list[int], most: int) -> None:
    """
    A value is made again exactly if so many others have been asked for since it was.
    """
    kept = RecentlyUsedCache[int, str](most)
    for at, key in enumerate(keys):
        made: list[int] = []

        value = kept.of(key, partial(_made, key, made))

        others = keys[:at]
        since = others[len(others) - others[::-1].index(key) :] if key in others else None
        is_kept = since is not None and len(set(since)) < most
        assert value == f"value {key}"
        assert made == ([] if is_kept else [key])


def test_a_value_that_fails_leaves_the_others() -> None:
    """
    What cannot be made is not kept, and pushes nothing out.
    """
    kept = RecentlyUsedCache[str, int](1)
    kept.of("a", lambda: 1)

    with pytest.raises(ZeroDivisionError):
        kept.of("b", lambda: 1 // 0)

    assert dict(kept) == {"a": 1}
