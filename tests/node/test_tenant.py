"""A hostile tenant beside the agent, on this machine's own cgroups of version 1."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from node.beside_a_tenant import BesideATenant
from node.kernel_machine import alone_on_the_kernel
from node.test_real_v1 import v1_files


@pytest.fixture
def beside(tmp_path: Path) -> Iterator[BesideATenant]:
    """A tenant's subtrees, a database's container and an agent, all below one cgroup."""
    with alone_on_the_kernel():
        found = BesideATenant(v1_files(), tmp_path)
        try:
            yield found
        finally:
            found.clean()


@pytest.mark.check
def test_a_hostile_tenant_costs_no_owner_a_cpu_and_blocks_no_document(
    beside: BesideATenant,
) -> None:
    """
    200 random actions of user 1000 in a user's subtree and in its own container.
    """
    report = beside.run(seed=26, actions=200)

    assert len(report.actions) == 200
    assert sum(action.endswith(": done") for action in report.actions) > 50
    assert report.documents > 5
