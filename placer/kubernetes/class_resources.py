"""Extended resources of DeviceClasses, which Placer does not give out."""

from placer.kubernetes.objects import Objects
from placer.kubernetes.summary import Summary
from placer_models.device import GPU
from placer_models.device_request import WHOLE_GPUS
from placer_models.kubernetes.pod import KubePod

_OF_CLASS = "deviceclass.resource.kubernetes.io/"
"""The prefix of the implicit extended resource that every class has."""


class ClassResources:
    """The extended resources of a cluster's DeviceClasses."""

    def __init__(self, objects: Objects, summary: Summary) -> None:
        self._summary = summary
        self._class_of = {
            one.extended_resource: one.identity.title
            for one in objects.device_classes.values()
            if one.extended_resource
        }
        for title in self._class_of.values():
            summary.assume(
                "extendedResourceName, by which Placer gives no devices; they are had by claims",
                title,
            )
        self._elsewhere = {
            name
            for node in objects.nodes.values()
            for name, n in node.allocatable.other.items()
            if n
        }
        if any(one.type == GPU for part in objects.devices.values() for one in part.devices):
            self._elsewhere.update(WHOLE_GPUS)

    def lacks(self, part: KubePod) -> list[str]:
        """Return a waiting pod's demands that only a DeviceClass's resource could meet.

        If some nodes have the resource from a device plugin, the pod goes to one of them.
        """
        asked = {name for one in part.containers for name, n in one.requests.other.items() if n}
        found = []
        for name in sorted(asked):
            title = self._class_of.get(name, "")
            if name.startswith(_OF_CLASS):
                title = f"DeviceClass {name.removeprefix(_OF_CLASS)}"
            if title and name not in self._elsewhere:
                found.append(f"{name}, which {title} gives without a claim")
            elif title:
                self._summary.assume(
                    "pods with a resource of a DeviceClass, which only nodes with its plugin give",
                    part.identity.title,
                )
        return found
