"""How long the command takes to say anything, and what it leaves unloaded.

Each line is a fresh interpreter. The baseline is `python -c pass`, and the last line is
what OR-Tools alone would cost. Only commands that solve may load it.

Run: python benchmarks/startup.py [ROUNDS]
"""

import statistics
import subprocess
import sys
import time
from pathlib import Path

from _arguments import numbers_asked

HELLO = str(Path(__file__).parents[1] / "instances" / "hello.yaml")
LOADED = "import sys; print(any(m.split('.')[0] == 'ortools' for m in sys.modules))"
CALL = """
from placer_cli.app import main
try:
    main({arguments!r})
except SystemExit:
    pass
"""

LINES = {
    "python -c pass": "pass",
    "import placer_models.cluster": "import placer_models.cluster",
    "import placer.load": "import placer.load",
    "import placer_cli.app": "import placer_cli.app",
    "placer --help": CALL.format(arguments=["--help"]),
    "placer machines": CALL.format(arguments=["machines"]),
    "placer validate hello.yaml": CALL.format(arguments=["validate", HELLO]),
    "placer show hello.yaml": CALL.format(arguments=["show", HELLO]),
    "placer solve hello.yaml": CALL.format(arguments=["solve", HELLO]),
    "import ortools.sat.python.cp_model": "import ortools.sat.python.cp_model",
}


def run(code: str) -> tuple[float, bool]:
    """Return the seconds of one interpreter, and whether it loaded OR-Tools."""
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{LOADED}"], capture_output=True, text=True, check=True
    )
    return time.perf_counter() - started, done.stdout.strip().endswith("True")


def main(rounds: int) -> None:
    print(f"{'':36}  median ms  ratio  OR-Tools")
    base = 0.0
    for name, code in LINES.items():
        runs = [run(code) for _ in range(rounds)]
        median = statistics.median(seconds for seconds, _ in runs)
        base = base or median
        loaded = "loaded" if any(with_it for _, with_it in runs) else "not loaded"
        print(f"{name:36}  {1e3 * median:9.0f}  {median / base:5.1f}  {loaded}")


if __name__ == "__main__":
    main(numbers_asked(__doc__, rounds=7).rounds)
