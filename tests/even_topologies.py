"""Topologies of equal cores that are shared out evenly, as most tests need them."""

from placer_models.topology import Cpu, NumaNode, Topology


def even_topology(cpus: int, *memory_bytes: int, threads: int = 1, packages: int = 1) -> Topology:
    """Return cores of so many threads, numbered one after the other.

    Args:
        cpus: How many there are in all.
        memory_bytes: What each NUMA node has.
        threads: How many CPUs are one core.
        packages: How many there are.

    """
    return Topology(
        "x86_64",
        tuple(
            Cpu(i, i // threads, i * packages // cpus, i * len(memory_bytes) // cpus)
            for i in range(cpus)
        ),
        tuple(NumaNode(i, amount) for i, amount in enumerate(memory_bytes)),
    )
