"""A feature of tiny worlds: the words of one family, which the world generator mixes."""

from collections.abc import Callable
from random import Random
from typing import NamedTuple

from placer_models.cluster import Instance

Dress = Callable[[Random, Instance], Instance]
"""Returns an instance with words of a family; may change anything."""


class Feature(NamedTuple):
    """What a family brings to worlds; its file ends in this record, `FEATURE`.

    Attributes:
        name: As its file is called.
        dress: Gives an instance the family's words.

    """

    name: str
    dress: Dress
