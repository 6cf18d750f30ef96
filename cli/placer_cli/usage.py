"""Errors of usage in our words: the option, its value, what is allowed."""

import re
from collections.abc import Mapping
from typing import Any

import typer

from placer_models.files.errors import suggestion


def usage_message(error: typer.TyperException) -> str:
    """Return the message of a usage error, with the value that was given."""
    if not isinstance(error, typer.BadParameter):
        return error.format_message()
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


def _missing(command: object, otherwise: str) -> str:
    """Name the word that is missing: the last, though the parser misses the first."""
    needed = [
        param
        for param in getattr(command, "params", ())
        if param.param_type_name == "argument" and param.required
    ]
    if not needed:
        return otherwise
    words = [f"{param.metavar}{'...' if param.nargs == -1 else ''}" for param in needed]
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
            return f"{option}: {said}{suggestion(str(value), choices)}"


def _plain(limit: float) -> str:
    return f"{limit:,}".removesuffix(".0")
