"""Boots emulated machines and runs the tests of `inside` there: `make vm-test`.

What the kernels answered to the tables' steps is written to build/vm/results, to be looked at and
taken over into tests/node/data by hand.
"""

import argparse
import os
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).parent
CHECKOUT = HERE.parents[1]
sys.path.insert(0, str(HERE.parent))

from vm.kernels import CannotBootError, kernel, need_qemu
from vm.machine import NoAnswerError, Run, boot

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
    cache.mkdir(parents=True, exist_ok=True)
    shared = Path(os.environ.get("PLACER_SHARED", CHECKOUT.parent / "shared"))
    failed = False
    images: dict[str, Path] = {}
    for series, cgroup in MACHINES:
        if options.cgroup in (None, cgroup):
            try:
                need_qemu()
                images[cgroup] = kernel(series, cache)
            except CannotBootError as error:
                _say(f"Linux {series}, cgroup {cgroup}: NOT RUN: {error}")
                failed |= options.must_boot
    # All at once: each has one thread.
    with ThreadPoolExecutor(max_workers=len(MACHINES)) as pool:
        tests = " ".join(options.tests)
        runs = {
            cgroup: pool.submit(boot, image, cgroup, tests, cache, shared)
            for cgroup, image in images.items()
        }
        for cgroup, waiting in runs.items():
            failed |= not _passed(cgroup, waiting, cache / "results")
    return int(failed)


def _passed(cgroup: str, waiting: "Future[Run]", results: Path) -> bool:
    """Wait for a machine, and say how its tests ended."""
    try:
        run = waiting.result()
    except NoAnswerError as error:
        _say(f"cgroup {cgroup}: {error}")
        return False
    _say(f"Linux {run.kernel}, cgroup {cgroup}, {run.seconds:.0f} s:\n{run.output}")
    results.mkdir(exist_ok=True)
    for name, text in run.files.items():
        (results / name).write_text(text)
    return run.passed


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
