"""Errors of usage in our words: the option, its value, what is allowed."""

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

import typer

from placer_models.message_text import spelling_suggestion

_OTHER_WORDS = (
    (("--time-limit", "--seconds"), "deadline duration max-seconds max-time time timeout"),
    (("--workers", "--processes"), "cores cpus jobs parallel threads"),
    (("--executor",), "cluster dask"),
    (("--output", "--to"), "destination directory file folder out save write"),
    (("--report",), "html page"),
    (("--format json",), "json"),
    (("--format",), "output-format print"),
    (("--engine",), "algorithm method mode solver"),
    (("--strategy",), "policy scorer scoring"),
    (("--what-if",), "change scenario whatif"),
    (("--move-budget",), "migrations moves preemptions"),
    (("--answer", "--placement"), "result solution"),
    (("--emit",), "bind manifests"),
    (("--skip-illegal",), "ignore-errors lenient skip-invalid"),
    (("--dry-run",), "check preview simulate"),
    (("--domain",), "rack zone"),
    (("--pod", "--pods"), "shape"),
    (("--all",), "everything full long wide"),
    (("--svg",), "draw image picture"),
)
"""Options of one meaning, and other words that people type for them."""


def usage_error_message(error: typer.TyperException) -> str:
    """Return the message of a usage error, with the value that was given."""
    option = getattr(error, "option_name", None)
    if option is not None and hasattr(error, "possibilities"):
        return f"No such option: {option}{_meant_option(option, getattr(error, 'ctx', None))}"
    if not isinstance(error, typer.BadParameter):
        return error.format_message().removesuffix(".")
    # Where a command refuses a value itself, the message is a whole one.
    if error.param is None or error.ctx is None:
        return error.message
    if not error.message and error.param.param_type_name == "option":
        return f"{error.param.opts[0]} is missing: it has no default"
    if not error.message:
        return _missing(error.ctx.command, error.format_message())
    option = error.param.metavar if error.param.param_type_name == "argument" else None
    option = option or error.param.opts[0]
    # Typer's own text lacks the value; the validator that it asked knows all.
    faults = getattr(error.__cause__, "errors", None)
    if callable(faults):
        return _refused(option, faults()[0])
    return f"{option}: {error.message.rstrip('.')}"


def _meant_option(typed: str, context: typer.Context | None) -> str:
    """Return ``; did you mean '--time-limit'?``: the option of that meaning, or the nearest."""
    if context is None:
        return ""
    own = set(_options_of(context.command))
    outer = context.find_root()
    if context is not outer and typed in _options_of(outer.command):
        after = context.command_path.removeprefix(outer.command_path)
        return f"; it goes before the command: {outer.command_path} {typed}{after}"
    known: dict[str, str] = {}
    for options, words in reversed(_OTHER_WORDS):
        there = [option for option in options if option.split()[0] in own]
        if there:
            meant = (*words.split(), *(option.strip("-") for option in options))
            known |= dict.fromkeys(meant, there[0])
    known |= {option.strip("-"): option for option in own}
    word = typed.strip("-").lower().replace("_", "-")
    near = get_close_matches(word, known, n=1)
    return f"; did you mean '{known[near[0]]}'?" if near else ""


def _options_of(command: Any) -> Iterator[str]:
    """Yield the long options of a command."""
    for param in command.params:
        yield from (option for option in param.opts if option.startswith("--"))


def _missing(command: object, otherwise: str) -> str:
    """Name the word that is missing: the last, though the parser misses the first."""
    needed = [
        param
        for param in getattr(command, "params", ())
        if param.param_type_name == "argument" and param.required
    ]
    if not needed:
        return otherwise
    words = [
        f"{param.metavar}{'...' if param.nargs == -1 and '...' not in param.metavar else ''}"
        for param in needed
    ]
    return f"{needed[-1].metavar} is missing: expected {' '.join(words)}"


def _refused(option: str, fault: Mapping[str, Any]) -> str:
    value, limits = fault["input"], fault.get("ctx", {})
    match fault["type"]:
        case "greater_than_equal":
            return f"{option} is {value}; it must be {_plain(limits['ge'])} or more"
        case "less_than_equal":
            return f"{option} is {value}; it must be {_plain(limits['le'])} or less"
        case "int_parsing" | "int_from_float" | "int_parsing_size":
            return f"{option} is '{value}'; it must be a whole number"
        case "float_parsing":
            return f"{option} is '{value}'; it must be a number"
        case _:
            said = fault["msg"].removeprefix("Value error, ").rstrip(".")
            choices = re.findall("'([^']*)'", said.partition("' is not one of ")[2])
            return f"{option}: {said}{spelling_suggestion(str(value), choices)}"


def _plain(limit: float) -> str:
    return f"{limit:,}".removesuffix(".0")
