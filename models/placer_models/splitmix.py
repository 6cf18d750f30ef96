"""SplitMix64 (Steele, Lea and Flood 2014): draws that are the same whoever makes them.

A draw is a whole number of 64 bits, a hash of where it is used: its number in a stream. So
nothing depends on the order in which draws are made, nor on the library that makes them.
"""

GOLDEN = 0x9E3779B97F4A7C15
FIRST_FACTOR = 0xBF58476D1CE4E5B9
SECOND_FACTOR = 0x94D049BB133111EB
"""The constants of SplitMix64."""

_MASK = (1 << 64) - 1


def random_number_at(stream: int, number: int) -> int:
    """Return the draw with this number, from 0 on, in the stream of this seed."""
    z = (stream + (number + 1) * GOLDEN) & _MASK
    z = ((z ^ (z >> 30)) * FIRST_FACTOR) & _MASK
    z = ((z ^ (z >> 27)) * SECOND_FACTOR) & _MASK
    return z ^ (z >> 31)


def random_below(stream: int, number: int, limit: int) -> int:
    """Return a draw as a whole number from 0 to ``limit`` - 1: its part of 2**64, rounded down."""
    return random_number_at(stream, number) * limit >> 64
