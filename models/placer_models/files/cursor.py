"""A cursor: one value of a document that strangers wrote, checked as it is read."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import NoReturn, TypeVar

MAX_INTEGER = 2**31 - 1
"""Counts and ids in these documents have 32 bits."""

Word = TypeVar("Word", bound=StrEnum)


class LocatedValue(ABC):
    """One value, which knows where it stands and how its fault is told."""

    __slots__ = ()

    value: object

    @property
    @abstractmethod
    def got(self) -> str:
        """The value as messages show it, without the contents of a mapping or a list."""

    @property
    def missing(self) -> str:
        """What is wrong if the value is left out; empty if it is told as any other value."""
        return ""

    @abstractmethod
    def refuse(self, message: str) -> NoReturn:
        """Raise the error that refuses this value."""

    @abstractmethod
    def text(self) -> str:
        """Return the value as a text; anything else is refused."""

    def word(self, words: type[Word], *aliases: Mapping[str, Word]) -> Word:
        """Return a text that is one of the words, or another spelling of one.

        Any other value is refused.
        """
        text = self.text()
        for spelt in aliases:
            if text in spelt:
                return spelt[text]
        if text not in list(words):
            self.refuse(f"got {self.got}; expected {', '.join(word for word in words if word)}")
        return words(text)

    def integer(self, default: int | None = None, *, least: int = 0) -> int:
        """Return a whole number of 32 bits, which may be left out only if there is a default.

        Any other value is refused.
        """
        if self.value is None and default is not None:
            return default
        if isinstance(self.value, bool) or not isinstance(self.value, int):
            self.refuse(self.missing or f"got {self.got}; expected a whole number")
        if not least <= self.value <= MAX_INTEGER:
            self.refuse(f"got {self.got}; expected {least} to {MAX_INTEGER}")
        return self.value

    def amount(self, parse: Callable[[str | float], int]) -> int:
        """Return a quantity, in quotes or not. Any other value is refused.

        Args:
            parse: Reads the quantity in the unit wanted, or raises ValueError.

        """
        if isinstance(self.value, bool) or not isinstance(self.value, str | int | float):
            self.refuse(f"got {self.got}; expected an amount such as 4, 500m or 16Gi")
        try:
            return parse(self.value)
        except ValueError as error:
            self.refuse(str(error))
