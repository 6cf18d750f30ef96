"""Which of the tiers that only some instances have an instance has."""

from placer_models.cluster import Instance
from placer_models.goals import Tier


def asked_tiers(instance: Instance) -> tuple[Tier, ...]:
    """Return the tiers beyond `goals.ALWAYS` that something in the instance asks for."""
    del instance
    return ()
