"""YAML trees with the line of every part, read as a bounded stream of parser events."""

import re

import yaml

from placer_models.files.errors import InputError
from placer_models.files.tree import Builder, Listing, Mapping, Tree

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml where it is built in: the parser in Python takes minutes for a big file."""

_TAB_INDENT = re.compile(r"[ ]*\t")


def read_yaml(text: str, file: str) -> list[Tree]:
    """Return the documents of the text.

    Aliases are refused: one part in two places has no single line to point at, JSON
    cannot say it, a few of them can stand for gigabytes, and replicas and host lists
    serve the same end. Tags are refused because a field's type is the schema's matter.

    Raises:
        InputError: The text is not YAML, or uses what is not read here.

    """
    builder = Builder(file)
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            _add(builder, event)
    except yaml.MarkedYAMLError as error:
        raise _syntax_error(error, text, file) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        what = f"the character U+{ord(text[error.position]):04X}" if text else error.reason
        raise InputError(file, line, "", f"{what} may not stand in YAML; delete it") from None
    return builder.roots


def _add(builder: Builder, event: yaml.Event) -> None:
    line = event.start_mark.line + 1 if event.start_mark else 1
    if isinstance(event, yaml.ScalarEvent) and not event.tag:  # nearly all of a file
        builder.scalar(event.value, quoted=bool(event.style), line=line)
        return
    if isinstance(event, yaml.AliasEvent):
        raise builder.fault(
            line,
            f"the alias '*{event.anchor}' is not read; write the value out, "
            "or use replicas and host lists",
        )
    if isinstance(event, (yaml.ScalarEvent, yaml.CollectionStartEvent)) and event.tag:
        raise builder.fault(line, f"the tag {event.tag!r} is not read; delete it")
    if isinstance(event, yaml.MappingStartEvent):
        builder.start(Mapping({}, line))
    elif isinstance(event, yaml.SequenceStartEvent):
        builder.start(Listing([], line))
    elif isinstance(event, yaml.CollectionEndEvent):
        builder.end()


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
