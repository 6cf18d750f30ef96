"""Records that are looked up again and again: each works its hash out but once."""

from dataclasses import fields
from typing import Any, cast


class CachedHash:
    """A frozen dataclass that remembers its hash.

    Such a class says ``__hash__ = CachedHash.__hash__``; else it gets one that goes through all
    its fields, and theirs, each time. A hash is not pickled: in another process it is another.
    """

    __slots__ = ("_hash",)

    _hash: int

    def __hash__(self) -> int:
        """Return the hash of all that is compared."""
        try:
            return self._hash
        except AttributeError:
            found = hash(tuple(getattr(self, name) for name in _compared(self)))
            object.__setattr__(self, "_hash", found)
            return found

    def __getstate__(self) -> object:
        """Return the fields alone; what was worked out from them stays here."""
        return {field.name: getattr(self, field.name) for field in fields(cast(Any, self))}


def _compared(record: object) -> list[str]:
    return [field.name for field in fields(cast(Any, record)) if field.compare]
