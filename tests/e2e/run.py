"""Builds a real control plane (`make e2e`), or runs the tests that need one (`make e2e-test`).

The tests run only where `make e2e` was run before: building takes 5 to 30 minutes, and is
never done by the way.
"""

import argparse
import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]
sys.path.insert(0, str(CHECKOUT / "tests"))

from containers.runtimes import MissingError
from e2e.binaries import BuildError, cache_folder, missing, need_filter, need_programs

FILTER_LIMIT_S = 240.0
TESTS_LIMIT_S = 1500.0


def main() -> int:
    """Build, or test; 0 where all went well, or there is nothing to be had and none is asked."""
    parser = argparse.ArgumentParser(description=__doc__, epilog="Further arguments go to pytest.")
    parser.add_argument("what", choices=["build", "test"])
    parser.add_argument("--must-have", action="store_true", help="fail where something is missing")
    options, arguments = parser.parse_known_args()
    try:
        if options.what == "build":
            need_programs()
            _say(f"a control plane of Kubernetes is in {cache_folder()}")
            return 0
        if lacking := missing():
            raise MissingError(f"no {', '.join(lacking)} in {cache_folder()}; make e2e builds them")
        need_filter(FILTER_LIMIT_S)
    except MissingError as error:
        _say(f"NOT RUN: {error}")
        return int(options.must_have)
    except BuildError as error:
        _say(str(error))
        return 1
    command = [sys.executable, "-m", "pytest", "-m", "e2e and not check and not slow", "tests/e2e"]
    try:
        return subprocess.run(
            [*command, *arguments], cwd=CHECKOUT, timeout=TESTS_LIMIT_S
        ).returncode
    except subprocess.TimeoutExpired:
        _say(f"the tests were not done in {TESTS_LIMIT_S:.0f} s")
        return 1


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
