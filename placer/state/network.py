"""Levels of the network as a Problem has them: domains by number, rules by level."""

from placer_models.cluster import Instance, Node
from placer_models.pod import Gang
from placer_models.problem.tasks import ProblemLevelRule


def network_levels_required_by_gang(gang: Gang) -> tuple[str, ...]:
    """Return the levels without which a node cannot host the gang, ascending."""
    return tuple(sorted({rule.level for rule in gang.levels if rule.required}))


def has_domain_at_each_level(node: Node, levels: tuple[str, ...]) -> bool:
    """Return whether the node belongs to a domain of each level."""
    return all(node.domain(level) is not None for level in levels)


def network_levels_asked_by_gangs(instance: Instance) -> tuple[str, ...]:
    """Return the levels that gangs ask for, ascending."""
    return tuple(sorted({rule.level for gang in instance.gangs for rule in gang.levels}))


def domain_numbers_of_nodes(instance: Instance, level: str) -> tuple[int, ...]:
    """Return the number of each node's domain; a node without one is a domain of its own."""
    numbers: dict[tuple[str | None, str], int] = {}
    found = []
    for node in instance.nodes:
        domain = node.domain(level)
        key = (domain, "" if domain is not None else node.name)
        found.append(numbers.setdefault(key, len(numbers)))
    return tuple(found)


def problem_level_rules_of_gang(
    gang: Gang, levels: tuple[str, ...]
) -> tuple[ProblemLevelRule, ...]:
    """Return what the gang asks of the levels."""
    return tuple(
        ProblemLevelRule(levels.index(rule.level), rule.grouping, rule.required, rule.count)
        for rule in gang.levels
    )
