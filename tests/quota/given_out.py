"""The device of one class that a ledger gives out, given what is in use."""

from collections.abc import Sequence

from placer.quota.filter import ClassRequest
from placer.quota.ledger import NotEnoughQuotaError, QuotaLedger
from placer.quota.store import DeviceQuotasOfClassOnNode
from placer_models.policy import DeviceChoicePolicy


def device_given_out(
    quotas: Sequence[int], used: Sequence[int], amount: int, choice: DeviceChoicePolicy
) -> int | None:
    """Return the number (from 1) of the device that gives the amount; None: none can."""
    free = tuple(quota - use for quota, use in zip(quotas, used, strict=True))
    ledger = QuotaLedger()
    ledger.store.collect("n", {"memory": DeviceQuotasOfClassOnNode(tuple(quotas), free)})
    try:
        grant = ledger.give_out("n", {"memory": ClassRequest(1, amount)}, choice)
    except NotEnoughQuotaError:
        return None
    (device,) = grant.devices["memory"]
    return device
