"""QoS class and priority class of a pod, as in Koordinator and Kubernetes (C2)."""

from dataclasses import dataclass
from enum import StrEnum

from placer_models.kubernetes.names import PRIORITY_CLASS, QOS_CLASS
from placer_models.kubernetes.object_fields import KubeObjectFieldValue, first_label_present
from placer_models.policy import QosClass


class KoordinatorPriorityClass(StrEnum):
    """Koordinator's priority classes, by which pods share what a node has."""

    PROD = "koord-prod"
    MID = "koord-mid"
    BATCH = "koord-batch"
    FREE = "koord-free"
    NONE = ""


_RANGES = {
    KoordinatorPriorityClass.PROD: range(9000, 10_000),
    KoordinatorPriorityClass.MID: range(7000, 8000),
    KoordinatorPriorityClass.BATCH: range(5000, 6000),
    KoordinatorPriorityClass.FREE: range(3000, 4000),
}

SYSTEM = "SYSTEM"
"""Koordinator's class of system pods, which run where LS pods run."""

_BELOW_PROD = (
    KoordinatorPriorityClass.MID,
    KoordinatorPriorityClass.BATCH,
    KoordinatorPriorityClass.FREE,
)
_UNFIT = {
    # As in Koordinator's webhook, except that it wants LSR and BE pods to have a class at all.
    QosClass.LSE: _BELOW_PROD,
    QosClass.LSR: _BELOW_PROD,
    QosClass.BE: (KoordinatorPriorityClass.PROD,),
}


@dataclass(frozen=True, slots=True)
class QosAndPriorityClass:
    """The classes of a pod.

    Attributes:
        qos: The class in its label, or None if it has no such label.
        priority: The priority class; NONE if neither a label nor the pod's priority gives one.

    """

    qos: QosClass | None = None
    priority: KoordinatorPriorityClass = KoordinatorPriorityClass.NONE

    @property
    def is_batch(self) -> bool:
        """Whether it runs on what other pods leave."""
        return self.priority in (KoordinatorPriorityClass.BATCH, KoordinatorPriorityClass.FREE)


def qos_and_priority_class_of(root: KubeObjectFieldValue) -> QosAndPriorityClass:
    """Return the classes of a pod.

    Raises:
        KubernetesObjectError: A label has an unknown value, or the two classes do not go together.

    """
    said = first_label_present(root, QOS_CLASS)
    qos = said.word(QosClass, {SYSTEM: QosClass.LS}) if said else None
    priority = _priority(root)
    if said is not None and qos is not None and priority in _UNFIT.get(qos, ()):
        said.refuse(f"{qos} and the priority class {priority} do not go together; change one")
    return QosAndPriorityClass(qos, priority)


def _priority(root: KubeObjectFieldValue) -> KoordinatorPriorityClass:
    said = first_label_present(root, PRIORITY_CLASS)
    if said is not None:
        return said.word(KoordinatorPriorityClass)
    value = root.get("spec", "priority").value
    if not isinstance(value, int):
        name = root.get("spec", "priorityClassName").text("")
        return (
            KoordinatorPriorityClass(name)
            if name in list(KoordinatorPriorityClass)
            else KoordinatorPriorityClass.NONE
        )
    return next(
        (name for name, own in _RANGES.items() if value in own), KoordinatorPriorityClass.NONE
    )
