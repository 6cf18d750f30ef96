"""Types of Go: how JSON is read into a type, and how the library spew prints its values for a hash.

Reading is strict where Go is lax: it refuses fields that are unknown, in another case or
repeated, and second spellings of a value. So a changed byte either changes a value or is refused.
"""

import json
import re
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from placer_models.annotations.json_parts import refuse_json_constant
from placer_models.cpuset import format_cpu_list, parse_cpu_list
from placer_models.message_text import in_quotes, spelling_suggestion

MEND = "drain the node, delete the file and restart the kubelet, which writes it anew"

_MAX_DIGITS = 20
"""The number of digits of the largest number of 64 bits."""

_UPPER_CASE_ESCAPE = re.compile(r"(?<!\\)(?:\\\\)*\\u[0-9a-f]{0,3}[A-F]")
"""Go writes escapes in lower case; the other case would mean the same."""


class KubeletCheckpointError(ValueError):
    """A checkpoint that is refused. ``str()`` is the whole message.

    Attributes:
        field: Path of the field; empty for the document as a whole.

    """

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}" if field else message)
        self.field = field


@dataclass(frozen=True, slots=True)
class GoTypeCodec:
    """A type of Go.

    Attributes:
        name: Its name in Go.
        read: Takes a piece of JSON, and its path for messages, and returns its value.
        show: Returns a value as spew prints it, without its type.

    """

    name: str
    read: Callable[[object, str], Any]
    show: Callable[[Any], str]

    def typed(self, value: Any) -> str:
        """Return a value as spew prints it, preceded by its type."""
        return f"({self.name}){self.show(value)}"


@dataclass(frozen=True, slots=True)
class GoStructField:
    """A field of a struct.

    Attributes:
        name: Its name in Go.
        key: Its key in JSON.
        default: The value if the field is left out, in a tuple; empty if it may not be left out.

    """

    name: str
    key: str
    type: GoTypeCodec
    default: tuple[Any, ...] = ()


def parse_go_json(text: str, path: str = "") -> object:
    """Return the value of a JSON text.

    Raises:
        KubeletCheckpointError: The text is no JSON, or not as Go writes it.

    """
    try:
        found: object = json.loads(
            text, object_pairs_hook=_once, parse_int=_integer, parse_constant=refuse_json_constant
        )
    except json.JSONDecodeError as error:
        raise KubeletCheckpointError(
            path, f"is not JSON: {error.msg}, at character {error.pos + 1}; {MEND}"
        ) from None
    except RecursionError:
        raise KubeletCheckpointError(path, f"brackets are nested too deep; {MEND}") from None
    except ValueError as error:
        raise KubeletCheckpointError(path, f"{error}; {MEND}") from None
    if _UPPER_CASE_ESCAPE.search(text):
        raise KubeletCheckpointError(
            path, f"has an escape in upper case, as no kubelet writes it; {MEND}"
        )
    return found


def raise_wrong_go_type(path: str, value: object, expected: str) -> NoReturn:
    """Refuse a value.

    Raises:
        KubeletCheckpointError: Always.

    """
    match value:
        case dict():
            got = "an object"
        case list():
            got = "a list"
        case str():
            got = in_quotes(value)
        case _:
            got = json.dumps(value)
    raise KubeletCheckpointError(path, f"got {got}; expected {expected}; {MEND}")


def go_field_path(path: str, key: str) -> str:
    """Return the path of a field of an object."""
    return f"{path}.{key}" if path else key


def _text(value: object, path: str) -> str:
    if not isinstance(value, str):
        raise_wrong_go_type(path, value, "a text")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise_wrong_go_type(
            path, value.encode(errors="replace").decode(), "a text of whole characters"
        )
    return value


TEXT = GoTypeCodec("string", _text, str)


def go_integer_codec(name: str, least: int, most: int) -> GoTypeCodec:
    """Return a type of whole numbers."""

    def read(value: object, path: str) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise_wrong_go_type(path, value, f"a whole number from {least} to {most}")
        return value

    return GoTypeCodec(name, read, str)


INT = go_integer_codec("int", -(2**63), 2**63 - 1)
INT64 = go_integer_codec("int64", -(2**63), 2**63 - 1)
UINT64 = go_integer_codec("uint64", 0, 2**64 - 1)
CHECKSUM = go_integer_codec("checksum.Checksum", 0, 2**64 - 1)


def _bytes(value: object, path: str) -> bytes | None:
    if value is None:
        return None
    text = _text(value, path)
    try:
        found = b64decode(text, validate=True)
    except (Base64Error, ValueError):
        found = b""
    if b64encode(found).decode() != text:
        raise_wrong_go_type(path, text, "bytes in base64")
    return found


BYTES = GoTypeCodec(
    "[]uint8",
    _bytes,
    lambda value: "<nil>" if value is None else f"[{' '.join(map(str, value))}]",
)


def _cpu_list(value: object, path: str) -> str:
    text = _text(value, path)
    try:
        parse_cpu_list(text)
    except ValueError:
        raise_wrong_go_type(path, text, "a list of CPUs such as 0-3,8")
    return text


CPU_LIST = GoTypeCodec("string", _cpu_list, str)
"""A text that lists CPUs."""


def _cpu_set(value: object, path: str) -> frozenset[int]:
    text = _cpu_list(value, path)
    found = parse_cpu_list(text)
    if format_cpu_list(found) != text:
        raise_wrong_go_type(path, text, f"it as Go writes it, '{format_cpu_list(found)}'")
    return found


CPU_SET = GoTypeCodec(
    "cpuset.CPUSet",
    _cpu_set,
    lambda cpus: (
        f"{{elems:(map[int]struct {{}})map[{' '.join(f'{cpu}:{{}}' for cpu in sorted(cpus))}]}}"
    ),
)


def go_slice_codec(item: GoTypeCodec) -> GoTypeCodec:
    """Return the type of slices of an item type; None is a nil slice."""

    def read(value: object, path: str) -> list[Any] | None:
        if value is None:
            return None
        if not isinstance(value, list):
            raise_wrong_go_type(path, value, "a list")
        return [item.read(one, f"{path}[{i}]") for i, one in enumerate(value)]

    def show(value: list[Any] | None) -> str:
        return "<nil>" if value is None else f"[{' '.join(map(item.show, value))}]"

    return GoTypeCodec(f"[]{item.name}", read, show)


def go_map_codec(key: GoTypeCodec, item: GoTypeCodec, name: str = "") -> GoTypeCodec:
    """Return a type of maps; None is a nil map.

    Args:
        key: The type of the keys: texts, or whole numbers.
        item: The type of the values.
        name: The name of the type, if it has one of its own.

    """

    def read(value: object, path: str) -> dict[Any, Any] | None:
        if value is None:
            return None
        if not isinstance(value, dict):
            raise_wrong_go_type(path, value, "an object")
        return {
            read_key(name, path): item.read(one, go_field_path(path, name))
            for name, one in value.items()
        }

    def read_key(text: str, path: str) -> object:
        if key.name == TEXT.name:
            return _text(text, path)
        try:
            number = int(text) if len(text) <= _MAX_DIGITS else None
        except ValueError:
            number = None
        if number is None or str(number) != text:
            raise_wrong_go_type(path, text, "a whole number as the name of each field")
        return key.read(number, path)

    def show(value: dict[Any, Any] | None) -> str:
        if value is None:
            return "<nil>"
        return f"map[{' '.join(f'{k}:{item.show(one)}' for k, one in sorted(value.items()))}]"

    return GoTypeCodec(name or f"map[{key.name}]{item.name}", read, show)


def go_struct_codec(name: str, *fields: GoStructField) -> GoTypeCodec:
    """Return the type of a struct; its values are mappings from the fields' names in Go."""
    keys = [field.key for field in fields]

    def read(value: object, path: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise_wrong_go_type(path, value, "an object")
        if unknown := [key for key in value if key not in keys]:
            hint = spelling_suggestion(unknown[0], keys) or f"; expected {', '.join(keys)}"
            raise KubeletCheckpointError(
                go_field_path(path, unknown[0]), f"no such field{hint}; {MEND}"
            )
        found = {}
        for field in fields:
            if field.key in value:
                found[field.name] = field.type.read(
                    value[field.key], go_field_path(path, field.key)
                )
            elif field.default:
                found[field.name] = field.default[0]
            else:
                raise KubeletCheckpointError(go_field_path(path, field.key), f"is missing; {MEND}")
        return found

    def show(value: Mapping[str, Any]) -> str:
        shown = (f"{field.name}:{field.type.typed(value[field.name])}" for field in fields)
        return f"{{{' '.join(shown)}}}"

    return GoTypeCodec(name, read, show)


def go_pointer_codec(of: GoTypeCodec) -> GoTypeCodec:
    """Return the type of values that a map holds by pointer."""
    return GoTypeCodec(f"*{of.name}", of.read, lambda value: f"<*>{of.show(value)}")


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the field {in_quotes(key)} is there twice")
        found[key] = value
    return found


def _integer(digits: str) -> int:
    if len(digits) > _MAX_DIGITS:
        raise ValueError(f"a number has {len(digits)} digits")
    return int(digits)
