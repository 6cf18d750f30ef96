"""Commands of ``placer``, run within a test."""

from functools import cache
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import pytest

import placer

HERE = Path(placer.__file__).parent


@cache
def load_callers_of_the_solver() -> None:
    """Import each module that imports `solve` by its name."""
    for file in sorted(HERE.rglob("*.py")):
        if "from placer.search.solver import" in file.read_text("utf-8"):
            import_module(".".join(("placer", *file.relative_to(HERE).with_suffix("").parts)))


class Printed(NamedTuple):
    """What a command prints: its answer, and what it complains of or reports beside it."""

    out: str
    err: str

    @property
    def flat(self) -> str:
        """The answer with single blanks, wherever its lines and columns end."""
        return " ".join(self.out.split())

    @property
    def rows(self) -> list[str]:
        """The lines of the answer, without blanks that are there for columns."""
        return [" ".join(line.split()) for line in self.out.splitlines()]


class Placer:
    """The command ``placer``, whose exit code is held to what a test expects.

    Whatever imports the solver by name is loaded first: a module that is loaded by a command while
    a test has put something in the solver's place would keep that for all later tests.
    """

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        load_callers_of_the_solver()
        self._main = import_module("placer_cli.app").main

    def __call__(self, *arguments: str, code: int = 0) -> Printed:
        """Run a command, and return what was printed since somebody looked last."""
        ended = self._main(list(arguments))
        printed = Printed(*self._capsys.readouterr())

        assert ended == code, printed.err
        return printed
