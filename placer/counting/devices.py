"""Which devices each placed pod gets: whole ones from twin classes, shares from slots."""

from collections.abc import Mapping, Sequence

from placer.counting.account import Account
from placer.counting.functions import given_functions
from placer.counting.slots import slots_of
from placer_models.links import counts_of, minors_of
from placer_models.node_state import NodeState
from placer_models.placement import DeviceGrant
from placer_models.problem import Choice, Shape


def grants_of(
    account: Account,
    state: NodeState,
    pods: Sequence[tuple[str, Shape, Choice]],
    kept: Mapping[int, tuple[DeviceGrant, ...]],
) -> list[tuple[DeviceGrant, ...]] | str:
    """Return the devices of every pod, ascending by (type, minor), or why there are none.

    Args:
        account: What is left on the node.
        state: The same in integers.
        pods: Title, shape and place of every pod that is new on the node.
        kept: Position of a pod that stays -> the devices that it has.

    """
    granted: list[list[DeviceGrant]] = [list(kept.get(at, ())) for at in range(len(pods))]
    coming = [(pod, granted[at]) for at, pod in enumerate(pods) if at not in kept]
    held = {(grant.type, grant.minor) for grants in kept.values() for grant in grants}
    ids = {(device.type, device.minor): device.id for device in account.devices}
    for position, bank in enumerate(state.banks):
        free = {minor for kind, minor in account.free_devices - held if kind == bank.type}
        if bank.slots:
            slots = slots_of(account, bank.type, bank.board)
            for (_, shape, choice), grants in coming:
                for take in choice.shares:
                    if take.bank == position:
                        minor, _ = slots[take.twin][take.slot]
                        free.discard(minor)
                        need = shape.shares[take.need]
                        part = None if need.whole else need.share
                        grants.append(DeviceGrant(bank.type, minor, ids[bank.type, minor], part))
        for (title, _, choice), grants in coming:
            counts = choice.devices[position]
            if not any(counts):
                continue
            had = counts_of(bank.board, free)
            if any(want > have for want, have in zip(counts, had, strict=True)):
                return (
                    f"pod {title!r} takes {sum(counts)} {bank.type} devices; "
                    f"{len(free)} are free, and not those"
                )
            minors = minors_of(bank.board, counts, free)
            free.difference_update(minors)
            grants += [DeviceGrant(bank.type, m, ids[bank.type, m]) for m in minors]
    wishes = [
        {need.type: need.function for need in shape.shares if need.function is not None}
        for _, shape, _ in pods
    ]
    found = given_functions(account, wishes, granted)
    if isinstance(found, str):
        return found
    return [tuple(sorted(grants, key=lambda g: (g.type, g.minor))) for grants in found]
