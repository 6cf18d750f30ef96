"""Matching of those who want one of some things each with the things."""

from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

K = TypeVar("K", bound=Hashable)
T = TypeVar("T", bound=Hashable)


def maximum_matching(options: Mapping[K, Sequence[T]]) -> dict[K, T]:
    """Return an option of its own for as many as can be; nobody loses it to who comes later.

    By augmenting paths: if all options of one are taken, their holders are asked to move.
    """
    holder: dict[T, K] = {}

    def settle(who: K, seen: set[T]) -> bool:
        for option in options[who]:
            if option not in seen:
                seen.add(option)
                if option not in holder or settle(holder[option], seen):
                    holder[option] = who
                    return True
        return False

    for who in options:
        settle(who, set())
    return {who: option for option, who in holder.items()}
