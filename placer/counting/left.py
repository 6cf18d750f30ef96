"""Rests of nodes, as far as strategy `expected` looks at them: CPU, memory, parts of GPUs."""

from placer.counting.account import Account
from placer_models.demand import WHOLE_MILLI
from placer_models.device import GPU
from placer_models.device_share import ShareAmounts, device_capacity_of, whole_device_amounts
from placer_models.expected import ResourcesLeftForExpectedPods


def node_left(account: Account, *, with_memory: bool = False) -> ResourcesLeftForExpectedPods:
    """Return what the running pods of a node leave of its CPUs and GPUs.

    Args:
        account: The account of the node.
        with_memory: Whether to tell its memory, too.

    """
    devices = account.devices
    milli = []
    for device in devices.healthy:
        if device.type == GPU:
            key = device.type, device.minor
            if key in devices.free:
                milli.append(WHOLE_MILLI)
            elif amounts := devices.shared.get(key):
                milli.append(
                    milli_left_of_one_gpu(amounts, whole_device_amounts(device_capacity_of(device)))
                )
    left = max(0, account.pools.shared.left_milli)
    memory = account.memory.free_bytes if with_memory else 0
    return ResourcesLeftForExpectedPods(left, tuple(sorted(m for m in milli if m)), memory)


def milli_left_of_one_gpu(left: ShareAmounts, has: ShareAmounts) -> int:
    """Return the part left of a GPU in thousandths: that of its scarcest quantity."""
    return max(
        0, min(WHOLE_MILLI * amount // total for amount, total in zip(left, has, strict=True))
    )
