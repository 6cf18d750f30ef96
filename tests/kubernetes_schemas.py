"""The API server's word on objects: schemas as Kubernetes and Koordinator publish them, cut."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

_SCHEMAS: dict[str, Any] = json.loads(
    (Path(__file__).parent / "kubernetes" / "schemas.json").read_text()
)["definitions"]
_TYPES = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
}
_KNOWN = {
    *("type", "enum", "pattern", "minimum", "minLength", "maxLength"),
    *("required", "properties", "additionalProperties", "items", "$ref"),
}
"""All that these schemas say; a further word would have to be looked at first."""


class SchemaError(ValueError):
    """An object that the API server would refuse."""


def check_object(found: Mapping[str, object]) -> None:
    """Want an object to be what its kind may be, without a field that the kind does not have.

    Raises:
        SchemaError: It is not.

    """
    kind = str(found["kind"])
    if faults := list(_faults(json.loads(json.dumps(found)), _SCHEMAS[kind], kind)):
        raise SchemaError("; ".join(faults))


def _faults(value: Any, schema: dict[str, Any], at: str) -> Iterator[str]:
    assert schema.keys() <= _KNOWN, schema.keys() - _KNOWN
    if "$ref" in schema:
        yield from _faults(value, _SCHEMAS[schema["$ref"].rpartition("/")[2]], at)
        return
    if "type" in schema and not _is(value, schema["type"]):
        yield f"{at}: {value!r} is no {schema['type']}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{at}: {value!r} is none of {schema['enum']}"
    if isinstance(value, str):
        if "pattern" in schema and not re.search(schema["pattern"], value):
            yield f"{at}: {value!r} does not match {schema['pattern']}"
        if not schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value)):
            yield f"{at}: {value!r} has {len(value)} characters"
    if "minimum" in schema and value < schema["minimum"]:
        yield f"{at}: {value!r} is below {schema['minimum']}"
    if isinstance(value, list):
        for i, item in enumerate(value):
            yield from _faults(item, schema.get("items", {}), f"{at}[{i}]")
    if isinstance(value, dict):
        yield from _member_faults(value, schema, at)


def _member_faults(value: dict[str, Any], schema: dict[str, Any], at: str) -> Iterator[str]:
    for name in schema.get("required", ()):
        if name not in value:
            yield f"{at}.{name} is missing"
    known, others = schema.get("properties", {}), schema.get("additionalProperties", {})
    for name, member in value.items():
        if name in known:
            yield from _faults(member, known[name], f"{at}.{name}")
        elif others is False:
            yield f"{at}.{name}: no such field"
        else:
            yield from _faults(member, others, f"{at}.{name}")


def _is(value: object, types: str | list[str]) -> bool:
    names = [types] if isinstance(types, str) else types
    if isinstance(value, bool):
        return "boolean" in names
    return any(isinstance(value, _TYPES[name]) for name in names)
