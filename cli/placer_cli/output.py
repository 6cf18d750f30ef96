"""Documents for programs, and files that are either complete or not there."""

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from errno import EISDIR
from pathlib import Path
from typing import TextIO


class Format(StrEnum):
    """How a result is written."""

    TABLE = "table"
    """For people."""

    JSON = "json"
    """For programs."""

    YAML = "yaml"
    """The same document as JSON, for programs and people."""


def format_of(file: Path) -> Format:
    """Return the format of a document's file by its suffix: YAML, else JSON."""
    return Format.YAML if file.suffix in (".yaml", ".yml") else Format.JSON


def document(tree: object, form: Format) -> str:
    """Write a tree as JSON or YAML, with its keys in their order."""
    if form is Format.YAML:
        import yaml

        dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
        return yaml.dump(tree, Dumper=dumper, sort_keys=False, width=100)
    return json.dumps(tree, indent=2) + "\n"


@contextmanager
def replacing(path: Path) -> Iterator[TextIO]:
    """Open a file that takes the place of ``path`` at the end, if all went well.

    It is opened at once, so that a place that cannot be written to is known before the
    work begins. Readers see the old content or all of the new. What is no regular file,
    such as a pipe, is written to directly.

    Raises:
        OSError: Nothing can be written there.

    """
    real = path.resolve()
    if real.exists() and not real.is_file() and not real.is_dir():
        with real.open("w", encoding="utf-8") as stream:
            yield stream
        return
    if real.is_dir():
        raise IsADirectoryError(EISDIR, os.strerror(EISDIR), str(path))
    # Beside the file itself: only inside one file system is a rename atomic.
    number, name = tempfile.mkstemp(prefix=f".{real.name}.", dir=real.parent)
    os.close(number)
    temporary = Path(name)
    try:
        with temporary.open("w", encoding="utf-8") as stream:
            yield stream
        temporary.chmod(_mode(real))
        temporary.replace(real)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _mode(path: Path) -> int:
    """Return the permissions that the file has, or would have had if created plainly."""
    if path.exists():
        return path.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
