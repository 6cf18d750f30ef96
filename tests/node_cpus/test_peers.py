"""The peers' own tests: our CPUs are theirs, as good, or better."""

import logging
from collections import Counter
from collections.abc import Iterator

import pytest

from node_cpus.peer_rows import Quality, Row, cpus_of, instance_of, machine_of, quality, table
from placer_models.cluster import Machine
from placer_models.cpuset import parse_cpu_list

log = logging.getLogger(__name__)

TABLES = ("kubelet", "nri")


def verdicts(name: str) -> Iterator[tuple[Row, str]]:
    """Yield each row with how our answer compares to the peer's."""
    found = table(name)
    machines = {key: machine_of(key, groups) for key, groups in found["machines"].items()}
    for row in found["rows"]:
        yield row, verdict(row, machines[row["machine"]])


def verdict(row: Row, machine: Machine) -> str:
    """Return whether our CPUs are equal to the peer's in quality, better or worse."""
    if "cpus" in row and not sum(row["cpus"]):
        return "equal"  # who asks for no CPU is no pod that owns some (rule cpu-count)
    ours = cpus_of(instance_of(row, machine))
    caches = row.get("peerCaches")
    theirs = row.get("peer")
    refused = theirs is None and caches is None and "cpus" in row
    if ours is None or refused:
        return "equal" if refused and ours is None else "better" if refused else "worse"
    if "cpus" not in row:
        return "equal"  # both let it share
    assert len(ours) == sum(row["cpus"])
    if caches is not None:
        mine = len({machine.topology.cpu[cpu].llc for cpu in ours})
        return compared((mine,), (caches,))
    want, topology = row["want"], machine.topology
    return compared(quality(want, ours, topology), quality(want, parse_cpu_list(theirs), topology))


def compared(ours: Quality, theirs: Quality) -> str:
    """Return the word for the first number that differs."""
    return "equal" if ours == theirs else "better" if ours < theirs else "worse"


@pytest.mark.parametrize("name", TABLES)
def test_no_row_is_worse_than_the_peers(name: str) -> None:
    """
    Wherever the peer finds CPUs we do, never on more NUMA nodes, packages, caches or cores.
    """
    found = list(verdicts(name))
    counts = Counter(word for _, word in found)
    for left in table(name)["leftOut"]:
        log.info("%s: %d left out: %s", name, left["rows"], left["reason"])
    log.info("%s: %d rows: %s", name, len(found), dict(counts))

    assert [row for row, word in found if word == "worse"] == []
    assert counts["equal"] + counts["better"] == len(table(name)["rows"])
