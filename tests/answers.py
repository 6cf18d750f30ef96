"""Answers of which a test knows beforehand what kind they are."""

from typing import TypeVar

Kind = TypeVar("Kind")


def expect(kind: type[Kind], answer: object) -> Kind:
    """Hold an answer to its kind, and return it."""
    assert isinstance(answer, kind), answer
    return answer
