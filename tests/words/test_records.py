"""Records of the inner loops: what they are in place of, they do."""

import subprocess
import sys
from dataclasses import FrozenInstanceError, dataclass, field, replace

import pytest

from placer_models.pod import Container, PodSpec, Resources
from placer_models.records import CachedHash, record


@dataclass(frozen=True, slots=True)
class _Keyed(CachedHash):
    name: str
    parts: tuple[int, ...] = ()
    note: str = field(default="", compare=False)

    __hash__ = CachedHash.__hash__


@record(frozen=True, slots=True)
class _Record:
    name: str
    parts: tuple[int, ...] = ()


def test_equal_records_are_one_key() -> None:
    found = {_Keyed("a", (1,)): 1}

    assert found[_Keyed("a", (1,), note="what is not compared")] == 1
    assert _Keyed("a", (2,)) not in found


def test_a_record_that_replaces_another_has_a_hash_of_its_own() -> None:
    before = _Keyed("a", (1,))
    hash(before)

    after = replace(before, name="b")

    assert hash(after) == hash(_Keyed("b", (1,)))


def test_a_remembered_hash_is_worked_out_once() -> None:
    class Part:
        asked = 0

        def __hash__(self) -> int:
            Part.asked += 1
            return 7

    keyed = _Keyed(Part())
    assert len({hash(keyed), hash(keyed), hash(keyed)}) == 1

    assert Part.asked == 1


SPEC = """
import pickle
from placer_models.pod import Container, PodSpec, Resources
SPEC = PodSpec((Container("main", Resources(cpu_milli=500)),))
"""


def test_a_hash_does_not_come_along_to_another_process() -> None:
    # Strings hash otherwise there: a spec that came with its hash would be found in no set.
    pickled = _in_a_process("1", "hash(SPEC); print(pickle.dumps(SPEC).hex())")
    found = f"print(pickle.loads(bytes.fromhex('{pickled}')) in {{SPEC}})"

    assert _in_a_process("2", found) == "True"


def _in_a_process(hash_seed: str, code: str) -> str:
    ran = subprocess.run(
        [sys.executable, "-c", SPEC + code],
        env={"PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=True,
    )
    return ran.stdout.strip()


def test_a_record_compares_hashes_and_is_replaced_as_a_frozen_one() -> None:
    one, other = _Record("a", (1,)), _Record("a", (1,))

    assert one == other
    assert hash(one) == hash(other)
    assert replace(one, name="b") == _Record("b", (1,))
    assert not hasattr(one, "__dict__")


def test_a_record_without_equality_is_known_by_identity() -> None:
    @record(frozen=True, slots=True, eq=False)
    class Place:
        name: str

    here = Place("a")

    assert {here: 1}[here] == 1
    assert here != Place("a")


def test_what_callers_hold_stays_frozen() -> None:
    spec = PodSpec((Container("main", Resources(cpu_milli=500)),))

    with pytest.raises(FrozenInstanceError):
        spec.labels = (("a", "b"),)
