"""The shape of a pod as people name it: in words, by a file, or by a pod of the instance."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from placer.load import load_instance
from placer_models.cluster import Instance
from placer_models.files.documents import API_VERSION, shown_file_name
from placer_models.files.errors import InputError
from placer_models.kubernetes.stream import holds_kubernetes_objects
from placer_models.kubernetes.who_waits import ALL, WaitingPodFilter
from placer_models.message_text import in_quotes, near_or_first_names_text
from placer_models.placement import pod_or_gang_title
from placer_models.pod import Pod, lone_gang, pods_of_gangs
from placer_models.reasons import Illegal, NotTried, Reason

_FILE_SUFFIXES = (".yaml", ".yml", ".json")


def read_pod_shape(
    text: str, paths: Sequence[Path], instance: Instance, who: WaitingPodFilter = ALL
) -> tuple[Pod, Instance]:
    """Return a pod of the shape that a text means, and the instance in which one of it waits.

    Args:
        text: ``cpu=4,memory=16Gi,gpu=1``, in the words of the instance's requests; or a file with
            a pod, in the language of the instance; or the name of a pod or a gang of the instance.
        paths: The files of the instance.
        instance: What they hold.
        who: As in `load_instance`.

    Raises:
        InputError: Something is wrong with the shape or the file.
        ValueError: The text means no pod, or pods that ask for different things.

    """
    file = Path(text)
    if "=" in text and not file.is_file():
        return _shape_in_words(text, paths, instance, who)
    if file.is_file() or text.endswith(_FILE_SUFFIXES):
        return _shape_in_file(text, file, paths, instance, who)
    namespace, _, name = text.rpartition("/")
    key = (namespace or "default", name)
    waiting = {pod.key: pod for pod in pods_of_gangs(instance.gangs)}
    if key in waiting:
        return waiting[key], instance
    for gang in instance.gangs:
        if gang.key == key:
            return _one_of(text, gang.pods), instance
    running = [r.pod for r in instance.running if r.pod.key == key]
    running = running or [r.pod for r in instance.running if r.gang_key == key]
    if running:
        pod = replace(_one_of(text, running), name=f"{running[0].name}-more", uid="")
        return pod, replace(instance, gangs=(*instance.gangs, lone_gang(pod)))
    known = [pod_or_gang_title(*one) for one in waiting]
    known += [gang.title for gang in instance.gangs]
    known += [r.pod.title for r in instance.running]
    raise ValueError(
        f"got {in_quotes(text)}; no pod or gang has this name, no file does, and no shape such as "
        f"'cpu=4,memory=16Gi' is written so{near_or_first_names_text(text, dict.fromkeys(known))}"
    )


def _one_of(text: str, pods: Sequence[Pod]) -> Pod:
    """Return one of pods that all ask for the same.

    Raises:
        ValueError: They do not.

    """
    other = next((pod for pod in pods if pod.spec != pods[0].spec), None)
    if other is not None:
        raise ValueError(
            f"got {in_quotes(text)}; its pods ask for different things, such as "
            f"{pods[0].title!r} and "
            f"{other.title!r}: name one of them"
        )
    return pods[0]


def _shape_in_file(
    text: str, file: Path, paths: Sequence[Path], instance: Instance, who: WaitingPodFilter
) -> tuple[Pod, Instance]:
    """Return the pod of a file that is read beside those of the instance."""
    of_cluster = any(map(holds_kubernetes_objects, paths))
    if of_cluster != holds_kubernetes_objects(file):
        expected = "a Pod object" if of_cluster else "an Instance with one pod"
        message = f"is in another language than the instance; expected {expected}"
        raise InputError(shown_file_name(file), None, "", message)
    both = load_instance([*paths, file], who=who)
    known = {gang.key for gang in instance.gangs}
    known |= {one.key for one in instance.left_out}
    for one in both.left_out:
        if one.key not in known:
            told = "; ".join(map(_told, one.why))
            raise InputError(shown_file_name(file), None, "", f"pod {in_quotes(one.name)}: {told}")
    new = tuple(gang for gang in both.gangs if gang.key not in known)
    pods = list(pods_of_gangs(new))
    if not pods:
        raise InputError(shown_file_name(file), None, "", "holds no pod that waits; give one")
    pod = _one_of(text, pods)
    return pod, replace(instance, gangs=(*instance.gangs, lone_gang(pod)))


def _shape_in_words(
    text: str, paths: Sequence[Path], instance: Instance, who: WaitingPodFilter
) -> tuple[Pod, Instance]:
    """Return the pod that amounts describe, read as a file of the instance's language would be."""
    amounts: dict[str, str] = {}
    for part in text.split(","):
        resource, equals, amount = part.partition("=")
        if not (resource.strip() and equals and amount.strip()):
            raise ValueError(f"got {in_quotes(part)}; expected RESOURCE=AMOUNT, such as cpu=4")
        if resource.strip() in amounts:
            raise ValueError(f"got {in_quotes(resource)} twice; give it once")
        amounts[resource.strip()] = amount.strip()
    asked: object
    if any(holds_kubernetes_objects(path) for path in paths):
        beyond = {name: amount for name, amount in amounts.items() if "/" in name}
        resources = {"requests": amounts, **({"limits": beyond} if beyond else {})}
        spec = {"containers": [{"name": "main", "resources": resources}]}
        asked = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod"}, "spec": spec}
    else:
        pod = {"name": "pod", "requests": amounts}
        asked = {"apiVersion": API_VERSION, "kind": "Instance", "pods": [pod]}
    with TemporaryDirectory() as folder:
        file = Path(folder) / "shape.json"
        file.write_text(json.dumps(asked, indent=1))
        try:
            return _shape_in_file(text, file, paths, instance, who)
        except InputError as error:
            raise ValueError(f"got {in_quotes(text)}; {error.message}") from None


def _told(why: Reason) -> str:
    match why:
        case Illegal():
            return why.text
        case NotTried():
            return why.why
        case _:
            return "cannot be asked about"
