"""Many random refusals, what is said of each held against solves and brute force (G7).

A line for each fault; at the end, how many refusals there were, which kinds of changes were named
and how many of them are proven smallest, and how many kinds are said to be absent, or open.

Run: python tests/explain/random_refusals.py FIRST LAST [--named-only]

FIRST and LAST are numbers of worlds (`refusal_worlds`), LAST included; about four in ten have all
their pods placed, and others have several refusals. With --named-only the changes that are named
are tried, and no smaller ones. The exit code is 1 where something said is not so.
"""

import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from explain.refusal_checks import untrue
from refusal_worlds import refusals


def main() -> int:
    first, last = map(int, sys.argv[1:3])
    smaller_too = "--named-only" not in sys.argv
    named: Counter[str] = Counter()
    proven: Counter[str] = Counter()
    absent: Counter[str] = Counter()
    not_known: Counter[str] = Counter()
    faults = count = dumps = 0
    for number in range(first, last + 1):
        for one in refusals(range(number, number + 1)):
            count, dumps = count + 1, dumps + one.of_dump
            for change in one.explanation.changes:
                named[change.kind] += 1
                proven[change.kind] += change.smallest
            absent.update(one.explanation.ruled_out)
            not_known.update(one.explanation.open)
            for fault in untrue(one, smaller_too=smaller_too):
                faults += 1
                print(fault, flush=True)
    print(f"worlds {first} to {last}: {count} refusals, {dumps} of them in dumps, {faults} faults")
    print(f"named {named.total()}, proven smallest {proven.total()}")
    print(f"absent {absent.total()}, not known {not_known.total()}")
    for kind in sorted({*named, *absent, *not_known}):
        print(
            f"  {kind}: named {named[kind]}, proven {proven[kind]}, "
            f"absent {absent[kind]}, not known {not_known[kind]}"
        )
    return min(1, faults)


if __name__ == "__main__":
    sys.exit(main())
