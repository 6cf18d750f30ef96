"""Default locality, as it is measured for a shape on a kind of node."""

from typing import NamedTuple


class LocalityFit(NamedTuple):
    """The fewest places that hold a pod with all that it has, on the empty node.

    Attributes:
        cells: The fewest cells; None where a policy says which it uses, or there is only one.
        packages: The fewest packages; None where there is only one.

    """

    cells: int | None
    packages: int | None
