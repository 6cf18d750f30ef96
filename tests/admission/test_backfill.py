"""Gangs that wait, and who starts beside them (Q12)."""

from collections import Counter

import pytest

from admission_worlds import GREEDY, MINUTE, desk_of, names, nodes, work
from placer.search.options import SolveOptions

EXACT = SolveOptions(workers=1, seed=1)


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(GREEDY, id="greedy"),
        pytest.param(EXACT, id="auto", marks=pytest.mark.check),
    ],
)
@pytest.mark.parametrize("minutes", [1, None], ids=["known", "unknown"])
def test_in_lockstep_every_node_is_used_and_shares_follow_weights(
    minutes: int | None, options: SolveOptions
) -> None:
    """
    Weight 4 with gangs of one node, weight 1 with gangs of two, on two nodes: 80 of 80
    node-rounds, 4 to 1, and after every five rounds at that.
    """
    desk = desk_of(nodes(1, 1), {"a": 4000, "b": 1000})
    desk.submit("a", *(work(f"a{i}", 1, minutes=minutes) for i in range(100)), now_us=0)
    desk.submit("b", *(work(f"b{i}", 2, minutes=minutes) for i in range(50)), now_us=0)
    used: Counter[str] = Counter()
    for minute in range(40):
        for key in desk.running:
            desk.finish(key, minute * MINUTE)
        started = names(desk.step(minute * MINUTE, 20, options))
        used.update({"a": sum(key[0] == "a" for key in started)})
        used.update({"b": 2 * sum(key[0] == "b" for key in started)})
        if minute % 5 == 4:
            assert used == {"a": 8 * (minute + 1) // 5, "b": 2 * (minute + 1) // 5}

    assert used == {"a": 64, "b": 16}
