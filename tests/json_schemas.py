"""Holds values to JSON Schemas: ours, and those that a cluster's API server goes by."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

_OF_CLUSTERS: dict[str, Any] = json.loads(
    (Path(__file__).parent / "kubernetes" / "schemas.json").read_text()
)["definitions"]


class SchemaError(ValueError):
    """An object that the API server would refuse."""


def faults(value: Any, schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with a value; what the schema refers to is among the definitions."""
    whole = {**schema, "$defs": definitions, "definitions": definitions}
    return [
        f"{error.json_path}: {error.message}"
        for error in Draft202012Validator(whole).iter_errors(value)
    ]


def check_object(found: Mapping[str, object]) -> None:
    """Want an object to be what its kind may be, without a field that the kind does not have.

    Raises:
        SchemaError: It is not.

    """
    as_sent = json.loads(json.dumps(found))
    if wrong := faults(as_sent, _OF_CLUSTERS[str(found["kind"])], _OF_CLUSTERS):
        raise SchemaError("; ".join(wrong))
