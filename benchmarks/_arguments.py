"""What benchmarks take from the command line, and how they say that they cannot run."""

import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Collection
from typing import NoReturn

NOT_RUN = 3
"""The exit code where something is missing that only the caller has; `make bench` goes on then."""


def parser_for(doc: str | None) -> ArgumentParser:
    """Return a parser that has no arguments yet; its help is a module's docstring, as it is."""
    return ArgumentParser(description=doc, formatter_class=RawDescriptionHelpFormatter)


def add_numbers(parser: ArgumentParser, **defaults: float) -> None:
    """Add a number for each name, in this order and of the type of the default that it may keep."""
    for name, default in defaults.items():
        parser.add_argument(name, type=type(default), nargs="?", default=default)


def numbers_asked(doc: str | None, **defaults: float) -> Namespace:
    """Return the numbers of a command line that takes nothing else, by their names."""
    parser = parser_for(doc)
    add_numbers(parser, **defaults)
    return parser.parse_args()


def one_of(names: Collection[str]) -> Callable[[str], str]:
    """Return the type of an argument that is one of these names.

    It is for ``nargs="*"``: there argparse looks for the default among ``choices``, and a list is
    none of them.
    """

    def name(word: str) -> str:
        if word not in names:
            raise ArgumentTypeError(f"{word!r} is none of {', '.join(names)}")
        return word

    return name


def not_run(why: str) -> NoReturn:
    """Say why nothing is measured, and end."""
    print(f"not run: {why}", file=sys.stderr)
    raise SystemExit(NOT_RUN)
