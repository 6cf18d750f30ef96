"""Environment variables of containers: what a name and a value may be.

A placement's variables are written in the words of several readers: environment files, an OCI
config.json, a CDI spec. What one of them would read as something else is refused at the door.
"""

import re

Env = tuple[tuple[str, str], ...]
"""(Variable, value), ascending by variable."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,254}")
"""Names that every reader keeps; systemd drops any other, docker refuses blanks in them."""

_NOT_IN_A_LINE = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")
"""What ends a line or a string for some reader, and what YAML has no letter for; not a tab."""

MAX_VALUE_BYTES = 32 << 10
"""Longest value: readers of files go line by line, and some end a line at 64 KiB."""


def variable_name_fault(name: str) -> str | None:
    """Return what is wrong with the name of a variable, or None if it is right."""
    if _NAME.fullmatch(name):
        return None
    return (
        "this is no name of an environment variable; expected letters of A to Z, digits and _, "
        "a digit not first, such as NCCL_IB_HCA"
    )


def environment_value_fault(value: str) -> str | None:
    """Return what is wrong with the value of a variable, or None if it is right."""
    if found := _NOT_IN_A_LINE.search(value):
        return (
            f"the value has {found[0]!r} in it; that of an environment variable is one line of text"
        )
    if (size := len(value.encode())) > MAX_VALUE_BYTES:
        return (
            f"the value has {size} bytes; one of an environment variable may have {MAX_VALUE_BYTES}"
        )
    return None
