"""Which NUMA nodes the memory comes from."""

from placer.counting.memory import PodMemoryToAssign, split_memory_over_cells


def pinned(*units: int) -> PodMemoryToAssign:
    return PodMemoryToAssign(sum(units), units, ())


def loose(amount: int, *near: int) -> PodMemoryToAssign:
    return PodMemoryToAssign(amount, None, near)


def test_pinned_memory_is_taken_as_it_is_pinned() -> None:
    """
    The pod's choice says how much comes from where.
    """
    assert split_memory_over_cells([4, 4], [pinned(1, 3)]) == [(1, 3)]


def test_loose_memory_leaves_what_others_have_pinned() -> None:
    """
    The loose pod comes first and is near cell 0, but cell 0 is promised to the other.
    """
    assert split_memory_over_cells([4, 4], [loose(4, 0), pinned(4, 0)]) == [(0, 4), (4, 0)]


def test_loose_memory_is_near_first_and_then_in_one_place_that_fits() -> None:
    """
    Three units near, and the rest where two are left, not where nine are; then from the
    emptiest.
    """
    assert split_memory_over_cells([2, 3, 9], [loose(5, 1)]) == [(2, 3, 0)]
    assert split_memory_over_cells([2, 3, 4], [loose(8, 1)]) == [(1, 3, 4)]


def test_memory_alone_is_in_one_cell_where_there_is_room() -> None:
    """
    Of three pods that are near no cell the largest has the first choice, so that each is in
    one cell; one after the other they would be in two.
    """
    alone = [loose(2), loose(3), loose(5)]
    assert split_memory_over_cells([5, 5], alone) == [(0, 2), (0, 3), (5, 0)]


def test_memory_alone_leaves_what_others_want_near() -> None:
    """
    The first pod could be anywhere, the second has its CPUs at cell 0.
    """
    assert split_memory_over_cells([4, 4], [loose(4), loose(3, 0)]) == [(0, 4), (3, 0)]


def test_memory_fits_to_the_last_unit_and_no_further() -> None:
    """
    Nine units are there; ten are refused, and so are five from a cell of four.
    """
    assert split_memory_over_cells([4, 5], [loose(6), pinned(3, 0)]) == [(1, 5), (3, 0)]
    assert split_memory_over_cells([4, 5], [loose(7), pinned(3, 0)]) is None
    assert split_memory_over_cells([4, 5], [pinned(5, 0)]) is None
