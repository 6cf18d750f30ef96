"""Topology spread in files, read and written."""

from placer_models.affinity import OF_ONE_NODE
from placer_models.files.part import Json
from placer_models.instance.affinity import selector_to_dict
from placer_models.instance.wish_schema import (
    NodeInclusion,
    PodSelectorPart,
    SpreadPart,
    WhenUnsatisfiable,
)
from placer_models.network import NODE_LEVEL
from placer_models.policy import Strength
from placer_models.topology_spread import SpreadConstraint


def spread_constraints(parts: tuple[SpreadPart, ...]) -> tuple[SpreadConstraint, ...]:
    """Return the spread constraints, in the order of the file."""
    return tuple(
        SpreadConstraint(
            NODE_LEVEL if part.topology_key in OF_ONE_NODE else part.topology_key,
            part.max_skew,
            Strength.REQUIRED
            if part.when_unsatisfiable is WhenUnsatisfiable.DO_NOT_SCHEDULE
            else Strength.PREFERRED,
            part.label_selector.labels,
            part.label_selector.expressions,
            part.min_domains,
            part.node_affinity_policy is NodeInclusion.HONOR,
            part.node_taints_policy is NodeInclusion.HONOR,
        )
        for part in parts
    )


def spread_to_list(spread: tuple[SpreadConstraint, ...]) -> list[Json]:
    """Return the constraints as files write them."""
    return [
        SpreadPart.written(
            topology_key=constraint.topology,
            max_skew=constraint.max_skew,
            when_unsatisfiable=WhenUnsatisfiable.DO_NOT_SCHEDULE
            if constraint.required
            else WhenUnsatisfiable.SCHEDULE_ANYWAY,
            label_selector=PodSelectorPart.written(
                **selector_to_dict(constraint.labels, constraint.expressions)
            ),
            min_domains=constraint.min_domains,
            node_affinity_policy=_inclusion(honors=constraint.by_selector),
            node_taints_policy=_inclusion(honors=constraint.by_taints),
        )
        for constraint in spread
    ]


def _inclusion(*, honors: bool) -> NodeInclusion:
    return NodeInclusion.HONOR if honors else NodeInclusion.IGNORE
