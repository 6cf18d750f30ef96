"""Parts of documents of every kind: what their schemas are made of, and schemas for editors."""

import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, PlainValidator, WithJsonSchema
from pydantic import Field as Field
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticKnownError

from placer_models.files.documents import API_VERSION
from placer_models.message_text import in_quotes

Json = dict[str, object]
"""A mapping as JSON says it."""

T = TypeVar("T")

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9])?")


class Part(BaseModel):
    """A part of a file: it never changes, and a misspelt field is refused.

    Attributes:
        other_spellings: For a whole document: fields of other tools -> what says the same here.
        unsupported: For a whole document: known words that are not obeyed -> what to do instead.
        short_forms: For a whole document: class name of a part -> what may be written there,
            if people may not know.

    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, alias_generator=to_camel)

    other_spellings: ClassVar[Mapping[str, str]] = {}
    unsupported: ClassVar[Mapping[str, str]] = {}
    short_forms: ClassVar[Mapping[str, str]] = {}

    @classmethod
    def kind_of_documents(cls) -> str:
        """Return the ``kind`` of the documents whose schema this is."""
        return cls.__name__.removesuffix("File")

    @classmethod
    def written(cls, **values: object) -> Json:
        """Return the fields as files write them, without those that are None or the default."""
        said: Json = {}
        for name, value in values.items():
            field, plain = cls.model_fields[name], _plain(value)
            if plain is None:
                continue
            if field.is_required() or plain != _plain(field.get_default(call_default_factory=True)):
                said[field.alias or name] = plain
        return said


def none_if_default(value: T, default: T) -> T | None:
    """Return the value, or None where it is the default."""
    return None if value == default else value


def _plain(value: object) -> object:
    match value:
        case StrEnum():
            return value.value
        case Mapping():
            return {str(name): _plain(part) for name, part in value.items()}
        case list() | tuple():
            return [_plain(part) for part in value]
    return value


class PlacerFileMetadataPart(Part):
    """The name of a document, and what it is about."""

    name: str = ""
    description: str = ""


def check_name(text: str) -> str:
    """Return the text if it is a valid name."""
    if not _NAME.fullmatch(text):
        raise ValueError(
            f"{in_quotes(text)} is no name; expected letters, digits, '-', '_' and '.', "
            "beginning and ending with a letter or digit, 253 characters at most"
        )
    return text


Name = Annotated[str, AfterValidator(check_name)]
"""The name of a pod, a gang or a namespace."""


def check_id(text: str) -> str:
    """Return the text if it is an id: it becomes a part of names of cgroups."""
    if not _NAME.fullmatch(text):
        raise ValueError(f"{in_quotes(text)} is no id; expected letters, digits, '-', '_' and '.'")
    return text


Id = Annotated[str, AfterValidator(check_id)]
"""The uid of a pod, or a runtime's id of a container."""

Amount = Annotated[str, WithJsonSchema({"type": ["string", "number"]})]
"""A quantity as it was written; what it may be depends on the resource."""

AmountsByName = dict[str, Amount]


def parsing_validator(parse: Callable[[str], object]) -> PlainValidator:
    """Return a validator that parses a field's text; the parser's ValueErrors become messages."""

    def read(value: object) -> object:
        if not isinstance(value, str):
            raise PydanticKnownError("string_type")
        return parse(value)

    return PlainValidator(read, json_schema_input_type=Amount)


def json_schema(file: type[Part], *, nulls: bool = False) -> dict[str, object]:
    """Return the JSON Schema of the documents of a kind, for editors.

    Args:
        file: The model of the whole document.
        nulls: Whether the reader takes a field without a value for one left out.

    """
    schema = file.model_json_schema(by_alias=True)
    _as_read(schema, null=nulls, nulls=nulls)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": f"Placer {file.kind_of_documents()}, {API_VERSION}",
    }


def _as_read(schema: dict[str, Any], *, null: bool, nulls: bool) -> None:
    """Make pydantic's schema take what the reader takes, and refuse what it refuses.

    The reader takes a plain scalar as text, such as ``name: 7``. Unless `nulls` is set, it
    wants a value for every field, so that only an item of a list may be null. None in our
    models means that a field is left out.
    """
    if schema.get("type") == "string" and not {"enum", "const"} & schema.keys():
        schema["type"] = ["string", "number", "boolean"]
    if schema.get("default", "") is None:
        del schema["default"]
    if "anyOf" in schema and not null:
        schema["anyOf"] = [branch for branch in schema["anyOf"] if branch != {"type": "null"}]
        if len(schema["anyOf"]) == 1:
            schema.update(schema.pop("anyOf")[0])
            _as_read(schema, null=nulls, nulls=nulls)
    for parts in ("$defs", "properties"):
        for part in schema.get(parts, {}).values():
            _as_read(part, null=nulls, nulls=nulls)
    for part in schema.get("anyOf", ()):
        _as_read(part, null=nulls, nulls=nulls)
    if isinstance(schema.get("additionalProperties"), dict):
        _as_read(schema["additionalProperties"], null=nulls, nulls=nulls)
    if "items" in schema:
        _as_read(schema["items"], null=True, nulls=nulls)
