"""Documents for programs, and files that are either complete or not there."""

import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from enum import StrEnum
from errno import EISDIR, ELOOP, ENOENT
from pathlib import Path
from typing import TextIO

import typer


class OutputFormat(StrEnum):
    """How a result is written."""

    TABLE = "table"
    """For people."""

    JSON = "json"
    """For programs."""

    YAML = "yaml"
    """The same document as JSON, for programs and people."""


def output_format_of_file(file: Path, form: OutputFormat = OutputFormat.TABLE) -> OutputFormat:
    """Return the format of a document's file: what is asked for; by its suffix YAML, else JSON."""
    if form is not OutputFormat.TABLE:
        return form
    return OutputFormat.YAML if file.suffix in (".yaml", ".yml") else OutputFormat.JSON


def json_or_yaml_text(tree: object, form: OutputFormat) -> str:
    """Write a tree as JSON or YAML, with its keys in their order."""
    if form is OutputFormat.YAML:
        import yaml

        dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
        return yaml.dump(tree, Dumper=dumper, sort_keys=False, width=100)
    return json.dumps(tree, indent=2) + "\n"


def print_json_or_yaml(tree: object, form: OutputFormat) -> None:
    """Print a result as JSON or YAML."""
    typer.echo(json_or_yaml_text(tree, form), nl=False)


def parse_output_path(text: str) -> Path:
    """Return the file that an option names, for Typer's ``parser``.

    Raises:
        BadParameter: That is no file's name.

    """
    if not text:
        raise typer.BadParameter("the name of the file is empty")
    if text == "-":
        raise typer.BadParameter("'-' is no file; name one, or leave the option out to print")
    return Path(text)


def check_absolute_path(text: str | None) -> str | None:
    """Return an absolute path as it is, for Typer's ``callback``.

    Raises:
        BadParameter: It is not absolute.

    """
    if text is not None and not text.startswith("/"):
        raise typer.BadParameter(f"got '{text}'; expected an absolute path")
    return text


def refuse_overwriting_inputs(option: str, target: Path | None, inputs: Iterable[Path]) -> None:
    """Refuse to write over what was read, however the two paths are spelled.

    Raises:
        BadParameter: The target is one of the inputs.

    """
    if target is None or not target.is_file():
        return
    for file in inputs:
        if file.exists() and target.samefile(file):
            raise typer.BadParameter(
                f"{option} {target} would write over the input {file}; name another file"
            )


def refuse_unwritable(path: Path | None) -> None:
    """Find out before the work begins that a file cannot be written at its end.

    Raises:
        OSError: It cannot.

    """
    if path is None:
        return
    real = path.resolve()
    if real.is_dir():
        raise IsADirectoryError(EISDIR, os.strerror(EISDIR), str(path))
    if not real.exists() or real.is_file():
        with _named(path):
            tempfile.TemporaryFile(dir=real.parent).close()


@contextmanager
def open_replacement_file(path: Path) -> Iterator[TextIO]:
    """Open a file that takes the place of ``path`` at the end, if all went well.

    It is opened at once, so that a place that cannot be written to is known before the
    work begins. Readers see the old content or all of the new. What is no regular file,
    such as a pipe, is written to directly.

    Raises:
        OSError: Nothing can be written there.

    """
    real = path.resolve()
    if real.exists() and not real.is_file() and not real.is_dir():
        with _named(path):
            stream = real.open("w", encoding="utf-8")
        with stream:
            yield stream
        return
    if real.is_dir():
        raise IsADirectoryError(EISDIR, os.strerror(EISDIR), str(path))
    # Beside the file itself: only inside one file system is a rename atomic.
    with _named(path):
        number, name = tempfile.mkstemp(prefix=f".{real.name}.", dir=real.parent)
    os.close(number)
    temporary = Path(name)
    try:
        with temporary.open("w", encoding="utf-8") as stream:
            yield stream
            with _named(path):
                stream.flush()
        with _named(path):
            temporary.chmod(_mode(real))
            temporary.replace(real)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def replace_file_with_text(path: Path, text: str) -> None:
    """Let a file say a text, as `open_replacement_file` does."""
    with open_replacement_file(path) as stream:
        stream.write(text)


def write_files_below_folder(folder: Path, texts: Mapping[str, str]) -> None:
    """Write files below a folder, each whole or not at all; folders are made as needed.

    Neither the folder nor anything below it may be a symbolic link: who may write there could
    let what is written replace a file anywhere. What is above the folder is its user's word.

    Args:
        folder: The folder.
        texts: Path below the folder, with ``/`` -> what the file is to say.

    Raises:
        OSError: Nothing can be written there, or a link is in the way.

    """
    for path in texts:
        for part in reversed([folder / path, *(folder / path).parents]):
            if part.is_relative_to(folder) and part.is_symlink():
                raise _link(part)
    folder.mkdir(parents=True, exist_ok=True)
    for path, text in texts.items():
        with _folder_below(folder, path.split("/")[:-1]) as place, _named(folder / path):
            _write_in(place, path.rpartition("/")[2], text)


def _link(path: Path) -> OSError:
    message = (
        "is a symbolic link, which may lead anywhere; name the folder itself, or remove the link"
    )
    return OSError(ELOOP, message, str(path))


@contextmanager
def _folder_below(folder: Path, parts: Iterable[str]) -> Iterator[int]:
    """Open a folder below another, made as needed, also safe against links put there meanwhile."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    path = folder
    with _named(path):
        place = os.open(path, flags)
    try:
        for part in parts:
            path = path / part
            with _named(path):
                with suppress(FileExistsError):
                    os.mkdir(part, dir_fd=place)
                below = os.open(part, flags, dir_fd=place)
            os.close(place)
            place = below
        yield place
    finally:
        os.close(place)


def _write_in(place: int, name: str, text: str) -> None:
    """Let a file of an open folder say a text, with the permissions that it has."""
    temporary = f".{name}.{os.getpid()}.new"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    file = os.open(temporary, flags, 0o666, dir_fd=place)
    try:
        with os.fdopen(file, "w", encoding="utf-8") as stream:
            with suppress(FileNotFoundError):
                before = os.stat(name, dir_fd=place, follow_symlinks=False)
                os.fchmod(stream.fileno(), before.st_mode & 0o777)
            stream.write(text)
        os.rename(temporary, name, src_dir_fd=place, dst_dir_fd=place)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=place)
        raise


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Let an error name the file that the user knows, not the temporary one."""
    try:
        yield
    except OSError as error:
        reason = "no such folder" if error.errno == ENOENT else error.strerror
        raise OSError(error.errno, reason, str(path)) from None


def _mode(path: Path) -> int:
    """Return the permissions that the file has, or would have had if created plainly."""
    if path.exists():
        return path.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
