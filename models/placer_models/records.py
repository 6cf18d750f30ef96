"""Records of the inner loops: cheap to make, cheap to look up.

A frozen dataclass sets each field through ``object.__setattr__``, at five times the cost of an
assignment, and goes through all its parts whenever it is a key. Both together were a tenth of
all that placing one pod took. So what no caller ever holds is a `record`, and what is a key
again and again has a `CachedHash`.
"""

from collections.abc import Callable
from dataclasses import fields
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from dataclasses import dataclass as record
else:
    from dataclasses import dataclass

    def record(*, frozen: bool, eq: bool = True, **options: bool) -> Callable[[type], type]:
        """Make a class a dataclass that is frozen to the type checker alone."""
        return dataclass(eq=eq, unsafe_hash=frozen and eq, **options)


class CachedHash:
    """A frozen dataclass that remembers its hash.

    Such a class says ``__hash__ = CachedHash.__hash__``; else a dataclass gets its own. A hash
    is not pickled: in another process it is another one.
    """

    __slots__ = ("_hash",)

    _hash: int

    def __hash__(self) -> int:
        """Return the hash of all that is compared."""
        try:
            return self._hash
        except AttributeError:
            names = (field.name for field in _fields(self) if field.compare)
            found = hash(tuple(getattr(self, name) for name in names))
            object.__setattr__(self, "_hash", found)
            return found

    def __getstate__(self) -> object:
        """Return the fields alone; what was worked out from them stays here."""
        return {field.name: getattr(self, field.name) for field in _fields(self)}


def _fields(record: object) -> tuple[Any, ...]:
    return fields(cast("Any", record))


__all__ = ["CachedHash", "record"]
