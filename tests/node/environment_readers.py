"""Environment files as their readers take them, told anew from their documentation.

systemd: systemd.exec(5), ``EnvironmentFile=``. docker and podman: ``--env-file``. Emulated machines
hold the first to a real systemd.
"""

from collections.abc import Iterable

ESCAPED_IN_QUOTES = '"\\`$'


def read_by_docker(text: str) -> dict[str, str]:
    """One variable a line, its value as it stands."""
    found = {}
    for line in text.split("\n"):
        line = line.removesuffix("\r").lstrip()
        if not line or line.startswith("#"):
            continue
        name, equals, value = line.partition("=")
        assert equals, f"{line!r} takes the value from docker's own environment"
        assert name, f"{line!r} has no name"
        assert not any(blank in name for blank in " \t"), f"{name!r} has blanks"
        found[name] = value
    return found


def read_by_systemd(text: str) -> dict[str, str]:
    """Shell-like: quotes, backslashes, comments, lines that go on."""
    found = {}
    at = 0
    while at < len(text):
        if text[at] in " \t\r\n":
            at += 1
        elif text[at] in "#;":
            at = _end_of_comment(text, at)
        else:
            end = text.find("=", at)
            newline = text.find("\n", at)
            if end < 0 or 0 <= newline < end:
                at = len(text) if newline < 0 else newline + 1  # no assignment: passed over
                continue
            name = text[at:end].rstrip()
            value, at = _value(text, end + 1)
            found[name] = value
    return found


def _end_of_comment(text: str, at: int) -> int:
    while at < len(text) and text[at] not in "\r\n":
        at += 2 if text[at] == "\\" else 1
    return at


def _value(text: str, at: int) -> tuple[str, int]:
    """A value from its first character on, and where the next line begins."""
    while at < len(text) and text[at] in " \t":
        at += 1
    found: list[str] = []
    kept = 0  # trailing blanks outside quotes are no part of it
    while at < len(text) and text[at] not in "\r\n":
        letter = text[at]
        if letter == "\\":
            found += [] if text[at + 1 : at + 2] == "\n" else [text[at + 1 : at + 2]]
            at += 2
        elif letter in "'\"" and not found:
            at = _quoted(text, at, found)
        else:
            found.append(letter)
            at += 1
            if letter in " \t":
                continue
        kept = len(found)
    return "".join(found[:kept]), at + 1


def _quoted(text: str, at: int, found: list[str]) -> int:
    quote = text[at]
    at += 1
    while at < len(text) and text[at] != quote:
        if quote == '"' and text[at] == "\\":
            follows = text[at + 1 : at + 2]
            if follows and follows in ESCAPED_IN_QUOTES:
                found.append(follows)
            elif follows != "\n":
                found += ["\\", follows]
            at += 2
        else:
            found.append(text[at])
            at += 1
    return at + 1


def awkward_values() -> Iterable[str]:
    """Values that a careless writer gets wrong for one reader or another."""
    return (
        "",
        " ",
        "\t",
        "ends in a backslash\\",
        "\\",
        "\\\\",
        "\\n",
        '"',
        "'",
        '"quoted"',
        "'quoted'",
        '"one side',
        "it's",
        " blanks around ",
        "a  b",
        "# no comment",
        "; no comment",
        "a # b",
        "$HOME ${HOME} $$",
        "`id`",
        "a=b=c",
        "=",
        "%n %%",
        "tab\tinside",
        "é漢🙂",
        "\ufeffmark",
        "*",
        "~",
        "{0},{1}",
        "export X=1",
        '\\"',
        'x\\"y\\$z\\`',
        "a" * 5000,
    )
