"""Links between GPUs: from kinds and GB/s, as people write them, to a matrix of integers."""

from collections.abc import Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal

from placer_models.cpuset import parse_cpu_list
from placer_models.device import GpuLinkMatrix
from placer_models.message_text import count_with_noun

SELF = "X"
"""The kind on the diagonal: a GPU with itself."""

MAX_GB_PER_S = 1_000_000.0
"""No link comes near it; it keeps sums of pairs small."""

Kinds = tuple[tuple[str, ...], ...]
"""Row i, column j: the kind of the link from the i-th to the j-th GPU."""


def centi_gb_per_s(gb_per_s: float) -> int:
    """Return GB/s in units of 0.01 GB/s: the nearest integer, a half rounded up.

    This is the one place where bandwidth is rounded.
    """
    if not 0 <= gb_per_s <= MAX_GB_PER_S:
        raise ValueError(f"a link has 0 to {MAX_GB_PER_S:,.0f} GB/s per direction, got {gb_per_s}")
    # Through repr, so that 56.255 is the decimal number that a person wrote.
    centi = Decimal(repr(float(gb_per_s))) * 100
    return int(centi.quantize(Decimal(1), rounding=ROUND_HALF_UP))


def read_link_kinds(text: str, gpus: int) -> Kinds:
    """Read a matrix written as one row of kinds for each GPU, with ``X`` on the diagonal."""
    rows = tuple(tuple(line.split()) for line in text.splitlines() if line.strip())
    if len(rows) != gpus:
        raise ValueError(
            f"the machine has {count_with_noun(gpus, 'GPU')}, "
            f"the matrix {count_with_noun(len(rows), 'row')}"
        )
    for i, row in enumerate(rows):
        if len(row) != gpus:
            raise ValueError(
                f"row {i} has {count_with_noun(len(row), 'cell')}; "
                f"it needs {gpus}, one for each GPU"
            )
        for j, kind in enumerate(row):
            if (kind == SELF) != (i == j):
                raise ValueError(
                    f"row {i}, column {j} is {kind!r}; {SELF} stands on the diagonal and only there"
                )
    check_symmetric(rows)
    return rows


def link_kind_matrix(
    minors: Sequence[int], everywhere: str, within: Mapping[str, Sequence[str]]
) -> Kinds:
    """Return the matrix in which all pairs are of one kind, except for those within groups.

    Args:
        minors: The GPUs, ascending.
        everywhere: The kind of pairs that share no group.
        within: Kind -> lists of GPUs, each with that kind between all its members.
            A pair that stands in several lists has the kind of the last of them.

    """
    index = {minor: i for i, minor in enumerate(minors)}
    rows = [[everywhere] * len(minors) for _ in minors]
    for kind, groups in within.items():
        for group in groups:
            members = sorted(parse_cpu_list(group))
            for minor in members:
                if minor not in index:
                    raise ValueError(f"{kind}: the machine has no GPU {minor}")
            for a in members:
                for b in members:
                    rows[index[a]][index[b]] = kind
    for i, row in enumerate(rows):
        row[i] = SELF
    return tuple(tuple(row) for row in rows)


def check_symmetric(kinds: Kinds) -> None:
    """Refuse a matrix whose two directions differ; indices are those of its rows."""
    for i, row in enumerate(kinds):
        for j in range(i):
            if row[j] != kinds[j][i]:
                raise ValueError(
                    f"row {i}, column {j} is {row[j]}, but row {j}, column {i} is {kinds[j][i]}; "
                    "links are the same in both directions"
                )


def link_matrix(
    minors: Sequence[int],
    kinds: Kinds,
    gb_per_s: Mapping[str, float],
    *,
    shared_egress: bool = False,
) -> GpuLinkMatrix:
    """Return the matrix of bandwidths, given the GB/s per direction of each kind.

    Raises:
        ValueError: A kind has no bandwidth, or one that no link can have.

    """
    centi = {SELF: 0} | {kind: centi_gb_per_s(value) for kind, value in gb_per_s.items()}
    for row in kinds:
        for kind in row:
            if kind not in centi:
                known = ", ".join(gb_per_s) or "none"
                raise ValueError(f"the link kind {kind!r} has no bandwidth; given are: {known}")
    return GpuLinkMatrix(
        minors=tuple(minors),
        centi_gb_per_s=tuple(tuple(centi[kind] for kind in row) for row in kinds),
        kinds=kinds,
        shared_egress=shared_egress,
    )
