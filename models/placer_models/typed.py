"""Type checks: each argument of a word must have the type that its annotation names."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints


@dataclass(frozen=True, slots=True)
class _Argument:
    """The types that one argument may have.

    Attributes:
        hint: The annotation.
        plain: Classes that the argument may have.
        parts: Classes that the parts may have if the argument is a tuple.

    """

    name: str
    hint: Any
    plain: frozenset[type]
    parts: frozenset[type]


def check_types(word: Any) -> None:
    """Check that each argument of a dataclass has the type that its annotation names.

    Raises:
        TypeError: An argument has another type; the message names it.

    """
    for argument in _arguments(word.__class__):
        value = getattr(word, argument.name)
        if value.__class__ in argument.plain:
            continue
        if value.__class__ is tuple and argument.parts:
            for part in value:
                if part.__class__ not in argument.parts:
                    break
            else:
                continue
        for where, found in _wrong(argument.hint, value):
            raise TypeError(
                f"{type(word).__name__}: {argument.name}{where} is {found!r:.60}, of type "
                f"{type(found).__name__}; expected {_text(argument.hint)}"
            )


@cache
def _arguments(kind: Any) -> tuple[_Argument, ...]:
    """Return the types that the arguments of a dataclass may have."""
    hints = get_type_hints(kind)
    found = []
    for field in fields(kind):
        options = _options(hints[field.name])
        plain = {option for option in options if isinstance(option, type) and not get_args(option)}
        parts = [get_args(o)[0] for o in options if get_args(o)[1:] == (Ellipsis,)]
        classes = {part for part in parts if isinstance(part, type) and not get_args(part)}
        found.append(_Argument(field.name, hints[field.name], frozenset(plain), frozenset(classes)))
    return tuple(found)


def _wrong(hint: Any, value: object) -> Iterator[tuple[str, object]]:
    """Yield the first place in a value with a wrong type, and what is there; or nothing."""
    found: list[tuple[str, object]] = []
    for option in _options(hint):
        found = list(_not(option, value))
        if not found:
            return
    yield found[0]


def _not(option: Any, value: object) -> Iterator[tuple[str, object]]:
    """Yield the places in a value that do not have the type of one option, and what is there."""
    args = get_args(option)
    if get_origin(option) is tuple and isinstance(value, tuple):
        if args[1:] == (Ellipsis,):
            args = (args[0],) * len(value)
        if len(args) != len(value):
            yield "", value
            return
        for i, (arg, part) in enumerate(zip(args, value, strict=True)):
            for where, found in _wrong(arg, part):
                yield f"[{i}]{where}", found
    elif not isinstance(value, get_origin(option) or option) or (
        option is int and isinstance(value, bool)
    ):
        yield "", value


def _options(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def _text(hint: Any) -> str:
    """Return a type for people: ``int``, ``a tuple of Container``, ``DeviceShare or None``."""
    if get_origin(hint) in (Union, UnionType):
        return " or ".join(_text(part) for part in get_args(hint))
    if get_origin(hint) is tuple:
        args = get_args(hint)
        if len(args) == 2 and args[1] is Ellipsis:
            return f"a tuple of {_text(args[0])}"
        return f"a tuple ({', '.join(map(_text, args))})"
    if hint is NoneType:
        return "None"
    return getattr(hint, "__name__", str(hint))
