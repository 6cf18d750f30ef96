"""Boots emulated machines and runs the tests of `inside` there: `make vm-test`.

What the kernels answered to the tables' steps is written to build/vm/results, to be looked at and
taken over into tests/node/data by hand.
"""

import argparse
import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
CHECKOUT = HERE.parents[1]
sys.path.insert(0, str(HERE.parent))

from vm.kernels import CannotBootError  # noqa: E402
from vm.machine import boot  # noqa: E402

MACHINES = (("6.12", "v2"), ("6.1", "v1"))
"""Series of the kernel, version of the cgroups. 6.1 lacks cpuset.cpus.exclusive; version 1 is
an option that later kernels may be built without."""


def main() -> int:
    """Run the tests in each machine; 0 when all pass or there is no machine to be had."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tests", nargs="*", default=["tests/vm/inside"])
    parser.add_argument("--cgroup", choices=["v1", "v2"], help="only this version")
    parser.add_argument("--must-boot", action="store_true", help="fail where nothing boots")
    options = parser.parse_args()
    cache = CHECKOUT / "build" / "vm"
    shared = Path(os.environ.get("PLACER_SHARED", CHECKOUT.parent / "shared"))
    failed = False
    for series, cgroup in MACHINES:
        if options.cgroup not in (None, cgroup):
            continue
        try:
            run = boot(series, cgroup, " ".join(options.tests), cache, shared)
        except CannotBootError as error:
            _say(f"Linux {series}, cgroup {cgroup}: not run: {error}")
            failed |= options.must_boot
            continue
        _say(f"Linux {run.kernel}, cgroup {cgroup}, {run.seconds:.0f} s:\n{run.output}")
        failed |= not run.passed
        results = cache / "results"
        results.mkdir(exist_ok=True)
        for name, text in run.files.items():
            (results / name).write_text(text)
    return int(failed)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
