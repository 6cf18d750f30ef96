"""The instances that come with Placer: what each shows, and copies of them."""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import typer

from placer_cli.output import write_files_below_folder
from placer_models.message_text import spelling_suggestion

FOLDER = "instances"
"""Where copies are made, so that the commands of the pages run as they stand there."""


@dataclass(frozen=True, slots=True)
class BundledExample:
    """A file that comes with Placer.

    Attributes:
        name: Its path in the folder of instances, without the suffix of a YAML file.
        path: Its path there, with ``/``.
        shows: The first sentence of what it says of itself.
        text: All of it.

    """

    name: str
    path: str
    shows: str
    text: str


def every_bundled_example() -> list[BundledExample]:
    """Return all examples, those of the folder itself before those of its folders."""
    home = _home()
    paths = sorted(
        (file.relative_to(home) for file in home.rglob("*") if file.suffix in (".xml", ".yaml")),
        key=lambda path: (len(path.parts), path),
    )
    return [_example(path.as_posix(), (home / path).read_text("utf-8")) for path in paths]


def bundled_examples_named(
    names: Iterable[str], known: Sequence[BundledExample]
) -> list[BundledExample]:
    """Return the examples of these names.

    Raises:
        BadParameter: There is no example of a name; the message has the nearest one.

    """
    by_name = {name: one for one in known for name in (one.name, one.path, f"{FOLDER}/{one.path}")}
    found = {}
    for name in names:
        if name not in by_name:
            near = spelling_suggestion(name, [one.name for one in known])
            raise typer.BadParameter(
                f"there is no example '{name}'{near or '; placer examples lists all'}"
            )
        found[by_name[name].name] = by_name[name]
    return list(found.values())


def copy_bundled_examples(
    examples: Collection[BundledExample], folder: Path, *, force: bool
) -> list[Path]:
    """Write examples below a folder, in `FOLDER`; return the files.

    Raises:
        BadParameter: A file that says something else is there, and `force` is not given;
            nothing is written.
        OSError: Nothing can be written there.

    """
    target = folder / FOLDER
    in_the_way = [
        target / one.path
        for one in examples
        if (target / one.path).is_file() and (target / one.path).read_bytes() != one.text.encode()
    ]
    if in_the_way and not force:
        others = f" and {len(in_the_way) - 1} more" if len(in_the_way) > 1 else ""
        raise typer.BadParameter(
            f"{in_the_way[0]}{others} is there and says something else; "
            "name another folder (--to), or write over it (--force)"
        )
    write_files_below_folder(target, {one.path: one.text for one in examples})
    return [target / one.path for one in examples]


def _home() -> Path:
    """Return the folder of instances: the wheel has it inside this package."""
    packed = Path(__file__).parent / FOLDER
    return packed if packed.is_dir() else Path(__file__).parents[2] / FOLDER


def _example(path: str, text: str) -> BundledExample:
    return BundledExample(path.removesuffix(".yaml"), path, _first_sentence(text), text)


def _first_sentence(text: str) -> str:
    """Return the first sentence of the comment that a file begins with, without its full stop."""
    comment = re.match(r"(?:#[^\n]*\n)+", text)
    if comment is None:
        return ""
    words = " ".join(line.lstrip("#").strip() for line in comment.group().splitlines())
    return re.split(r"(?<=[^.])\.(?:\s|$)", words.strip(), maxsplit=1)[0]
