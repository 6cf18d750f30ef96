"""Defaults of a scheduler: what holds where neither a pod nor its node says anything (C22)."""

from dataclasses import dataclass

from placer_models.policy import AlignmentPolicy, BindPolicy, ExclusivePolicy, NumaStrategy
from placer_models.typed import TypeChecked, suggest_argument_names


@suggest_argument_names
@dataclass(frozen=True, slots=True)
class Defaults(TypeChecked):
    """What a scheduler is set to, once for all pods.

    The pod's word goes first, then the node's, then this. How CPUs are bound and kept apart is a
    wish here: who demands it says so itself.

    Attributes:
        bind: How pods take the CPUs that they own (C8); ``DEFAULT``: no more than what that word
            stands for anyway.
        exclusive: Which pods they keep apart from (C9).
        alignment: How pods keep to NUMA nodes (C12).
        numa_strategy: Which NUMA nodes owned CPUs come from (C11); None: any.

    """

    bind: BindPolicy = BindPolicy.DEFAULT
    exclusive: ExclusivePolicy = ExclusivePolicy.NONE
    alignment: AlignmentPolicy = AlignmentPolicy.NONE
    numa_strategy: NumaStrategy | None = None


NO_DEFAULTS = Defaults()
"""The defaults of a scheduler that is set to nothing."""
