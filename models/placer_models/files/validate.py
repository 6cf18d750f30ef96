"""Validation of a document against its schema, which says what differs in our own words."""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path as FilePath
from typing import TypeVar, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from placer_models.files.documents import DocumentInFile, load_documents, shown_file_name
from placer_models.files.errors import InputError
from placer_models.files.faults import DocumentLocation, FileFaults
from placer_models.files.part import Part
from placer_models.files.tree import (
    DocumentTreeList,
    DocumentTreeMapping,
    DocumentTreeScalar,
    Path,
    Tree,
    deepest_part_on_path,
    describe_part,
    document_tree_to_plain_values,
    field_line_number,
    is_blank_scalar,
    steps_along_path,
)
from placer_models.message_text import in_quotes, spelling_suggestion

Model = TypeVar("Model", bound=Part)

_EXPECTED = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a number",
    "bool_type": "true or false",
    "string_type": "text or a number",
    "model_type": "a mapping, that is lines of 'field: value'",
    "dict_type": "a mapping, that is lines of 'key: value'",
    "tuple_type": "a list, that is lines of '- item'",
    "list_type": "a list, that is lines of '- item'",
}
"""Pydantic's type errors -> what was wanted, in words."""

_BARE = re.compile(r"true|false|-?[0-9]+(?:\.[0-9]+)?")
"""Numbers and truth values, which are text if in quotes."""


def read_by_schema(
    schema: type[Model], place: DocumentLocation, *, nulls: bool = False
) -> Model | None:
    """Return the part of the document at the place as the schema's model.

    If anything differs from the schema, it is added to the faults and the answer is None.
    A plain scalar is text where the schema wants text: ``reservedCpus: 0``. A field without
    a value is a fault unless ``nulls`` is set, because a forgotten value is no default.
    """
    tree = deepest_part_on_path(place.document.tree, place.path)
    model, groups = _validated(schema, tree, nulls=nulls)
    if not groups:
        return model
    first = min(groups, key=lambda path: _rank(tree, groups, path))
    message = _message(schema, deepest_part_on_path(tree, first), first, groups[first])
    place.at(*first).fault(message, more=len(groups) - 1)
    return None


def note_schema_faults(schema: type[Part], place: DocumentLocation) -> tuple[Path, ...]:
    """Note each thing that differs from the schema, and return the paths of all of them.

    A field that is missing beside one that is not known here, which may be its misspelling, is
    not noted.
    """
    tree = deepest_part_on_path(place.document.tree, place.path)
    _, groups = _validated(schema, tree, nulls=False)
    for path, errors in groups.items():
        beside = (other for other in groups if other[:-1] == path[:-1])
        strange = any(e["type"] == "extra_forbidden" for other in beside for e in groups[other])
        if not (strange and any(error["type"] == "missing" for error in errors)):
            place.at(*path).fault(_message(schema, deepest_part_on_path(tree, path), path, errors))
    return tuple(groups)


def _validated(
    schema: type[Model], tree: Tree, *, nulls: bool
) -> tuple[Model | None, dict[Path, list[ErrorDetails]]]:
    """Return the model, if nothing differs from it, and what differs, path by path."""
    as_text: frozenset[Path] = frozenset()
    while True:
        errors: list[ErrorDetails] = []
        model = None
        try:
            model = schema.model_validate_json(
                json.dumps(document_tree_to_plain_values(tree, as_text))
            )
        except ValidationError as error:
            errors = error.errors(include_url=False, include_input=False)
        wanted = frozenset(
            path
            for path, node, kind in ((*_part(tree, e["loc"]), e["type"]) for e in errors)
            if kind == "string_type"
            and isinstance(node, DocumentTreeScalar)
            and document_tree_to_plain_values(node) is not None
        )
        if wanted <= as_text:
            break
        as_text |= wanted
    groups = _by_path(schema, tree, errors)
    if not nulls:
        groups |= {path: [] for path in _empty_fields(tree)}
    return model, groups


def read_part_as(schema: type[Model], place: DocumentLocation, *, nulls: bool = False) -> Model:
    """Return the part at the place as the schema's model, as `read_by_schema` does.

    Raises:
        InputError: It differs from the schema, or something was wrong already.

    """
    model = read_by_schema(schema, place, nulls=nulls)
    place.faults.raise_first()
    assert model is not None  # what differs from the schema has a fault
    return model


def read_only_document(path: FilePath, schema: type[Model]) -> tuple[Model, DocumentLocation]:
    """Return the one document of a file and its place; ``-`` is standard input.

    Args:
        path: The file.
        schema: The model of documents of the kind that is expected.

    Raises:
        InputError: There is not exactly one document, or it is of another kind or differs from
            the schema.

    """
    document = only_document(path, schema.kind_of_documents())
    place = DocumentLocation(document, FileFaults([document]))
    return read_part_as(schema, place), place


def only_document(path: FilePath, kind: str) -> DocumentInFile:
    """Return the one document of a file; ``-`` is standard input.

    Args:
        path: The file.
        kind: The kind that is expected; a document that says none may be of it.

    Raises:
        InputError: There is not exactly one document, or it is of another kind.

    """
    documents = load_documents(path)
    if len(documents) != 1:
        message = f"got {len(documents)} documents; expected one of 'kind: {kind}'"
        raise InputError(shown_file_name(path), None, "", message)
    place = DocumentLocation(documents[0], FileFaults(documents))
    # Another kind is told of first, before its fields are called strange.
    said = place.at("kind")
    if said.exists and said.value != in_quotes(kind):
        said.fault(f"got {said.value}; expected '{kind}'{spelling_suggestion(said.value, (kind,))}")
        place.faults.raise_first()
    return documents[0]


def _rank(tree: Tree, groups: dict[Path, list[ErrorDetails]], path: Path) -> tuple[int, bool, Path]:
    """Return the sort key of the errors at a path: their line.

    A missing field alone comes after the unknown fields beside it, because one of them may
    be its misspelling.
    """
    missing = any(error["type"] == "missing" for error in groups[path])
    beside = [
        field_line_number(tree, other)
        for other, errors in groups.items()
        if missing
        and other[:-1] == path[:-1]
        and any(error["type"] == "extra_forbidden" for error in errors)
    ]
    return max([field_line_number(tree, path), *beside]), missing, tuple(map(str, path))


def _empty_fields(tree: Tree, path: Path = ()) -> Iterator[Path]:
    """Yield the fields of mappings that have no value."""
    if isinstance(tree, DocumentTreeMapping):
        for key, (node, _) in tree.entries.items():
            if is_blank_scalar(node):
                yield (*path, key)
            elif not isinstance(node, DocumentTreeScalar):
                yield from _empty_fields(node, (*path, key))
    elif isinstance(tree, DocumentTreeList):
        for i, node in enumerate(tree.items):
            if not isinstance(node, DocumentTreeScalar):
                yield from _empty_fields(node, (*path, i))


def _part(tree: Tree, loc: Sequence[str | int]) -> tuple[Path, Tree]:
    """Return the part that an error is about, and its path; tags of unions are passed over."""
    walked = list(steps_along_path(tree, loc))
    if not walked:
        return (), tree
    return tuple(step for step, _, _ in walked), walked[-1][1]


def _by_path(
    schema: type[Part], tree: Tree, errors: list[ErrorDetails]
) -> dict[Path, list[ErrorDetails]]:
    """Return the errors of each part that is wrong."""
    by_path: dict[Path, list[ErrorDetails]] = defaultdict(list)
    for error in errors:
        path, _ = _part(tree, error["loc"])
        missing = (str(error["loc"][-1]),) if error["type"] == "missing" else ()
        by_path[*path, *missing].append(error)
    above = {path[:i] for path in by_path for i in range(len(path))}
    for path in above & by_path.keys():
        # Another branch of a union got further: this one was not meant. Pydantic counts only good
        # items, so a list may be long enough once its items are mended.
        if all(_wanted(schema, e) or e["type"] == "too_short" for e in by_path[path]):
            del by_path[path]
    return dict(by_path)


def _message(schema: type[Part], node: Tree, path: Path, group: list[ErrorDetails]) -> str:
    if not group:
        return "has no value; give it one, or delete the line"
    wanted = dict.fromkeys(words for error in group if (words := _wanted(schema, error)))
    telling = [error for error in group if not _wanted(schema, error)]
    if not telling:
        plain_text = (
            isinstance(node, DocumentTreeScalar) and node.quoted and _BARE.fullmatch(node.text)
        )
        quotes = ": leave the quotes out" if plain_text else ""
        return f"got {describe_part(node)}; expected {' or '.join(wanted)}{quotes}"
    error, context = telling[0], telling[0].get("ctx", {})
    match error["type"]:
        case "missing":
            return "is missing; add it"
        case "extra_forbidden":
            return _unknown_field(schema, path)
        case "value_error":
            return str(context["error"])
        case "literal_error" | "enum":
            allowed = re.findall("'([^']*)'", context["expected"])
            text = node.text if isinstance(node, DocumentTreeScalar) else ""
            said = f"got {describe_part(node)}; expected {context['expected']}"
            return _unsupported(schema, text) or said + spelling_suggestion(text, allowed)
        case "greater_than_equal":
            return f"got {describe_part(node)}; expected {context['ge']} or more"
        case "less_than_equal":
            return f"got {describe_part(node)}; expected {context['le']} at most"
        case "too_short":
            least = context["min_length"]
            return "is empty; give one or more" if least == 1 else f"give {least} or more"
        case _:
            return f"got {describe_part(node)}; {error['msg'][0].lower()}{error['msg'][1:]}"


def _wanted(schema: type[Part], error: ErrorDetails) -> str | None:
    """Return in words what was wanted, or None if more than the type is wrong."""
    part = str(error.get("ctx", {}).get("class_name"))
    return schema.short_forms.get(part) or _EXPECTED.get(error["type"])


def _unsupported(schema: type[Part], word: str) -> str | None:
    """Return why a known field or value is refused, or None if it is not such a word."""
    instead = schema.unsupported.get(word)
    return instead and f"'{word}' is not supported yet: {instead}"


def _unknown_field(schema: type[Part], path: Path) -> str:
    name = str(path[-1])
    if refused := _unsupported(schema, name):
        return refused
    if name in schema.other_spellings:
        return f"is not a field here; write '{schema.other_spellings[name]}'"
    models: set[type[BaseModel]] = {schema}
    for step in path[:-1]:
        if isinstance(step, str):
            fields = (f for m in models for f in m.model_fields.values() if f.alias == step)
            models = {m for field in fields for m in _models_in(field.annotation)}
    known = sorted(f.alias or n for m in models for n, f in m.model_fields.items())
    hint = spelling_suggestion(name, known)
    return f"is not a field here{hint}" if hint else f"is not a field; known: {', '.join(known)}"


def _models_in(annotation: object) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models_in(argument)
