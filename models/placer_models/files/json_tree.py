"""JSON trees with the line of every part, read without recursion."""

import json
import re
from enum import StrEnum

from placer_models.files.errors import InputError
from placer_models.files.reading import Tell
from placer_models.files.tree import (
    DocumentTreeBuilder,
    DocumentTreeList,
    DocumentTreeMapping,
    Tree,
)
from placer_models.message_text import in_quotes

_TOLD_EVERY = 10_000

_BLANKS = re.compile(r"[ \t\r\n]*+")
_TOKEN = re.compile(
    # Possessive (*+): else the regex remembers every escape of a long text.
    r"""(?P<string>"(?:[^"\\\x00-\x1f]|\\.)*+")"""
    r"""|(?P<word>-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?(?![\w.+-])"""
    r"""|(?:true|false|null)\b)"""
    r"""|(?P<mark>[{}\[\],:])"""
)


class _Expected(StrEnum):
    """What may come next; the value is for messages."""

    VALUE = "a value"
    FIRST_ITEM = "a value or ']'"
    KEY = "a key in quotes"
    FIRST_KEY = "a key in quotes or '}'"
    COLON = "':'"
    COMMA = "',' or the closing bracket"
    END = "the end of the file"


_CLOSABLE = {_Expected.FIRST_ITEM: "]", _Expected.FIRST_KEY: "}", _Expected.COMMA: "]}"}
"""Where a closing bracket may come, and which."""


def read_json(text: str, file: str, tell: Tell = lambda done_characters: None) -> Tree:
    """Return the one value of the text.

    Args:
        text: The text.
        file: The file's name for messages.
        tell: Told how many characters are read by now.

    Raises:
        InputError: The text is not JSON, or beyond the limits.

    """
    builder = DocumentTreeBuilder(file)
    closers: list[str] = []
    expected = _Expected.VALUE
    line, counted, at, tokens = 1, 0, 0, 0
    while True:
        tokens += 1
        if tokens % _TOLD_EVERY == 0:
            tell(at)
        blanks = _BLANKS.match(text, at)
        at = blanks.end() if blanks else at
        line += text.count("\n", counted, at)
        counted = at
        token = _TOKEN.match(text, at)
        if at == len(text) and expected is _Expected.END:
            return builder.roots[0]
        if token is None:
            got = in_quotes(text[at : at + 20]) if at < len(text) else "the end of the file"
            column = at - text.rfind("\n", 0, at)
            raise InputError(
                file, line, "", f"is not JSON at column {column}: expected {expected}, got {got}"
            )
        at = token.end()
        expected = _take(builder, closers, expected, token, line)


def _take(
    builder: DocumentTreeBuilder,
    closers: list[str],
    expected: _Expected,
    token: re.Match[str],
    line: int,
) -> _Expected:
    """Hand one token to the builder; return what may come after it."""
    mark = token["mark"]
    value_fits = expected in (_Expected.VALUE, _Expected.FIRST_ITEM)
    if mark == "{" and value_fits:
        builder.start(DocumentTreeMapping({}, line))
        closers.append("}")
        return _Expected.FIRST_KEY
    if mark == "[" and value_fits:
        builder.start(DocumentTreeList([], line))
        closers.append("]")
        return _Expected.FIRST_ITEM
    if mark and mark in _CLOSABLE.get(expected, "") and mark == closers[-1]:
        builder.end()
        closers.pop()
        return _Expected.COMMA if closers else _Expected.END
    if mark == "," and expected is _Expected.COMMA:
        return _Expected.KEY if closers[-1] == "}" else _Expected.VALUE
    if mark == ":" and expected is _Expected.COLON:
        return _Expected.VALUE
    if token["string"] and expected in (_Expected.KEY, _Expected.FIRST_KEY):
        builder.scalar(_text(builder, token["string"], line), quoted=True, line=line)
        return _Expected.COLON
    if not mark and value_fits:
        if token["string"]:
            builder.scalar(_text(builder, token["string"], line), quoted=True, line=line)
        else:
            builder.scalar(token["word"], quoted=False, line=line)
        return _Expected.COMMA if closers else _Expected.END
    column = token.start() - token.string.rfind("\n", 0, token.start())
    raise builder.fault(
        line, f"is not JSON at column {column}: expected {expected}, got {in_quotes(token[0])}"
    )


def _text(builder: DocumentTreeBuilder, token: str, line: int) -> str:
    if "\\" not in token:
        return token[1:-1]
    try:
        text = json.loads(token)
        text.encode()
    except UnicodeEncodeError:
        raise builder.fault(line, f"the text {token[:60]} holds half a surrogate pair") from None
    except ValueError:
        raise builder.fault(line, f"the text {token[:60]} holds an unknown escape") from None
    return str(text)
