"""The edges of the rule about taints that keep pods off."""

from dataclasses import replace

from judge.hand import ALL_CPUS, Case, node, placed, put, world
from placer_models.pod import Container, Pod, PodSpec, Resources
from placer_models.taints import Taint, TaintEffect, Toleration, TolerationOperator

GPU = Toleration("gpu", TolerationOperator.EXISTS)


def _case(what: str, good: Taint, bad: Taint, *tolerations: Toleration) -> Case:
    """Return a case of a node with a taint that does not matter, and of one with one that does."""
    pod = Pod("a", "default", PodSpec((Container("app", Resources()),), tolerations=tolerations))
    there = placed(put("a", ALL_CPUS))
    return Case(
        "taints",
        what,
        world(pod, nodes=[replace(node(), taints=(good,))]),
        good=there,
        bad=there,
        bad_world=world(pod, nodes=[replace(node(), taints=(bad,))]),
    )


def _taint(key: str, value: str = "", effect: TaintEffect = TaintEffect.NO_SCHEDULE) -> Taint:
    return Taint(key, value, effect)


TAINT_CASES = (
    _case(
        "one that would rather keep a pod off does not",
        _taint("gpu", effect=TaintEffect.PREFER_NO_SCHEDULE),
        _taint("gpu", effect=TaintEffect.NO_EXECUTE),
    ),
    _case("a toleration is of its key", _taint("gpu", "yes"), _taint("disk"), GPU),
    _case(
        "Equal is of one value",
        _taint("gpu", "a"),
        _taint("gpu", "b"),
        Toleration("gpu", TolerationOperator.EQUAL, "a"),
    ),
    _case(
        "a toleration is of its effect",
        _taint("gpu"),
        _taint("gpu", effect=TaintEffect.NO_EXECUTE),
        replace(GPU, effect=TaintEffect.NO_SCHEDULE),
    ),
    _case(
        "Gt is of values above its own",
        _taint("sla", "951"),
        _taint("sla", "950"),
        Toleration("sla", TolerationOperator.GT, "950"),
    ),
    _case(
        "a number with a leading zero is none",
        _taint("sla", "9"),
        _taint("sla", "09"),
        Toleration("sla", TolerationOperator.LT, "10"),
    ),
)
