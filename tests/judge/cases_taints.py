"""The edges of the rule about taints that keep pods off."""

from dataclasses import replace

from judge.hand import ALL_CPUS, Edge, node, put, world
from placer_models.pod import Container, Pod, PodSpec, Resources
from placer_models.taints import Taint, TaintEffect, Toleration, TolerationOperator

GPU = Toleration("gpu", TolerationOperator.EXISTS)


def _edge(good: Taint, bad: Taint, *tolerations: Toleration) -> Edge:
    """Return the edge between a node whose taint does not matter, and one whose taint does."""
    pod = Pod("a", "default", PodSpec((Container("app", Resources()),), tolerations=tolerations))
    return Edge(
        world(pod, nodes=[replace(node(), taints=(good,))]),
        good=put("a", ALL_CPUS),
        bad_world=world(pod, nodes=[replace(node(), taints=(bad,))]),
    )


def _taint(key: str, value: str = "", effect: TaintEffect = TaintEffect.NO_SCHEDULE) -> Taint:
    return Taint(key, value, effect)


TAINT_EDGES = {
    "taints: one that would rather keep a pod off does not": _edge(
        _taint("gpu", effect=TaintEffect.PREFER_NO_SCHEDULE),
        _taint("gpu", effect=TaintEffect.NO_EXECUTE),
    ),
    "taints: a toleration is of its key": _edge(_taint("gpu", "yes"), _taint("disk"), GPU),
    "taints: Equal is of one value": _edge(
        _taint("gpu", "a"), _taint("gpu", "b"), Toleration("gpu", TolerationOperator.EQUAL, "a")
    ),
    "taints: a toleration is of its effect": _edge(
        _taint("gpu"),
        _taint("gpu", effect=TaintEffect.NO_EXECUTE),
        replace(GPU, effect=TaintEffect.NO_SCHEDULE),
    ),
    "taints: Gt is of values above its own": _edge(
        _taint("sla", "951"), _taint("sla", "950"), Toleration("sla", TolerationOperator.GT, "950")
    ),
    "taints: a number with a leading zero is none": _edge(
        _taint("sla", "9"), _taint("sla", "09"), Toleration("sla", TolerationOperator.LT, "10")
    ),
}
