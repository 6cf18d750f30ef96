"""YAML trees with the line of every part, read as a bounded stream of parser events."""

import re
from collections.abc import Iterable

import yaml

from placer_models.files.anchors import BadYamlAliasError, YamlAnchors
from placer_models.files.errors import InputError
from placer_models.files.reading import Tell
from placer_models.files.tree import (
    DocumentTreeBuilder,
    DocumentTreeList,
    DocumentTreeMapping,
    DocumentTreeScalar,
    Tree,
)

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml where it is built in: the parser in Python takes minutes for a big file."""

MERGE_KEY = "<<"
MERGES = "merge keys ('<<') are not read; write the fields out"

_TOLD_EVERY = 10_000

_TAB_INDENT = re.compile(r"[ ]*\t")


def read_yaml(text: str, file: str, tell: Tell = lambda done_characters: None) -> list[Tree]:
    """Return the documents of the text.

    What an alias stands for has the lines of the place where it is written out. Tags are refused
    because a field's type is the schema's matter.

    Args:
        text: The text.
        file: The file's name for messages.
        tell: Told how many characters are read by now.

    Raises:
        InputError: The text is not YAML, or uses what is not read here.

    """
    builder = DocumentTreeBuilder(file)
    anchors = YamlAnchors(_parts_of)
    try:
        for number, event in enumerate(yaml.parse(text, Loader=LOADER)):
            if number % _TOLD_EVERY == 0 and event.start_mark:
                tell(event.start_mark.index)
            if isinstance(event, yaml.DocumentStartEvent):
                anchors = YamlAnchors(_parts_of)
            _add(builder, anchors, event)
    except yaml.MarkedYAMLError as error:
        raise _syntax_error(error, text, file) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        what = f"the character U+{ord(text[error.position]):04X}" if text else error.reason
        raise InputError(file, line, "", f"{what} may not stand in YAML; delete it") from None
    return builder.roots


def _add(builder: DocumentTreeBuilder, anchors: YamlAnchors[Tree], event: yaml.Event) -> None:
    line = event.start_mark.line + 1 if event.start_mark else 1
    if isinstance(event, yaml.ScalarEvent) and not event.tag:  # nearly all of a file
        if event.value == MERGE_KEY and not event.style and builder.wants_key:
            raise builder.fault(line, MERGES)
        builder.scalar(event.value, quoted=bool(event.style), line=line)
        if event.anchor:
            anchors.name(event.anchor, DocumentTreeScalar(event.value, bool(event.style), line))
        return
    if isinstance(event, yaml.AliasEvent):
        try:
            part = anchors.aliased(event.anchor or "", builder.open)
        except BadYamlAliasError as error:
            raise builder.fault(line, str(error)) from None
        builder.alias(part, anchors.values_of(part), line)
        return
    if isinstance(event, (yaml.ScalarEvent, yaml.CollectionStartEvent)) and event.tag:
        raise builder.fault(line, f"the tag {event.tag!r} is not read; delete it")
    if isinstance(event, yaml.CollectionStartEvent):
        is_mapping = isinstance(event, yaml.MappingStartEvent)
        new = DocumentTreeMapping({}, line) if is_mapping else DocumentTreeList([], line)
        builder.start(new)
        if event.anchor:
            anchors.name(event.anchor, new)
    elif isinstance(event, yaml.CollectionEndEvent):
        builder.end()


def _parts_of(tree: Tree) -> Iterable[Tree]:
    match tree:
        case DocumentTreeMapping():
            return [entry.node for entry in tree.entries.values()]
        case DocumentTreeList():
            return tree.items
    return ()


def _syntax_error(error: yaml.MarkedYAMLError, text: str, file: str) -> InputError:
    mark = error.problem_mark or error.context_mark
    if mark is None:
        return InputError(file, None, "", f"is not YAML: {error.problem}")
    lines = text.splitlines()
    line = lines[mark.line] if mark.line < len(lines) else ""
    if _TAB_INDENT.match(line):
        return InputError(file, mark.line + 1, "", "indented with a tab; YAML wants blanks")
    context = f" {error.context}" if error.context else ""
    return InputError(
        file,
        mark.line + 1,
        "",
        f"is not YAML at column {mark.column + 1}:{context} {error.problem}",
    )
