"""Full batches in this checkout and in another one: the gap of the first priority left unproven.

The batches are those of `rival.py`, and each checkout has the same wall time, one after the other,
in a process of its own. For each batch: what both place, the gap (bound less value, in pods) of the
first priority that the other checkout does not prove, the gap of that priority here, and the ratio.
Where nothing is unproven there, there is nothing to halve. A gap counts as halved, too, if more is
placed here in an earlier priority, or if only this checkout has a bound. An answer is worse if less
is placed in the first priority that differs.

    python benchmarks/halved_gaps.py --other CHECKOUT --family shares gangs --seeds 0 --seconds 10
"""

import json
import sys
from itertools import product
from pathlib import Path
from typing import NamedTuple

from _arguments import not_run, parser_for
from _checkouts import HERE, json_of
from _full_batches import FAMILIES, add_batch_options, batch
from _plain_rival import WORKERS, points_a_count
from _timing import placed_tiers

from placer.search.options import SolveOptions
from placer.search.solver import solve

CHILD = "--child"
OTHERS = ("shares", "linked", "kinds", "cores", "gangs", "high")


class Level(NamedTuple):
    """What is placed of a priority, and no placement as good in earlier ones has more."""

    placed: int
    bound: int | None

    @property
    def gap(self) -> int | None:
        return None if self.bound is None else self.bound - self.placed


def answer(family: str, nodes: int, load: float, seed: int, seconds: float) -> list[Level]:
    """Return what this process's checkout makes of a batch, the highest priority first."""
    instance = batch(FAMILIES[family], nodes, load, 100 * nodes + seed)
    found = solve(instance, SolveOptions(time_limit_s=seconds, workers=WORKERS, seed=1))
    points = points_a_count(instance)
    return [
        Level(tier.value // points, None if tier.bound is None else tier.bound // points)
        for tier in placed_tiers(found)
    ]


def answer_of(checkout: Path, *question: str) -> list[Level]:
    """Return what a checkout makes of a batch."""
    return [Level(*level) for level in json_of(checkout, __file__, CHILD, *question)]


def main() -> None:
    parser = parser_for(__doc__)
    parser.add_argument("--other", type=Path, help="the other checkout")
    parser.add_argument("--loads", type=float, nargs="+", default=[1.05])
    add_batch_options(parser, list(OTHERS), [32])
    args = parser.parse_args()
    if args.other is None:
        not_run("name another checkout by --other")

    print(f"{args.seconds:g} s each, {WORKERS} workers; placed by priority, the higher one first")
    print("family  nodes  load  seed    other     here  gap there  here  ratio")
    halved, open_there, worse = 0, 0, 0
    for row in product(args.family, args.nodes, args.loads, args.seeds):
        question = [*map(str, row), str(args.seconds)]
        there = answer_of(args.other.resolve(), *question)
        here = answer_of(HERE, *question)
        placed = [tuple(level.placed for level in side) for side in (there, here)]
        worse += placed[1] < placed[0]
        title = "{:6}  {:5}  {:4.2f}  {:4}".format(*row)
        title += "".join(f"  {'+'.join(map(str, side)):>7}" for side in placed)
        first = next((i for i, level in enumerate(there) if level.gap != 0), None)
        if first is None:
            print(f"{title}  {'proven':>9}", flush=True)
            continue
        open_there += 1
        before, now = there[first].gap, here[first].gap
        ratio = now / before if before is not None and now is not None else None
        more = placed[1][:first] > placed[0][:first]
        only_here = before is None and now is not None
        halved += more or only_here or (ratio is not None and ratio <= 0.5)
        texts = ["-" if gap is None else str(gap) for gap in (before, now)]
        last = "-" if ratio is None else f"{ratio:.2f}"
        print(f"{title}  {texts[0]:>9}  {texts[1]:>4}  {last:>5}", flush=True)
    print(f"\nopen there {open_there}, halved here {halved}; less placed here {worse}")


if __name__ == "__main__":
    if sys.argv[1:2] == [CHILD]:
        family, nodes, load, seed, seconds = sys.argv[2:]
        print(json.dumps(answer(family, int(nodes), float(load), int(seed), float(seconds))))
    else:
        main()
