"""Arrivals: in which order pods of a list come, and which nodes come first among equals.

FGD's evaluation has both for each of its seeds, in a file of NumPy arrays: ``pods_SEED``, rows of
the list of pods in order of arrival, and ``noderank_SEED``, the rank of each row of the list of
nodes; of nodes that score alike the one with the smallest rank has the pod.
"""

import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from placer_models.files.errors import InputError
from placer_models.message_text import near_or_first_names_text

PODS, RANKS = "pods_", "noderank_"


@dataclass(frozen=True, slots=True)
class TraceArrivalOrder:
    """What one seed says.

    Attributes:
        pods: Rows of the list of pods, from 0, in order of arrival.
        ranks: The rank of each row of the list of nodes: a permutation, from 0.

    """

    pods: tuple[int, ...]
    ranks: tuple[int, ...]


def read_arrival_order(file: Path, seed: int, *, nodes: int, pods: int) -> TraceArrivalOrder:
    """Return the arrivals of a seed.

    Args:
        file: The file of arrays.
        seed: The seed.
        nodes: How many rows the list of nodes has.
        pods: How many rows the list of pods has.

    Raises:
        InputError: The file is no such file, has no such seed, or is of other lists.

    """
    arrays = _read(file, seed)
    order, ranks = (_whole_numbers(file, name, array) for name, array in arrays.items())
    beyond = [at for at, row in enumerate(order) if not 0 <= row < pods]
    if beyond:
        at = beyond[0]
        message = f"entry {at} is row {order[at]} of the list of pods, which has {pods} rows"
        raise InputError(
            str(file), None, f"{PODS}{seed}", f"{message}; name its own list", more=len(beyond) - 1
        )
    if sorted(ranks) != list(range(nodes)):
        message = f"expected each rank from 0 to {nodes - 1} once, as there are {nodes} nodes"
        raise InputError(
            str(file), None, f"{RANKS}{seed}", f"there are {len(ranks)} ranks; {message}"
        )
    return TraceArrivalOrder(tuple(order), tuple(ranks))


def _read(file: Path, seed: int) -> dict[str, NDArray[np.int64]]:
    """Return the two arrays of a seed, by name."""
    names = (f"{PODS}{seed}", f"{RANKS}{seed}")
    expected = "expected a file of NumPy arrays (.npz)"
    try:
        if not zipfile.is_zipfile(file) and file.stat():
            raise InputError(str(file), None, "", f"is no archive; {expected}")
        with file.open("rb") as stream, np.load(stream, allow_pickle=False) as found:
            seeds = [name.removeprefix(PODS) for name in found if name.startswith(PODS)]
            for name in names:
                if name not in found:
                    known = near_or_first_names_text(str(seed), seeds)
                    raise InputError(str(file), None, name, f"there is no such array{known}")
            return {name: found[name] for name in names}
    except (ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise InputError(str(file), None, "", f"cannot be read: {error}; {expected}") from None


def _whole_numbers(file: Path, name: str, array: NDArray[np.int64]) -> list[int]:
    if not isinstance(array, np.ndarray):  # NumPy returns a member that is no array as bytes
        raise InputError(str(file), None, name, "is no array; expected one of whole numbers")
    if array.ndim != 1 or array.dtype.kind not in "iu":
        message = f"is an array of {array.dtype} with {array.ndim} dimensions"
        raise InputError(str(file), None, name, f"{message}; expected one of whole numbers")
    found: list[int] = array.tolist()
    return found
