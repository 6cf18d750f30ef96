"""Gets what the tests of real containers and of systemd's D-Bus need, and runs them.

`make container-test`: crun, dbus-daemon and systemd's programs are installed where root may; runc
and a reader of CDI specs are built, once, and kept in build/containers.
"""

import argparse
import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]
sys.path.insert(0, str(CHECKOUT / "tests"))

from containers.runtimes import MissingError, need_cdi_reader, need_program, need_runc

TESTS = ("tests/containers", "tests/node/test_systemd_units.py", "tests/node/test_unit_file.py")


def main() -> int:
    """Run the tests; what cannot be had here is said, and its tests skip."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--must-have", action="store_true", help="fail where something is missing")
    parser.add_argument("pytest", nargs="*", help="arguments of pytest")
    options = parser.parse_args()
    missing = 0
    for get in (
        lambda: need_program("crun", "crun"),
        lambda: need_program("dbus-daemon", "dbus-daemon"),
        lambda: need_program("systemd-analyze", "systemd"),
        need_runc,
        need_cdi_reader,
    ):
        try:
            get()
        except MissingError as error:
            sys.stdout.write(f"{error}\n")
            missing += 1
    sys.stdout.flush()
    command = [sys.executable, "-m", "pytest", "-m", "not slow", *TESTS, *options.pytest]
    code = subprocess.run(command, cwd=CHECKOUT).returncode
    return code or int(options.must_have and missing > 0)


if __name__ == "__main__":
    sys.exit(main())
