"""Link matrices that contradict themselves."""

import pytest

from placer_models.device import GpuLinkMatrix


def links(*rows: tuple[int, ...]) -> GpuLinkMatrix:
    n = len(rows)
    return GpuLinkMatrix(tuple(range(n)), rows, (("SYS",) * n,) * n)


def test_a_symmetric_matrix_is_taken() -> None:
    """
    0.01 GB/s as integers, 0 on the diagonal.
    """
    assert links((0, 5625), (5625, 0)).centi_gb_per_s[0][1] == 5625


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (((0, 100), (200, 0)), "GPU 0 to GPU 1 has 1.0 GB/s, but GPU 1 to GPU 0 has 2.0"),
        (((0, -1), (-1, 0)), "is negative"),
        (((5, 1), (1, 0)), "GPU 0 has a link to itself"),
        (((0, 1, 1), (1, 0)), "expected 2 rows of 2 cells"),
    ],
)
def test_contradictions_are_refused_by_name(
    rows: tuple[tuple[int, ...], ...], message: str
) -> None:
    """
    The message names the GPUs and both values.
    """
    with pytest.raises(ValueError, match=message):
        links(*rows)
