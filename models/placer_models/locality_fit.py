"""The measure of locality by default, for a shape on a kind of node."""

from typing import NamedTuple


class LocalityFit(NamedTuple):
    """The fewest places that hold a pod with all that it has, on the empty node.

    Attributes:
        cells: Cells; None where a policy says which it uses, or there is one alone.
        packages: Packages; None where there is one alone.

    """

    cells: int | None
    packages: int | None
