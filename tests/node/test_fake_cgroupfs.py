"""The fake cgroup files answer what kernels answered, step by step."""

import json

import pytest

from node.cgroup_script import answers
from node.fake_cgroupfs import FakeV1, FakeV2
from node.tables import HOST_TABLE, TABLES, cases, dumped
from shared_files import shared

NOT_MODELLED = {"partitions", "a process and a partition without CPUs", "exclusive CPUs"}
"""Cases of version 2 that the fake refuses."""

FAKES = {
    TABLES[0]: FakeV2,
    TABLES[1]: FakeV1,
    HOST_TABLE: lambda: FakeV1("0-1", {0: "0-1"}),
}


@pytest.mark.parametrize(
    ("path", "case"),
    [
        pytest.param(path, case, id=f"{path.stem}: {case['name']}")
        for path in FAKES
        for case in cases(path)
    ],
)
def test_the_fake_answers_as_the_kernel_did(path, case):
    fake = FAKES[path]()
    steps = [row[0] for row in case["steps"]]
    if path == TABLES[0] and case["name"] in NOT_MODELLED:
        with pytest.raises(NotImplementedError):
            answers(fake, steps)
        return

    found = answers(fake, steps)

    assert list(zip(steps, found, strict=True)) == [tuple(row[:2]) for row in case["steps"]]


@pytest.mark.parametrize("path", FAKES)
def test_a_table_is_written_as_it_is_read(path):
    table = json.loads(path.read_text())

    assert json.loads(dumped(table)) == table
    assert path == HOST_TABLE or dumped(table) == path.read_text()


def test_the_earlier_probe_said_the_same():
    """
    Each step with a name is an observation of the earlier probe, with the same outcome.
    """
    observations = json.loads(shared("cases/cpuset_v1_errno_probe.json").read_text())
    steps = [row for case in cases(HOST_TABLE) for row in case["steps"]]

    named = {row[2]: row[1] for row in steps if len(row) == 3}
    said = dict(observations["observations"])
    assert named == {name: said[name] for name in named}
