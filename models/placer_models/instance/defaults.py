"""Defaults of a scheduler in files, read and written (C22)."""

from placer_models.defaults import NO_DEFAULTS, Defaults
from placer_models.files.part import Json, none_if_default
from placer_models.instance.fields import PodExclusivePolicy
from placer_models.instance.schema import DefaultsPart
from placer_models.policy import AlignmentPolicy, BindPolicy, ExclusivePolicy


def read_defaults(part: DefaultsPart | None) -> Defaults | None:
    """Return what a document sets; None if it sets nothing."""
    if part is None:
        return None
    exclusive = part.cpu_exclusive_policy or PodExclusivePolicy.DEFAULT
    named = exclusive is not PodExclusivePolicy.DEFAULT
    found = Defaults(
        bind=part.cpu_bind_policy or BindPolicy.DEFAULT,
        exclusive=ExclusivePolicy(exclusive.value) if named else ExclusivePolicy.NONE,
        alignment=part.numa_policy or AlignmentPolicy.NONE,
        numa_strategy=part.numa_allocate_strategy,
    )
    return None if found == NO_DEFAULTS else found


def defaults_to_dict(defaults: Defaults) -> Json:
    """Return the defaults as files write them; empty where nothing is set."""
    return DefaultsPart.written(
        cpu_bind_policy=none_if_default(defaults.bind, BindPolicy.DEFAULT),
        cpu_exclusive_policy=none_if_default(defaults.exclusive, ExclusivePolicy.NONE),
        numa_policy=none_if_default(defaults.alignment, AlignmentPolicy.NONE),
        numa_allocate_strategy=defaults.numa_strategy,
    )
