"""Full batches of pods: the search beside a plain Boolean model, at equal wall time.

Eight pods for each node, in sets of one to four equal ones, in two priorities. CPU and memory are
drawn alike; the pods ask for a share of what there is, the load. The families:

plain   equal nodes; CPU and memory alone
high    the same, but the high priority alone asks for 1.2 times the load
mixed   and 0 to 2 whole GPUs for each pod of a set, of GPUs without links
shares  and a part of one GPU for most of the sets, in percent
linked  0 to 4 whole GPUs, of GPUs in two islands with fast links
kinds   small, big and GPU nodes; half of the sets are for one kind
cores   LSR pods under FullPCPUs, of 1 to 5 whole cores of two threads
gangs   each set is a gang of 2 to 8; a third of them have members above their minimum
apart   no two pods of a set, of 2 to 8, on one node (anti-affinity)
spread  each set, of 2 to 8, is spread over four zones, none of which has two more than another

GPUs and cores are whole, so nodes have the number that is nearest to the load.

The rival (`_plain_rival`) is what one writes down first; it knows nothing of equal pods and equal
nodes. Both have two workers. It obeys every rule that decides who is placed in these families;
links between GPUs are wishes, which it does not know, and nothing but what is placed is compared.
That is pods, but for the family gangs: two points for each pod of a minimum, and one above it.
A summary follows: by family and load, by family, and of all runs.

    python benchmarks/rival.py --family mixed --nodes 32 --loads 0.95 1.00 --seeds 0 --seconds 10
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product, zip_longest
from typing import NamedTuple

from _arguments import parser_for
from _full_batches import FAMILIES, add_batch_options, batch
from _plain_rival import WORKERS, points_a_count, rival
from _timing import placed_tiers, timed

from placer.search.options import SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance


@dataclass(frozen=True)
class Run:
    """What one search made of a batch: what is placed of each priority, the higher one first.

    Attributes:
        bound: No placement that is as good in the high priority has more placed; None if unknown.
        proven: How many of the priorities are proven.

    """

    placed: tuple[int, ...]
    bound: int | None
    proven: int

    @property
    def gap(self) -> int | None:
        """How far the bound is above what is placed."""
        return None if self.bound is None else self.bound - sum(self.placed)

    @property
    def all_proven(self) -> bool:
        """Whether there is an answer, and every priority of it is proven."""
        return bool(self.placed) and self.proven == len(self.placed)


class Pair(NamedTuple):
    """Our run of a batch, and what the rival placed of each priority."""

    ours: Run
    theirs: tuple[int, ...]


def ours(instance: Instance, seconds: float, workers: int = WORKERS) -> Run:
    """Return what the search makes of the batch."""
    answer = solve(instance, SolveOptions(time_limit_s=seconds, workers=workers, seed=1))
    levels = placed_tiers(answer)
    points = points_a_count(instance)
    bounds = [tier.bound // points for tier in levels if tier.bound is not None]
    return Run(
        tuple(tier.value // points for tier in levels),
        sum(bounds) if levels and len(bounds) == len(levels) else None,
        sum(tier.proven for tier in levels),
    )


def main() -> None:
    parser = parser_for(__doc__)
    parser.add_argument("--loads", type=float, nargs="+", default=[0.90, 0.95, 1.00, 1.05])
    add_batch_options(parser, ["plain"], [32, 64])
    args = parser.parse_args()

    print(f"{args.seconds:g} s each, {WORKERS} workers; placed by priority, the higher one first")
    print("family  nodes  load  seed  pods    rival     ours  bound  gap  proven     s")
    pairs: dict[tuple[str, float], list[Pair]] = {}
    for family, nodes, load, seed in product(args.family, args.nodes, args.loads, args.seeds):
        instance = batch(FAMILIES[family], nodes, load, 100 * nodes + seed)
        pods = sum(len(gang.pods) for gang in instance.gangs)
        theirs = rival(instance, args.seconds, seed=seed).placed
        took_s, run = timed(time.monotonic, ours, instance, args.seconds)
        pairs.setdefault((family, load), []).append(Pair(run, theirs))
        print(
            f"{family:6}  {nodes:5}  {load:4.2f}  {seed:4}  {pods:4}"
            f"  {by_priority(theirs):>7}  {by_priority(run.placed):>7}  {known(run.bound):>5}"
            f"  {known(run.gap):>3}  {f'{run.proven} of {len(run.placed)}':>6}  {took_s:4.1f}",
            flush=True,
        )
    print("\nfamily  load  runs  behind  by  gap <= 1  all proven")
    for (family, load), some in pairs.items():
        print(f"{family:6}  {load:4.2f}  {summary(some)}")
    for family in args.family:
        mine = [pair for (name, _), some in pairs.items() if name == family for pair in some]
        print(f"{family:6}   all  {summary(mine)}")
    print(f"all      all  {summary([pair for some in pairs.values() for pair in some])}")


def summary(pairs: Sequence[Pair]) -> str:
    """Return how often we are behind, by how much at most, and how near the bounds are."""
    behind = [lag(run.placed, theirs) for run, theirs in pairs if run.placed < theirs]
    near = sum(run.gap is not None and run.gap <= 1 for run, _ in pairs)
    proven = sum(run.all_proven for run, _ in pairs)
    return (
        f"{len(pairs):4}  {len(behind):6}  {max(behind, default=0):2}"
        f"  {near / len(pairs):8.0%}  {proven / len(pairs):10.0%}"
    )


def lag(mine: tuple[int, ...], theirs: tuple[int, ...]) -> int:
    """Return how far we are behind, in the first priority that differs."""
    return next(b - a for a, b in zip_longest(mine, theirs, fillvalue=0) if a != b)


def by_priority(counts: tuple[int, ...]) -> str:
    return "+".join(map(str, counts)) or "-"


def known(number: int | None) -> str:
    return "-" if number is None else str(number)


if __name__ == "__main__":
    main()
