"""This checkout beside another one: the same calls in both, turn by turn, in CPU time.

Each workload runs in two processes, one with the code of each checkout. They take turns, a part
of the workload each, so that whatever else the machine does slows both down alike. Printed
are, for each kind of call, the median and the mean in both, in ms of CPU time of the thread that
works, the ratio of the means, and whether all placements and reasons were the same.

Without another checkout this one stands beside itself, which shows the noise.

Run: python benchmarks/side_by_side.py [--other CHECKOUT] [WORKLOAD ...]
Workloads: see the functions of _scheduler_workloads; all of them unless some are named.
"""

import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from statistics import mean, median
from typing import Any

from _arguments import one_of, parser_for
from _checkouts import HERE, environment_of
from _scheduler_workloads import WORKLOADS

CHILD = "--child"

Times = defaultdict[str, list[float]]


def main() -> None:
    parser = parser_for(__doc__)
    parser.add_argument("--other", type=Path, default=HERE, help="the other checkout")
    parser.add_argument(
        "workloads",
        type=one_of(WORKLOADS),
        nargs="*",
        default=list(WORKLOADS),
        metavar="WORKLOAD",
    )
    asked = parser.parse_args()
    print(f"{'workload':20} {'call':24} {'other ms':>16} {'here ms':>16}  here/other  answers")
    print(f"{'':45} {'median    mean':>16} {'median    mean':>16}")
    for name in asked.workloads:
        compare(name, asked.other.resolve())


def compare(name: str, other: Path) -> None:
    """Run one workload in both checkouts, and print a row for each kind of call."""
    sides = [child(checkout, name) for checkout in (other, HERE)]
    times: tuple[Times, Times] = (defaultdict(list), defaultdict(list))
    differ: defaultdict[str, int] = defaultdict(int)
    turns = 0
    while True:
        order = (0, 1) if turns % 2 == 0 else (1, 0)
        turns += 1
        told = {}
        for at in order:
            side = sides[at]
            assert side.stdin is not None
            assert side.stdout is not None
            side.stdin.write("\n")
            side.stdin.flush()
            told[at] = json.loads(side.stdout.readline() or "null")
        if told[0] is None or told[1] is None:
            break
        for (call, took_ms, answer), (_, here_ms, here) in zip(told[0], told[1], strict=True):
            times[0][call].append(took_ms)
            times[1][call].append(here_ms)
            differ[call] += answer != here
    for side in sides:
        side.communicate()
        if side.returncode:
            raise SystemExit(f"{name}: a checkout ended with an error, which is printed above")
    for call, others in times[0].items():
        mine = times[1][call]
        same = f"{differ[call]} of {len(mine)} differ" if differ[call] else f"{len(mine)} equal"
        print(
            f"{name:20} {call:24} {median(others):8.3f}{mean(others):8.3f} "
            f"{median(mine):8.3f}{mean(mine):8.3f}  {mean(mine) / mean(others):10.3f}  {same}",
            flush=True,
        )


def child(checkout: Path, name: str) -> "subprocess.Popen[str]":
    """Start a process that runs a workload with the code of a checkout, part by part."""
    return subprocess.Popen(
        [sys.executable, __file__, CHILD, name],
        env={**environment_of(checkout), "PYTHONHASHSEED": "0"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def run_parts(parts: Iterator[list[Any]]) -> None:
    """Run a part of a workload for each line that comes in."""
    for _ in sys.stdin:
        part = next(parts, None)
        print(json.dumps(part), flush=True)
        if part is None:
            break


if __name__ == "__main__":
    if sys.argv[1:2] == [CHILD]:
        run_parts(WORKLOADS[sys.argv[2]]())
    else:
        main()
