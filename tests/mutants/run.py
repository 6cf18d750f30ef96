"""Changes the source in small ways, and tells which of the changes no test notices.

`make mutants` draws mutants from the judge, the words that it shares with the solver, the model
and the greedy path, as many from each. Each is tried in a copy of the checkout: the tests that
are nearest to it run first, and the first failure kills it. One that survives is equivalent to
what was there, or wants a test. Where pytest does not get as far as a test that passes or fails,
the mutant is neither killed nor alive: its row says ERROR, and what there is to look at.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

CHECKOUT = Path(__file__).parents[2]
sys.path.insert(0, str(CHECKOUT / "tests"))

from mutants.operators import Mutant, mutants_of

MODELS = "models/placer_models"
SHARED_WORDS = (
    "affinity",
    "alignment",
    "bound",
    "cluster",
    "cpuset",
    "device_share",
    "device_strategy",
    "goals",
    "links",
    "mig",
    "movable",
    "moves",
    "network",
    "node_affinity",
    "node_rules",
    "node_strategy",
    "optional_tiers",
    "pod",
    "reach",
    "resource_classes",
    "selectors",
    "spreading",
    "taints",
    "topology",
    "topology_spread",
    "visible_devices",
)
AREAS = {
    "judge": ("placer/judge",),
    "words": tuple(f"{MODELS}/{name}" for name in SHARED_WORDS),
    "model": (f"{MODELS}/cpsat",),
    "greedy": ("placer/greedy",),
}
"""Where mutants are drawn from: folders and modules."""

GATE = "not slow and not check and not e2e"
CHECK = "check and not slow and not e2e"
TOLD = ("tests/second_tellings", "tests/words", "tests/links", "tests/alignment")
EVERYWHERE = ("tests/search", "tests/scheduler", "tests/exclusivity", "tests/node_cpus")


class Stage(NamedTuple):
    """Tests that a mutant is tried on.

    Attributes:
        marks: Which of them, by their marks.

    """

    name: str
    paths: tuple[str, ...]
    marks: str = GATE


class Drawn(NamedTuple):
    """A mutant of a file, and the area that it was drawn from."""

    number: int
    area: str
    file: str
    mutant: Mutant


class Outcome(NamedTuple):
    """What ended the trial of a mutant before its last stage.

    Attributes:
        killed: Whether a test failed; else the tests did not run to their end.
        what: The test, or what went wrong.

    """

    killed: bool
    what: str


PASSED, FAILED, NONE_MEANT = 0, 1, 5
"""Exit codes of pytest. Its others say that it was interrupted, broke, or was called wrongly."""

EDGES = Stage("edges", ("tests/exact/test_edges.py", "tests/exact/test_hand_made.py"))


def stages_of(drawn: Drawn) -> Iterator[Stage]:
    """Yield the tests that a mutant is tried on, the nearest and cheapest first."""
    named = sorted((CHECKOUT / "tests").rglob(f"test_*{Path(drawn.file).stem}*.py"))
    if named:
        yield Stage("named", tuple(str(file.relative_to(CHECKOUT)) for file in named))
    if drawn.area in ("judge", "words"):
        yield Stage("told", ("tests/judge", *TOLD))
    if drawn.area == "greedy":
        yield Stage("greedy", ("tests/greedy",))
    yield EDGES
    yield Stage("exact", ("tests/exact", "tests/judge", "tests/greedy"))
    yield Stage("around", EVERYWHERE)
    yield Stage("gate", ("tests",))
    yield Stage("check", ("tests/exact", "tests/judge", "tests/greedy", "tests/search"), CHECK)


def main() -> int:
    """Draw mutants, try them one by one, and write a row for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="of the draw; 1")
    parser.add_argument("--each", type=int, default=5, help="how many from each area; 5")
    parser.add_argument("--area", choices=AREAS, help="draw from this area alone")
    parser.add_argument("--only", type=int, nargs="+", help="numbers of the mutants to try")
    parser.add_argument("--until", help="the last stage to try; check")
    parser.add_argument("--list", action="store_true", help="say what is drawn, and try nothing")
    parser.add_argument("--timeout", type=int, default=1800, help="seconds for a stage; 1800")
    options = parser.parse_args()
    drawn = [
        one
        for one in draw(options.seed, options.each)
        if options.area in (None, one.area) and (options.only is None or one.number in options.only)
    ]
    if options.list:
        for one in drawn:
            say(one, "")
        return 0
    survived = errors = 0
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copy_checkout(Path(folder))
        if failure := run(EDGES, Path(folder), options.timeout):
            sys.exit(f"without any mutant {failure.what}: mend that first")
        for one in drawn:
            outcome = outcome_of(one, Path(folder), options.until, options.timeout)
            survived += outcome is None
            errors += outcome is not None and not outcome.killed
            say(one, row_of(outcome))
    counts = f"{survived} survived, {errors} ended in errors"
    sys.stdout.write(f"{len(drawn)} mutants of seed {options.seed}: {counts}\n")
    return 1 if survived or errors else 0


def draw(seed: int, each: int) -> list[Drawn]:
    """Draw so many mutants from each area. A seed draws the same ones from the same source."""
    found: list[Drawn] = []
    for area, places in AREAS.items():
        files = sorted({file for place in places for file in _modules(CHECKOUT / place)})
        every = [
            (str(file.relative_to(CHECKOUT)), mutant)
            for file in files
            for mutant in mutants_of(file.read_text("utf-8"))
        ]
        for file_name, mutant in Random(f"{seed} {area}").sample(every, each):
            found.append(Drawn(len(found) + 1, area, file_name, mutant))
    return found


def row_of(outcome: Outcome | None) -> str:
    """Return what the row of a mutant says of its trial."""
    if outcome is None:
        return "SURVIVED"
    return outcome.what if outcome.killed else f"ERROR in {outcome.what}"


def outcome_of(drawn: Drawn, copy: Path, until: str | None, timeout_s: int) -> Outcome | None:
    """Return what ends the trial of a mutant, or None if all tests pass with it in place."""
    file = copy / drawn.file
    before = file.read_text("utf-8")
    file.write_text(drawn.mutant.put_into(before), "utf-8")
    try:
        for stage in stages_of(drawn):
            started = time.monotonic()
            if (outcome := run(stage, copy, timeout_s)) is not None:
                where = f"{stage.name} ({time.monotonic() - started:.0f} s)"
                return outcome._replace(what=f"{where}: {outcome.what}")
            if stage.name == until:
                return None
        return None
    finally:
        file.write_text(before, "utf-8")


def run(stage: Stage, copy: Path, timeout_s: int) -> Outcome | None:
    """Return the first failure of the tests in the copy, or None if all pass."""
    paths = [str(copy / name) for name in ("", "models", "cli")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "--no-header", "-p", "no:cacheprovider"]
    command += ["-m", stage.marks, *stage.paths]
    try:
        done = subprocess.run(
            command,
            cwd=copy,
            env=environment,
            capture_output=True,
            text=True,
            timeout=timeout_s,
        )
    except subprocess.TimeoutExpired:
        return Outcome(False, f"nothing within {timeout_s} s")
    return outcome_told(done.returncode, done.stdout, done.stderr)


def outcome_told(exit_code: int, stdout: str, stderr: str) -> Outcome | None:
    """Return what a run of pytest says, or None if all its tests passed or none was meant.

    A failed test is one that pytest names: an interpreter that lacks pytest ends with 1 too.
    """
    if exit_code in (PASSED, NONE_MEANT):
        return None
    named = [
        line.partition(" - ")[0]
        for line in stdout.splitlines()
        if line.startswith(("FAILED ", "ERROR "))
    ]
    if exit_code == FAILED and named:
        return Outcome(True, named[0])
    last = f"{stdout}\n{stderr}".strip().splitlines()[-1:]
    return Outcome(False, ": ".join((f"exit code {exit_code}", *(named[:1] or last))))


def copy_checkout(to: Path) -> None:
    """Copy all files of the checkout that git knows."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        target = to / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((CHECKOUT / name).read_bytes())


def say(drawn: Drawn, what: str) -> None:
    """Write a row about a mutant."""
    mutant = drawn.mutant
    cells = (drawn.number, drawn.area, f"{drawn.file}:{mutant.line}", f"`{mutant.change}`", what)
    sys.stdout.write(f"| {' | '.join(map(str, cells))} |\n")
    sys.stdout.flush()


def _modules(place: Path) -> Sequence[Path]:
    return sorted(place.rglob("*.py")) if place.is_dir() else [place.with_suffix(".py")]


if __name__ == "__main__":
    sys.exit(main())
