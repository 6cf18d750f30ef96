"""Why the devices of a node do not do for a pod, in a few words that name the rule."""

from placer.state.account import Account
from placer.state.joint import stand_together
from placer.state.slots import free_functions
from placer_models.cluster import Node
from placer_models.device import GPU, FunctionSelector
from placer_models.device_share import DeviceShare, room
from placer_models.device_strategy import DeviceStrategy
from placer_models.links import board_of, counts_of, rooms
from placer_models.mig import is_instance
from placer_models.pod import PodSpec, Resources
from placer_models.quantity import format_bytes
from placer_models.shares import Slot


def device_blocker(node: Node, spec: PodSpec, requests: Resources, account: Account) -> str | None:
    """Return the first rule about devices that keeps the pod off the node; None: none does.

    Args:
        node: The node.
        spec: What the pod wants.
        requests: What it asks for; the spec works it out anew each time.
        account: What is left on the node.

    """
    return (
        _strategies(spec, requests, account)
        or _amounts(spec, requests, account)
        or _joint(node, spec, requests, account)
        or _sets(node, spec, requests, account)
    )


def _strategies(spec: PodSpec, requests: Resources, account: Account) -> str | None:
    """Name a type of which the pod has all that are there, and cannot."""
    strategies = dict(spec.strategies)
    for request in requests.devices:
        if strategies.get(request.type) is not DeviceStrategy.APPLY_FOR_ALL:
            continue
        kind, there = request.type, sum(d.type == request.type for d in account.devices)
        ready = sum(device_type == kind for device_type, _ in account.free_devices)
        what = ""
        if request.share:
            function = dict(spec.functions).get(kind)
            ready = _could_share(request.share, kind, account, function)
            what = f"{_share_text(request.share)} of "
        if ready < max(1, there):
            return f"device-strategy asks {what}all {there} {kind}"
    return None


def _amounts(spec: PodSpec, requests: Resources, account: Account) -> str | None:
    for kind in dict.fromkeys(request.type for request in requests.devices):
        asked = [request for request in requests.devices if request.type == kind]
        whole = sum(request.count for request in asked if request.share is None)
        if whole > sum(device_type == kind for device_type, _ in account.free_devices):
            rule = "mig" if is_instance(kind) else "device-count"
            return f"{rule} asks {whole} {kind}"
        for request in asked:
            if request.share and request.count > _could_share(request.share, kind, account):
                return f"device-share asks {_share_text(request.share)} of {request.count} {kind}"
            function = dict(spec.functions).get(kind)
            if request.share and request.count > _could_share(
                request.share, kind, account, function
            ):
                return f"device-functions asks a virtual function of {request.count} {kind}"
        if sum(request.count for request in asked) > _with_room(kind, account):
            return f"device-count asks {sum(request.count for request in asked)} {kind}"
    return None


def _joint(node: Node, spec: PodSpec, requests: Resources, account: Account) -> str | None:
    if spec.joint is None or stand_together(spec, node, _could_give(requests, account)):
        return None
    strategies = dict(spec.strategies)
    counts = {
        kind: "one" if strategies.get(kind) else str(requests.count_of(kind))
        for kind in spec.joint.types
        if strategies.get(kind) is not DeviceStrategy.APPLY_FOR_ALL
    }
    types = " and ".join(
        f"{count} {kind}" + (" for each group" if kind in strategies else "")
        for kind, count in counts.items()
    )
    return f"joint asks {types} side by side ({spec.joint.scope})"


def _sets(node: Node, spec: PodSpec, requests: Resources, account: Account) -> str | None:
    """Name the rule that free devices, enough in number, do not keep together."""
    for kind in dict.fromkeys(request.type for request in requests.devices):
        count = requests.count_of(kind)
        could_give = _could_give(requests, account)
        free = {minor for device_type, minor in could_give if device_type == kind}
        if kind == GPU and node.honors_table and count:
            parts = [part for part in node.table or () if len(part) == count]
            if not any(free.issuperset(part) for part in parts):
                return f"partition asks a free one of {count} gpu"
        scope = spec.scope_of(kind)
        board = board_of(tuple(d for d in account.devices if d.type == kind), None)
        if not any(
            sum(room) >= count for room in rooms(board, count, counts_of(board, free), scope)
        ):
            return f"device-scope asks {count} {kind} within one {scope}"
    return None


def _could_give(requests: Resources, account: Account) -> frozenset[tuple[str, int]]:
    """Return the devices that could give the pod something, each by itself."""
    if any(request.share for request in requests.devices):
        return account.free_devices.union(account.shared_devices)
    return account.free_devices


def _with_room(kind: str, account: Account) -> int:
    """Return how many devices of the type are free, or shared."""
    return sum(k == kind for k, _ in (*account.free_devices, *account.shared_devices))


def _could_share(
    share: DeviceShare, kind: str, account: Account, function: FunctionSelector | None = None
) -> int:
    """Return how many devices of the type could give the share, each by itself."""
    count = 0
    for device in account.devices:
        key = device.type, device.minor
        left = account.shared_devices.get(key)
        if left is None and key in account.free_devices:
            left = room(device.memory_bytes)
        if device.type == kind and left is not None:
            slot = Slot(*left, device.memory_bytes, free_functions(account, device))
            count += slot.takes(share, function) is not None
    return count


def _share_text(share: DeviceShare) -> str:
    parts = [f"{share.percent} %"] if share.percent is not None else []
    if share.memory_bytes is not None:
        parts.append(f"{format_bytes(share.memory_bytes)} of memory")
    if share.memory_percent is not None:
        parts.append(f"{share.memory_percent} % of the memory")
    return " and ".join(parts)
