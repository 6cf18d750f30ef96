"""Files that hold something other than documents, told by how they begin, with the mend."""

import re

from placer_models.message_text import in_quotes

KUBECTL_ERRORS = (
    "Error from server",
    "error: ",
    "Unable to connect to the server",
    "The connection to the server",
)
"""How a line begins with which kubectl says that it failed."""

_COMPRESSED = {
    b"\x1f\x8b": ("gzip", "gzip -dc"),
    b"BZh": ("bzip2", "bzip2 -dc"),
    b"\xfd7zXZ\0": ("xz", "xz -dc"),
    b"\x28\xb5\x2f\xfd": ("zstd", "zstd -dc"),
}
_UTF32_MARKS = (b"\xff\xfe\0\0", b"\0\0\xfe\xff")
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_SEEN = 64
"""So many characters tell text from what is none."""

_TABLE = re.compile(r"(?:NAME|NAMESPACE) {2,}[A-Z][A-Z0-9()/ -]*\s*")


def non_text_file_advice(head: bytes) -> str:
    """Return what a file is that begins with these bytes, with the mend; empty for text."""
    for magic, (name, command) in _COMPRESSED.items():
        if head.startswith(magic):
            return f"is compressed by {name}; unpack it first: {command} FILE"
    if head.startswith(b"PK\x03\x04"):
        return "is a zip archive; unpack it first: unzip -p FILE"
    wide = head.startswith(_UTF32_MARKS) or b"\0\0" in head[:4].rstrip(b"\n")
    if head.startswith((*_UTF32_MARKS, *_UTF16_MARKS)) or _is_wide_text(head):
        width = 32 if wide else 16
        hint = "" if wide else " (`>` of Windows PowerShell writes UTF-16)"
        return f"is UTF-16 or UTF-32; save it as UTF-8: iconv -f UTF-{width} -t UTF-8 FILE{hint}"
    return ""


def _is_wide_text(head: bytes) -> bool:
    """Return whether bytes without a mark are text all the same, in units of 2 or 4 bytes."""
    if b"\0" not in head[:2] or not head.strip(b"\0"):
        return False
    narrow = head.replace(b"\0", b"")
    return all(byte in b"\t\r\n" or byte >= 32 for byte in narrow[:_SEEN])


def non_yaml_text_advice(text: str) -> str:
    """Return what a text is that is no YAML of ours, by its first line; empty if it may be some."""
    line = text[:1000].lstrip().partition("\n")[0].rstrip("\r")
    if line.startswith(KUBECTL_ERRORS):
        return f"is {kubectl_error_advice(line)}"
    if _TABLE.fullmatch(line):
        return (
            "is a table, which tells people only a part; "
            "get the objects: kubectl get nodes,pods -A -o yaml"
        )
    return ""


def kubectl_error_advice(line: str) -> str:
    """Return what to do about a line with which kubectl says that it failed."""
    told = in_quotes(line)[1:-1]
    return (
        f"what kubectl says when it fails ({told}); get the objects again, without 2>&1, and if "
        "the cluster lacks a kind, leave that kind out"
    )
