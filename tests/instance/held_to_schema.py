"""Holds values to a JSON Schema: the few words of it that our schema uses."""

import re
from collections.abc import Iterator
from typing import Any

TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "null": (type(None),),
    "object": (dict,),
    "array": (list,),
}
WORDS = {
    "$defs", "$ref", "$schema", "additionalProperties", "anyOf", "const", "default", "description",
    "enum", "items", "maxProperties", "maximum", "minItems", "minLength", "minProperties",
    "minimum", "pattern", "properties", "required", "title", "type",
}  # fmt: skip


def problems(value: Any, schema: dict[str, Any], defs: dict[str, Any], at: str = "") -> list[str]:
    """Return what is wrong with the value; the schema has no word that is not looked at."""
    return list(_problems(value, schema, defs, at))


def _problems(value: Any, schema: dict[str, Any], defs: dict[str, Any], at: str) -> Iterator[str]:
    assert schema.keys() <= WORDS
    if "$ref" in schema:
        yield from _problems(value, defs[schema["$ref"].removeprefix("#/$defs/")], defs, at)
    if "anyOf" in schema and all(problems(value, part, defs) for part in schema["anyOf"]):
        yield f"{at}: {value!r} is none of {schema['anyOf']}"
    names = schema.get("type", list(TYPES))
    names = [names] if isinstance(names, str) else names
    # To Python, true is a number; to JSON it is not.
    fits = isinstance(value, bool) and "boolean" in names
    fits |= any(isinstance(value, TYPES[n]) and not isinstance(value, bool) for n in names)
    if not fits:
        yield f"{at}: {value!r} is not {' or '.join(names)}"
    if value not in schema.get("enum", [value]) or value != schema.get("const", value):
        yield f"{at}: {value!r} is not {schema.get('enum', schema.get('const'))}"
    if isinstance(value, int) and not (
        schema.get("minimum", value) <= value <= schema.get("maximum", value)
    ):
        yield f"{at}: {value} is out of range"
    if isinstance(value, str) and not re.search(schema.get("pattern", ""), value):
        yield f"{at}: {value!r} does not match"
    if isinstance(value, str) and len(value) < schema.get("minLength", 0):
        yield f"{at}: {value!r} is too short"
    if isinstance(value, list):
        if len(value) < schema.get("minItems", 0):
            yield f"{at}: has too few items"
        for i, item in enumerate(value):
            yield from _problems(item, schema.get("items", {}), defs, f"{at}[{i}]")
    if isinstance(value, dict):
        yield from _fields(value, schema, defs, at)


def _fields(
    value: dict[Any, Any], schema: dict[str, Any], defs: dict[str, Any], at: str
) -> Iterator[str]:
    least, most = schema.get("minProperties", 0), schema.get("maxProperties", len(value))
    if not least <= len(value) <= most:
        yield f"{at}: has {len(value)} fields"
    for name in schema.get("required", ()):
        if name not in value:
            yield f"{at}.{name}: is missing"
    others = schema.get("additionalProperties", {})
    for key, field in value.items():
        part = schema.get("properties", {}).get(str(key), others)
        if part is False:
            yield f"{at}.{key}: is no field"
        elif part is not True:
            yield from _problems(field, part, defs, f"{at}.{key}")
