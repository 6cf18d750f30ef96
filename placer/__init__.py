"""Placement of pods and gangs on the insides of machines: solved, proven, judged.

Everyday names import from here, each loaded when it is first asked for, so that ``import
placer`` stays light. Inside the library a name is imported from the module that defines it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    __version__: str
    from placer.judge.breaches import breaches as breaches
    from placer.judge.measure import measure as measure
    from placer.load import load_instance as load_instance
    from placer.load import load_placement as load_placement
    from placer.scheduler import Scheduler as Scheduler
    from placer.scheduling.decision import Batch as Batch
    from placer.search.options import Engine as Engine
    from placer.search.options import SolveOptions as SolveOptions
    from placer.search.solver import solve as solve
    from placer_models.cluster import Instance as Instance
    from placer_models.cluster import Machine as Machine
    from placer_models.cluster import Node as Node
    from placer_models.cluster import RunningPod as RunningPod
    from placer_models.defaults import Defaults as Defaults
    from placer_models.machines.catalogue import load_machine as load_machine
    from placer_models.placement import GaveUp as GaveUp
    from placer_models.placement import Infeasible as Infeasible
    from placer_models.placement import PartlyPlaced as PartlyPlaced
    from placer_models.placement import Placed as Placed
    from placer_models.placement import Placement as Placement
    from placer_models.placement import PodPlacement as PodPlacement
    from placer_models.pod import Container as Container
    from placer_models.pod import DeviceRequest as DeviceRequest
    from placer_models.pod import Gang as Gang
    from placer_models.pod import Pod as Pod
    from placer_models.pod import PodSpec as PodSpec
    from placer_models.pod import Resources as Resources
    from placer_models.pod import lone_gang as lone_gang
    from placer_models.policy import AlignmentPolicy as AlignmentPolicy
    from placer_models.policy import BindPolicy as BindPolicy
    from placer_models.policy import ExclusivePolicy as ExclusivePolicy
    from placer_models.policy import NumaStrategy as NumaStrategy
    from placer_models.policy import QosClass as QosClass

_NAMES_OF: Final = {
    "placer.judge.breaches": ("breaches",),
    "placer.judge.measure": ("measure",),
    "placer.load": ("load_instance", "load_placement"),
    "placer.scheduler": ("Scheduler",),
    "placer.scheduling.decision": ("Batch",),
    "placer.search.options": ("Engine", "SolveOptions"),
    "placer.search.solver": ("solve",),
    "placer_models.cluster": ("Instance", "Machine", "Node", "RunningPod"),
    "placer_models.defaults": ("Defaults",),
    "placer_models.machines.catalogue": ("load_machine",),
    "placer_models.placement": (
        "GaveUp",
        "Infeasible",
        "PartlyPlaced",
        "Placed",
        "Placement",
        "PodPlacement",
    ),
    "placer_models.pod": (
        "Container",
        "DeviceRequest",
        "Gang",
        "Pod",
        "PodSpec",
        "Resources",
        "lone_gang",
    ),
    "placer_models.policy": (
        "AlignmentPolicy",
        "BindPolicy",
        "ExclusivePolicy",
        "NumaStrategy",
        "QosClass",
    ),
}
_HOME_OF: Final = {name: home for home, names in _NAMES_OF.items() for name in names}

__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> object:
    """Load an everyday name from the module that defines it; the version is the installed one."""
    if name == "__version__":
        from importlib.metadata import version

        return version("placer")
    if name not in _HOME_OF:
        from difflib import get_close_matches

        near = get_close_matches(name, __all__)
        mend = f"; did you mean {' or '.join(near)}?" if near else ""
        raise AttributeError(f"module 'placer' has no attribute {name!r}{mend}")
    value: object = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the everyday names."""
    return __all__
