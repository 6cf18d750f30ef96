"""``placer examples``: the instances that come with Placer, listed and copied."""

from pathlib import Path
from typing import Annotated

import typer

from placer_cli.console import print_drawing, print_note
from placer_cli.options import format_option
from placer_cli.output import OutputFormat, print_json_or_yaml


def examples_command(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME", help="Examples to copy; without any, all are listed."),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Copy all of them.")] = False,
    to: Annotated[
        Path, typer.Option("--to", metavar="FOLDER", help="Where the folder instances is made.")
    ] = Path(),
    force: Annotated[
        bool, typer.Option("--force", help="Write over files that say something else.")
    ] = False,
    form: Annotated[OutputFormat, format_option("How the list is printed.")] = OutputFormat.TABLE,
) -> None:
    """List the examples, or copy some into a folder instances, as the pages name them."""
    from placer_cli.examples import (
        FOLDER,
        bundled_examples_named,
        copy_bundled_examples,
        every_bundled_example,
    )

    if names and every:
        raise typer.BadParameter("--all copies every example; name some, or give --all")
    known = every_bundled_example()
    if names or every:
        written = copy_bundled_examples(
            bundled_examples_named(names, known) if names else known, to, force=force
        )
        for file in written[: 0 if every else None]:
            print_note(f"wrote {file}")
        if every:
            print_note(f"wrote {len(written)} files below {to / FOLDER}")
        return
    if form is not OutputFormat.TABLE:
        tree = [{"name": one.name, "file": one.path, "shows": one.shows} for one in known]
        print_json_or_yaml(tree, form)
        return
    from placer_cli.draw.examples import draw_bundled_examples

    print_drawing(lambda canvas: draw_bundled_examples(known, canvas))
