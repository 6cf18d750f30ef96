"""Records of the inner loops: cheap to make, cheap to look up.

A frozen dataclass sets each field through ``object.__setattr__``, at five times the cost of an
assignment, and goes through all its parts whenever it is used as a key. Both together were a
tenth of the time that placing one pod took. So a class whose objects no caller ever holds is a
`record`, and a class whose objects are used as keys again and again has a `CachedHash`.
"""

from collections.abc import Callable
from dataclasses import fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from dataclasses import dataclass as record
else:
    from dataclasses import dataclass

    def record(*, frozen: bool, eq: bool = True, **options: bool) -> Callable[[type], type]:
        """Make a class a dataclass that is frozen only to the type checker."""
        return dataclass(eq=eq, unsafe_hash=frozen and eq, **options)


class CachedHash:
    """A frozen dataclass that remembers its hash.

    Such a class says ``__hash__ = CachedHash.__hash__``; otherwise a dataclass gets its own.
    The hash is not pickled, because it is different in another process.
    """

    __slots__ = ("_hash",)

    _hash: int

    def __hash__(self) -> int:
        """Return the hash of all fields that are compared."""
        try:
            return self._hash
        except AttributeError:
            compared = _COMPARED.get(type(self)) or _compared(type(self))
            found = hash(compared(self))
            object.__setattr__(self, "_hash", found)
            return found

    def __getstate__(self) -> object:
        """Return the fields only; what was worked out from them is not pickled."""
        return {field.name: getattr(self, field.name) for field in _fields(self)}


_COMPARED: dict[type, Callable[[object], tuple[object, ...]]] = {}
"""Class -> what takes all of its fields that are compared, as a tuple."""


def _compared(cls: type) -> Callable[[object], tuple[object, ...]]:
    names = [field.name for field in _fields(cls) if field.compare]

    def one_by_one(record: object) -> tuple[object, ...]:
        return tuple(getattr(record, name) for name in names)

    # An attrgetter of one name alone returns no tuple.
    found = _COMPARED[cls] = attrgetter(*names) if len(names) > 1 else one_by_one
    return found


def _fields(record: object) -> tuple[Any, ...]:
    return fields(cast("Any", record))


__all__ = ["CachedHash", "record"]
