"""Type checks: each argument of a word or a call must have the type that its annotation names."""

from collections import abc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from difflib import get_close_matches
from functools import cache, wraps
from inspect import signature
from itertools import chain, zip_longest
from operator import attrgetter
from types import NoneType, UnionType
from typing import Any, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

_Fits = Callable[[Any], bool]
"""Says whether a value has a type."""

_ValuesOf = Callable[[Any], tuple[Any, ...]]
"""Returns the arguments of a word."""

_Unsettled = dict[tuple[type, ...], tuple[tuple[int, _Fits], ...]]
"""Classes of the arguments of a word -> the positions of those that are looked at closely, each
with what settles it."""


class PrecheckedSequence:
    """A sequence whose entries were checked when they came in, and are not looked at again."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class _Argument:
    """The type of one argument.

    Attributes:
        hint: The annotation.
        plain: Classes that settle the matter: objects of them have the type.
        fits: Settles it for all other values.
        many: Whether it is any iterable, which can be gone through only once.

    """

    name: str
    hint: Any
    plain: frozenset[type]
    fits: _Fits
    many: bool


def check_field_types(word: Any) -> None:
    """Check that each argument of a dataclass has the type that its annotation names.

    Raises:
        TypeError: An argument has another type; the message names it.

    """
    kind = word.__class__
    values_of, arguments, unsettled = _arguments(kind)
    values = values_of(word)
    classes = tuple(map(type, values))
    looked_at = unsettled.get(classes)
    if looked_at is None:
        looked_at = unsettled[classes] = _unsettled(arguments, classes)
    for at, fits in looked_at:
        if not fits(values[at]):
            raise _error(kind.__name__, arguments[at], values[at])


class TypeChecked:
    """A dataclass whose arguments are checked by `check_field_types` when an object is made."""

    __slots__ = ()

    def __post_init__(self) -> None:
        check_field_types(self)


def check_argument_types(call: Callable[P, R]) -> Callable[P, R]:
    """Let a function or a method check the types of its arguments before anything else.

    An argument that is any iterable arrives as a tuple. Annotations have to be types, and no texts
    that name types.

    Raises:
        TypeError: An argument has another type; the message names it.

    """
    plain = signature(call)
    several = next((n for n, p in plain.parameters.items() if p.kind is p.VAR_POSITIONAL), None)
    names = tuple(n for n, p in plain.parameters.items() if p.kind is p.POSITIONAL_OR_KEYWORD)
    title = call.__qualname__.removesuffix(".__init__")
    known_names = frozenset(plain.parameters)
    known = {
        name: _argument(name, parameter.annotation)
        for name, parameter in plain.parameters.items()
        if parameter.annotation is not parameter.empty
    }

    def checked(name: str, value: Any) -> Any:
        argument = known.get(name)
        if argument is None or value.__class__ in argument.plain:
            return value
        if argument.many and isinstance(value, Iterable) and not isinstance(value, str | bytes):
            value = tuple(value)
        if not argument.fits(value):
            raise _error(title, argument, value)
        return value

    def is_settled(name: str | None, value: Any) -> bool:
        argument = None if name is None else known.get(name)
        return argument is None or type(value) in argument.plain

    # Classes of arguments, and names of named ones, of calls for which these settled everything.
    settled: set[tuple[Any, ...]] = set()

    @wraps(call)
    def careful(*args: P.args, **kwargs: P.kwargs) -> R:
        classes: tuple[Any, ...] = tuple(map(type, args))
        if kwargs:
            classes = (*classes, *kwargs, *map(type, kwargs.values()))
        if classes in settled:
            return call(*args, **kwargs)
        if not known_names.issuperset(kwargs):
            raise _unknown_argument(title, kwargs, names)
        found: Any = tuple(map(checked, names, args)) + args[len(names) :]
        if several is not None:
            for value in args[len(names) :]:
                checked(several, value)
        named: Any = {name: checked(name, value) for name, value in kwargs.items()}
        pairs = chain(zip_longest(names[: len(args)], args, fillvalue=several), kwargs.items())
        if all(is_settled(name, value) for name, value in pairs):
            settled.add(classes)
        return call(*found, **named)

    return careful


def suggest_argument_names(kind: type[T]) -> type[T]:
    """Let a dataclass answer an argument that it does not have with the name that was meant.

    Raises:
        TypeError: An object is made with such an argument.

    """
    plain: Any = kind.__init__
    names = tuple(signature(kind).parameters)

    @wraps(plain)
    def careful(self: Any, *args: Any, **kwargs: Any) -> None:
        try:
            plain(self, *args, **kwargs)
        except TypeError:
            if set(kwargs) <= set(names):
                raise
            raise _unknown_argument(kind.__name__, kwargs, names) from None

    kind.__init__ = careful  # type: ignore[method-assign]  # of any class, whatever its own takes
    return kind


def _unknown_argument(title: str, given: Iterable[str], names: Sequence[str]) -> TypeError:
    """Return the error for the first argument that there is none of, with the nearest name.

    Units are what a guess lacks most often: what begins as the guess does comes first.
    """
    guess = next(name for name in given if name not in names)
    begun = [name for name in names if name.startswith(f"{guess}_")]
    near = begun or get_close_matches(guess, names)
    mend = f"did you mean {' or '.join(near)}?" if near else f"there are: {', '.join(names)}"
    return TypeError(f"{title} has no argument '{guess}'; {mend}")


def _error(title: str, argument: _Argument, value: Any) -> TypeError:
    """Return the error that says where in an argument the type is wrong."""
    where, found = next(_wrong(argument.hint, value))
    return TypeError(
        f"{title}: {argument.name}{where} is {found!r:.60}, of type {type(found).__name__}; "
        f"expected {_text(argument.hint)}"
    )


def _unsettled(
    arguments: Sequence[_Argument], classes: Sequence[type]
) -> tuple[tuple[int, _Fits], ...]:
    """Return the positions of the values that their classes alone do not settle, and what does."""
    pairs = enumerate(zip(arguments, classes, strict=True))
    return tuple((at, one.fits) for at, (one, kind) in pairs if kind not in one.plain)


@cache
def _arguments(kind: Any) -> tuple[_ValuesOf, tuple[_Argument, ...], _Unsettled]:
    """Return what gets the arguments of a dataclass, their types, and what has been found out.

    That is which arguments need a look beyond their classes, by the classes of all of them:
    most words are made with the same classes again and again.
    """
    hints = get_type_hints(kind)
    names = [field.name for field in fields(kind) if field.init]
    values_of = attrgetter(*names)
    found = tuple(_argument(name, hints[name]) for name in names)
    return (values_of if len(names) > 1 else lambda word: (values_of(word),)), found, {}


def _argument(name: str, hint: Any) -> _Argument:
    return _Argument(name, hint, _classes(hint), _fits(hint), get_origin(hint) is Iterable)


def _classes(hint: Any) -> frozenset[type]:
    """Return the classes that a type names by themselves, not as types of parts."""
    return frozenset(one for one in _options(hint) if isinstance(one, type) and not get_args(one))


def _fits(hint: Any) -> _Fits:
    """Return what says whether a value has a type. It is quick where the value is right."""
    options = _options(hint)
    if len(options) > 1:
        each = [_fits(option) for option in options]
        return lambda value: any(fits(value) for fits in each)
    origin, args = get_origin(hint), get_args(hint)
    if origin is tuple and args[1:] != (Ellipsis,):
        return _all_of_row(args)
    if origin in _MANY:
        return _all_parts(origin, args[0])
    if origin is not None:
        return lambda value: isinstance(value, origin)
    if hint is float:
        return lambda value: isinstance(value, int | float) and not isinstance(value, bool)
    if hint is int:
        return lambda value: isinstance(value, int) and not isinstance(value, bool)
    return lambda value: isinstance(value, hint)


def _all_of_row(hints: tuple[Any, ...]) -> _Fits:
    each = [_fits(hint) for hint in hints]

    def fits(value: Any) -> bool:
        return (
            isinstance(value, tuple)
            and len(value) == len(each)
            and (
                tuple(map(type, value)) == hints
                or all(one(part) for one, part in zip(each, value, strict=True))
            )
        )

    return fits


def _all_parts(origin: Any, hint: Any) -> _Fits:
    of_one, plain = _fits(hint), _classes(hint)
    takes_tuples = issubclass(tuple, origin)
    last: object = () if takes_tuples else None

    def fits(value: Any) -> bool:
        nonlocal last
        # A pod, its containers and their pool have one set of CPUs, often of hundreds.
        if value is last:
            return True
        if takes_tuples and value.__class__ is tuple and plain.issuperset(map(type, value)):
            return True
        if not isinstance(value, origin) or isinstance(value, str | bytes):
            return False
        if isinstance(value, PrecheckedSequence):
            return True
        # The classes of many parts are gathered faster than the parts are gone through.
        found = plain.issuperset(map(type, value)) or all(map(of_one, value))
        if found and origin is frozenset:
            last = value
        return found

    return fits


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
    origin, args = get_origin(option), get_args(option)
    has_parts = origin in _MANY
    if has_parts and isinstance(value, origin) and not isinstance(value, str | bytes):
        parts = list(value)
        each = [args[0]] * len(parts)
        if origin is tuple and args[1:] != (Ellipsis,):
            each = list(args)
        if len(each) != len(parts):
            yield "", value
            return
        for i, (arg, part) in enumerate(zip(each, parts, strict=True)):
            for where, found in _wrong(arg, part):
                yield " (one of them)" if origin is frozenset else f"[{i}]{where}", found
    elif not _fits(option)(value):
        yield "", value


def _options(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def _text(hint: Any) -> str:
    """Return a type for people: ``int``, ``a tuple of Container``, ``DeviceShare or None``."""
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return " or ".join(_text(part) for part in args)
    if origin in _MANY and (origin is not tuple or args[1:] == (Ellipsis,)):
        return f"{_MANY[origin]} of {_text(args[0]).removeprefix('a tuple ')}"
    if origin is tuple:
        return f"a tuple ({', '.join(map(_text, args))})"
    if origin is abc.Callable:
        return "a function"
    if hint is NoneType:
        return "None"
    return "a number" if hint is float else getattr(origin or hint, "__name__", str(hint))


_MANY: Mapping[Any, str] = {
    tuple: "a tuple",
    frozenset: "a frozenset",
    Sequence: "a sequence",
    Iterable: "an iterable",
}
"""Types of many things of one kind -> what messages call them."""
