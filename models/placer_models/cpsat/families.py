"""All families of rules, in the order in which their variables are created."""

from placer_models.cpsat import (
    affinity,
    amounts,
    bound,
    containers,
    core_pairs,
    cpus,
    device_choice,
    device_strategy,
    devices,
    domain_limits,
    exclusivity,
    functions,
    gangs,
    in_node_affinity,
    joint,
    links,
    localities,
    mig,
    moves,
    network,
    node_preference,
    node_strategy,
    numa,
    numa_strategy,
    opened,
    shares,
    switches,
)
from placer_models.cpsat.family import ModelFamily
from placer_models.problem.banks import DeviceBank
from placer_models.problem.problem import Fit, Problem, Shape

FAMILIES: tuple[ModelFamily, ...] = (
    gangs.FAMILY,
    network.FAMILY,
    node_preference.FAMILY,
    affinity.FAMILY,
    domain_limits.FAMILY,
    cpus.FAMILY,
    in_node_affinity.FAMILY,
    amounts.FAMILY,
    devices.FAMILY,
    shares.FAMILY,
    numa.FAMILY,
    containers.FAMILY,
    bound.FAMILY,
    joint.FAMILY,
    device_strategy.FAMILY,
    localities.FAMILY,
    exclusivity.FAMILY,
    core_pairs.FAMILY,
    opened.FAMILY,
    mig.FAMILY,
    functions.FAMILY,
    moves.FAMILY,
    links.FAMILY,
    switches.FAMILY,
    numa_strategy.FAMILY,
    device_choice.FAMILY,
    node_strategy.FAMILY,
)
"""A new family goes after those whose parts it looks at when it creates or reads its own."""


def may_be_counted_together(problem: Problem, shape: int) -> bool:
    """Return whether pods of a shape may stand in a model as one count per node."""
    several = shape in problem.on_kinds
    return not several and all(family.countable(problem, shape) for family in FAMILIES)


def takes_plain_amounts(problem: Problem, shape: int) -> bool:
    """Return whether pods of a shape take only plain sums of a node, and nothing by place."""
    several = shape in problem.on_kinds
    return not several and all(family.plain(problem, shape) for family in FAMILIES)


def sees_links(problem: Problem, bank: DeviceBank) -> bool:
    """Return whether it matters, before the link tiers, which GPUs of a cell pods have."""
    return any(family.sees_links(problem, bank) for family in FAMILIES)


def are_devices_exchangeable(shape: Shape, fit: Fit, bank: DeviceBank) -> bool:
    """Return whether a finished placement's devices may be exchanged for others of their cells."""
    return all(family.exchangeable(shape, fit, bank) for family in FAMILIES)
