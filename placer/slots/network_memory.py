"""Network memory of a task, derived from its links (F2)."""

from collections.abc import Sequence

from placer.slots.compiled import EdgeBetweenChains
from placer.slots.graph import EdgeExchangeMode, EdgePartitioningStrategy, NetworkBufferSettings


def network_memory_of_chains(
    links: Sequence[EdgeBetweenChains], parallelism: Sequence[int], network: NetworkBufferSettings
) -> list[int]:
    """Return for each chain the network memory of one subtask.

    A gate (the reading side) holds its exclusive buffers for each channel and its
    floating ones. A partition (the writing side) holds the same for each subpartition if
    it can be read at once; if it blocks, one for each subpartition and one to write into.

    Args:
        links: Between chains.
        parallelism: Of each chain.
        network: Sizes and counts of buffers.

    """
    buffers = [0] * len(parallelism)
    for link in links:
        up, down = parallelism[link.producer], parallelism[link.consumer]
        channels = _peers(link.partition, mine=down, theirs=up)
        subpartitions = _peers(link.partition, mine=up, theirs=down)
        buffers[link.consumer] += _credits(channels, network)
        if link.exchange is EdgeExchangeMode.BLOCKING:
            buffers[link.producer] += subpartitions + 1
        else:
            buffers[link.producer] += _credits(subpartitions, network)
    return [count * network.buffer_bytes for count in buffers]


def _credits(channels: int, network: NetworkBufferSettings) -> int:
    return channels * network.buffers_per_channel + network.floating_buffers


def _peers(partition: EdgePartitioningStrategy, *, mine: int, theirs: int) -> int:
    """Return how many subtasks of the other side one of this side is connected to."""
    if partition is EdgePartitioningStrategy.FORWARD:
        return 1
    if partition is EdgePartitioningStrategy.RESCALE:
        return -(-theirs // mine)
    return theirs
