"""JSON that strangers wrote, checked part by part: each fault is one message with its path."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import NoReturn

from placer_models.files.cursor import LocatedValue
from placer_models.message_text import escaped_value_text

MAX_CHARACTERS = 262_144
"""Kubernetes keeps no more than this in all annotations of an object together."""

MAX_DIGITS = 40
"""No id and no amount has more digits; Python is slow with long ones."""


class AnnotationError(ValueError):
    """A document that is refused. ``str()`` is the whole message, on one line.

    Attributes:
        key: The key of the annotation.
        path: Where in the document, such as ``$.gpu[0].minor``.

    """

    def __init__(self, key: str, path: str, message: str) -> None:
        super().__init__(f"{key}: {path}: {message}")
        self.key = key
        self.path = path


@dataclass(frozen=True, slots=True)
class LocatedJsonValue(LocatedValue):
    """One value of a document, with the place where it stands.

    As for the Go programs that write and read these documents, null counts as left
    out, and the case of a field's name does not matter.
    """

    key: str
    path: str
    value: object

    @property
    def got(self) -> str:
        """The value as messages show it, without the contents of an object or a list."""
        match self.value:
            case _Object():
                return "an object"
            case list():
                return "a list"
            case None | bool():
                return json.dumps(self.value)
            case _:
                return escaped_value_text(self.value)

    def refuse(self, message: str) -> NoReturn:
        """Raise the error that refuses this part.

        Raises:
            AnnotationError: Always.

        """
        raise AnnotationError(self.key, self.path, message)

    def fields(
        self,
        known: Collection[str],
        aliases: Mapping[str, str] | None = None,
        *,
        strict: bool = False,
    ) -> dict[str, "LocatedJsonValue"]:
        """Return the known fields that are there; others are passed over.

        Args:
            known: Names of the fields.
            aliases: Another spelling -> the name of the field.
            strict: A field that is not known is refused.

        Raises:
            AnnotationError: This is no object, or a field is there twice.

        """
        spelt = {name.lower(): name for name in known}
        spelt |= {other.lower(): name for other, name in (aliases or {}).items()}
        found: dict[str, LocatedJsonValue] = {}
        for name, part in self.members().items():
            field = spelt.get(name.lower())
            if field is None and strict:
                part.refuse(f"no such field; {_known(name, known)}")
            if field is None:
                continue
            if field in found:
                part.refuse(f"the field {field} is there twice; keep one of them")
            found[field] = part
        return found

    def need(self, fields: dict[str, "LocatedJsonValue"], name: str) -> "LocatedJsonValue":
        """Return a required field of this object.

        Raises:
            AnnotationError: It is left out.

        """
        if name not in fields:
            self.refuse(f"the field {name} is missing")
        return fields[name]

    def members(self) -> dict[str, "LocatedJsonValue"]:
        """Return the members of an object, whatever their names.

        Raises:
            AnnotationError: This is no object, or a name is there twice.

        """
        if self.value is None:
            return {}
        if not isinstance(self.value, _Object):
            self.refuse(f"got {self.got}; expected an object, in braces")
        members: dict[str, LocatedJsonValue] = {}
        for name, value in self.value.pairs:
            part = LocatedJsonValue(self.key, f"{self.path}{_step(name)}", value)
            if name in members:
                part.refuse("the name is there twice; keep one of them")
            _check_text(part, name)
            members[name] = part
        return {name: part for name, part in members.items() if part.value is not None}

    def items(self) -> list["LocatedJsonValue"]:
        """Return the items of a list.

        Raises:
            AnnotationError: This is no list.

        """
        if not isinstance(self.value, list):
            self.refuse(f"got {self.got}; expected a list, in brackets")
        return [
            LocatedJsonValue(self.key, f"{self.path}[{i}]", value)
            for i, value in enumerate(self.value)
        ]

    def text(self) -> str:
        """Return the text of this part.

        Raises:
            AnnotationError: This is no text.

        """
        if not isinstance(self.value, str):
            self.refuse(f"got {self.got}; expected a text, in quotes")
        _check_text(self, self.value)
        return self.value


def parse_located_json(text: str, key: str) -> LocatedJsonValue:
    """Return the root part of a document.

    Args:
        text: The annotation's value.
        key: The annotation's key, for messages.

    Raises:
        AnnotationError: The text is not JSON, or longer than an annotation can be.

    """
    if len(text) > MAX_CHARACTERS:
        raise AnnotationError(
            key, "$", f"{len(text)} characters; annotations end at {MAX_CHARACTERS}"
        )
    try:
        value = json.loads(
            text, object_pairs_hook=_Object, parse_int=_integer, parse_constant=refuse_json_constant
        )
    except json.JSONDecodeError as error:
        raise AnnotationError(
            key, "$", f"is not JSON: {error.msg}, at character {error.pos + 1}"
        ) from None
    except RecursionError:
        raise AnnotationError(key, "$", "brackets are nested too deep") from None
    except ValueError as error:
        raise AnnotationError(key, "$", f"is not JSON: {error}") from None
    return LocatedJsonValue(key, "$", value)


class _Object:
    """An object as it was written, in which a name may occur twice."""

    def __init__(self, pairs: list[tuple[str, object]]) -> None:
        self.pairs = pairs


def _integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise ValueError(f"a number of {len(digits)} digits; numbers end at {MAX_DIGITS}")
    return int(digits)


def refuse_json_constant(name: str) -> NoReturn:
    """Refuse what Python reads as a number in JSON and others do not, such as ``NaN``."""
    raise ValueError(f"{name} is no number")


def _check_text(part: LocatedJsonValue, text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        part.refuse(f"the text {escaped_value_text(text)} holds half a surrogate pair")


def _step(name: str) -> str:
    """Return a name as a step of a path: ``.name``, or in brackets if that would read badly."""
    if len(name) <= 60 and name.isascii() and name.isalnum():
        return f".{name}"
    return f"[{escaped_value_text(name)}]"


def _known(name: str, known: Collection[str]) -> str:
    lowered = {word.lower(): word for word in known}
    close = get_close_matches(name.lower()[:60], lowered, n=1)
    if close:
        return f"did you mean {lowered[close[0]]}?"
    return f"expected one of {', '.join(known)}"
