"""``placer examples``: the instances that come with Placer, listed and copied."""

from pathlib import Path
from typing import Annotated

import typer

from placer_cli.console import print_note, result_console
from placer_cli.output import Format, json_or_yaml_text


def examples(
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
    form: Annotated[Format, typer.Option("--format", help="How the list is printed.")] = (
        Format.TABLE
    ),
) -> None:
    """List the examples, or copy some into a folder instances, as the pages name them."""
    from placer_cli.examples import FOLDER, copy_examples, every_example, examples_named

    if names and every:
        raise typer.BadParameter("--all copies every example; name some, or give --all")
    known = every_example()
    if names or every:
        written = copy_examples(examples_named(names, known) if names else known, to, force=force)
        for file in written[: 0 if every else None]:
            print_note(f"wrote {file}")
        if every:
            print_note(f"wrote {len(written)} files below {to / FOLDER}")
        return
    if form is not Format.TABLE:
        tree = [{"name": one.name, "file": one.path, "shows": one.shows} for one in known]
        typer.echo(json_or_yaml_text(tree, form), nl=False)
        return
    from placer_cli.draw.canvas import canvas_of
    from placer_cli.draw.examples import draw_examples

    console = result_console()
    console.print(draw_examples(known, canvas_of(console)))
