"""Which idle workers go and how many come: what Apache Flink decides."""

import pytest

from placer.slots.workers.reconcile import WorkerChanges, reconcile_workers
from slots.clusters import workers
from slots.job_files import Row, row_id, rows


@pytest.mark.parametrize("row", rows("reconcile.json"), ids=row_id)
def test_workers_are_kept_as_the_reserve_wants(row: Row) -> None:
    """
    Idle workers go while redundancy and least totals hold without them; else some come.
    """
    assert reconcile_workers(workers(row)) == WorkerChanges(
        tuple(row["releaseRegistered"]), tuple(row["releasePending"]), row["new"]
    )
