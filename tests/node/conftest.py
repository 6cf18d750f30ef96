"""What tests of the node's side share."""

from pathlib import Path

import pytest

from node.fake_cgroupfs import FakeV1, FakeV2
from placer.node.cgroups import CgroupReader
from placer.node.state import AppliedStateFolder


@pytest.fixture(params=[1, 2])
def cgroups(request: pytest.FixtureRequest) -> CgroupReader:
    """A machine of 8 CPUs and 2 NUMA nodes, with hugepages of 2 MiB and 1 GiB, and no container."""
    return CgroupReader(FakeV1() if request.param == 1 else FakeV2())


@pytest.fixture
def state(tmp_path: Path) -> AppliedStateFolder:
    """The folder of the journal."""
    return AppliedStateFolder(tmp_path)
