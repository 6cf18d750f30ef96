"""Objects of Kubernetes: their identity, and their fields, checked as they are read."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NoReturn, TypeVar

from placer_models.annotations.json_parts import (
    AnnotationError,
    LocatedJsonValue,
    parse_located_json,
)
from placer_models.files.cursor import LocatedValue
from placer_models.files.tree import Path, field_path_text
from placer_models.message_text import escaped_value_text
from placer_models.records import record
from placer_models.spreading import OWN_PREFIX

Object = Mapping[str, object]
"""An object as YAML or JSON writes it."""

Read = TypeVar("Read")


class KubernetesObjectError(ValueError):
    """An object that is refused. ``str()`` is the whole message, on one line.

    Attributes:
        title: The object: ``Pod default/web-0``.
        path: The field, from the root of the object.
        message: What is wrong, what is expected, what to do.

    """

    def __init__(self, title: str, path: Path, message: str) -> None:
        at = f"{field_path_text(path)}: " if path else ""
        super().__init__(f"{title}: {at}{message}")
        self.title = title
        self.path = path
        self.message = message


class IllegalPodObjectError(KubernetesObjectError):
    """A pod that can be read, and asks for what no pod may ask for."""


@dataclass(frozen=True, slots=True)
class KubeObjectIdentity:
    """The identity of an object.

    Attributes:
        namespace: Empty if the kind has none; ``default`` if it was left out.
        uid: Empty if the object was never in a cluster.
        resource_version: The version of the object that was read; empty as for ``uid``.
        labels: The labels as they are written.

    """

    kind: str
    namespace: str
    name: str
    uid: str = ""
    resource_version: str = ""
    labels: Mapping[str, str] = field(default_factory=dict, compare=False)

    @property
    def key(self) -> tuple[str, str]:
        """Namespace and name."""
        return self.namespace, self.name

    @property
    def title(self) -> str:
        """Kind, namespace and name, for messages."""
        return object_title(self.kind, self.namespace, self.name)


def object_title(kind: str, namespace: str, name: str) -> str:
    """Return an object's title for messages: ``Pod default/web-0``, ``Node n1``."""
    return f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}"


@record(frozen=True, slots=True)
class KubeObjectFieldValue(LocatedValue):
    """One value of an object, with its path. null counts as left out."""

    title: str
    value: object
    path: Path = ()

    @property
    def got(self) -> str:
        """The value for messages, without the contents of a mapping or a list."""
        match self.value:
            case dict():
                return "a mapping"
            case list():
                return "a list"
            case None:
                return "nothing"
            case _:
                return escaped_value_text(self.value)

    @property
    def missing(self) -> str:
        """What is wrong if it is left out and may not be."""
        return "is missing" if self.value is None else ""

    def refuse(self, message: str) -> NoReturn:
        """Raise an error that refuses this field.

        Raises:
            KubernetesObjectError: Always.

        """
        raise KubernetesObjectError(self.title, self.path, message)

    def get(self, *names: str) -> "KubeObjectFieldValue":
        """Return the field that these steps lead to; its value is None if it is left out.

        Raises:
            KubernetesObjectError: A step leads into something that is no mapping.

        """
        value = self.value
        for i, name in enumerate(names):
            if value is None:
                break
            if not isinstance(value, dict):
                here = KubeObjectFieldValue(self.title, value, (*self.path, *names[:i]))
                here.refuse(f"got {here.got}; expected a mapping")
            value = value.get(name)
        return KubeObjectFieldValue(self.title, value, (*self.path, *names))

    @property
    def there(self) -> bool:
        """Whether the field is there and not null."""
        return self.value is not None

    def items(self) -> list["KubeObjectFieldValue"]:
        """Return the items of a list, or nothing if it is left out.

        Raises:
            KubernetesObjectError: It is no list.

        """
        if self.value is None:
            return []
        if not isinstance(self.value, list):
            self.refuse(f"got {self.got}; expected a list")
        return [
            KubeObjectFieldValue(self.title, item, (*self.path, i))
            for i, item in enumerate(self.value)
        ]

    def members(self) -> dict[str, "KubeObjectFieldValue"]:
        """Return the members of a mapping, without those that are null.

        Raises:
            KubernetesObjectError: It is no mapping.

        """
        if self.value is None:
            return {}
        if not isinstance(self.value, dict):
            self.refuse(f"got {self.got}; expected a mapping")
        return {
            name: KubeObjectFieldValue(self.title, value, (*self.path, name))
            for name, value in self.value.items()
            if value is not None
        }

    def text(self, default: str | None = None) -> str:
        """Return a text, which may be left out only if there is a default.

        Raises:
            KubernetesObjectError: The value is no text.

        """
        if self.value is None and default is not None:
            return default
        if not isinstance(self.value, str):
            self.refuse(self.missing or f"got {self.got}; expected a text, in quotes")
        return self.value

    def texts(self) -> dict[str, str]:
        """Return a mapping of texts, such as labels.

        Raises:
            KubernetesObjectError: The value is no mapping of texts.

        """
        value = self.value
        if isinstance(value, dict) and all(type(text) is str for text in value.values()):
            return value
        return {name: part.text() for name, part in self.members().items()}

    def flag(self) -> bool:
        """Return a truth value, which is false if left out.

        Raises:
            KubernetesObjectError: The value is neither true nor false.

        """
        if self.value is not None and not isinstance(self.value, bool):
            self.refuse(f"got {self.got}; expected true or false")
        return bool(self.value)

    def checked(self, read: Callable[..., Read], *arguments: object) -> Read:
        """Return what a reader makes of the arguments; its errors become errors of this field.

        Raises:
            KubernetesObjectError: The reader refuses them.

        """
        try:
            return read(*arguments)
        except AnnotationError as error:
            # The key is the last step of the path already.
            message = str(error).removeprefix(f"{error.key}: ")
            self.refuse(message)
        except KubernetesObjectError:
            raise
        except ValueError as error:
            self.refuse(str(error))


def read_object_identity_and_fields(
    found: Object, kind: str, *, namespaced: bool
) -> tuple[KubeObjectIdentity, KubeObjectFieldValue]:
    """Return the identity of an object, and its root field.

    Raises:
        KubernetesObjectError: It has no name, or its metadata is not what it should be.

    """
    metadata = found.get("metadata")
    known = metadata if isinstance(metadata, dict) else {}
    name, namespace = known.get("name"), known.get("namespace")
    title = object_title(
        kind,
        (namespace if isinstance(namespace, str) and namespace else "default")
        if namespaced
        else "",
        name if isinstance(name, str) else "without a name",
    )
    root = KubeObjectFieldValue(title, dict(found))
    part = root.get("metadata")
    if not part.get("name").text(""):
        part.get("name").refuse("is missing; every object has a name")
    return KubeObjectIdentity(
        kind=kind,
        namespace=(part.get("namespace").text("") or "default") if namespaced else "",
        name=part.get("name").text(),
        uid=part.get("uid").text(""),
        resource_version=part.get("resourceVersion").text(""),
        labels=_labels(part.get("labels")),
    ), root


def _labels(part: KubeObjectFieldValue) -> dict[str, str]:
    """Return the labels of an object; none is like those that stand for what nodes have."""
    found = part.texts()
    for key in found:
        if key.startswith(OWN_PREFIX):
            part.get(key).refuse("no label of Kubernetes has a colon in its name; rename it")
    return found


def first_annotation_present(root: KubeObjectFieldValue, *keys: str) -> KubeObjectFieldValue | None:
    """Return the first of these annotations that the object has; an empty one does not count."""
    return _first(root.get("metadata", "annotations"), keys)


def first_label_present(root: KubeObjectFieldValue, *keys: str) -> KubeObjectFieldValue | None:
    """Return the first of these labels that the object has; an empty one does not count."""
    return _first(root.get("metadata", "labels"), keys)


def _first(part: KubeObjectFieldValue, keys: tuple[str, ...]) -> KubeObjectFieldValue | None:
    texts = part.texts()
    return next((part.get(key) for key in keys if texts.get(key)), None)


def read_annotation(
    root: KubeObjectFieldValue, read: Callable[[str], Read], *keys: str
) -> Read | None:
    """Return what a reader makes of the first of these annotations, or None if there is none.

    Raises:
        KubernetesObjectError: The reader refuses it.

    """
    part = first_annotation_present(root, *keys)
    return part.checked(read, part.text()) if part else None


def read_json_annotation(
    root: KubeObjectFieldValue, read: Callable[[LocatedJsonValue], Read], *keys: str
) -> Read | None:
    """Return what a reader makes of the JSON in the first of these, or None if there is none.

    Raises:
        KubernetesObjectError: It is no such document, or not what it should be.

    """
    part = first_annotation_present(root, *keys)
    if part is None:
        return None
    return part.checked(lambda: read(parse_located_json(part.text(), str(part.path[-1]))))
