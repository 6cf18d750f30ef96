"""The sub-commands of ``placer slots``: read, call, print, choose an exit code."""

from pathlib import Path
from typing import Annotated

import typer

from placer_cli.console import out
from placer_cli.output import Format, document, replacing

slots_app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Compile dataflow jobs into slots and memory fractions.",
    epilog="Example: placer slots compile instances/slots/word-count.yaml",
)


@slots_app.callback()
def _slots() -> None:
    """Compile dataflow jobs into slots and memory fractions."""


@slots_app.command(
    "compile", epilog="Example: placer slots compile instances/slots/word-count.yaml"
)
def compile_(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A file of kind JobGraph; - is stdin.")
    ],
    form: Annotated[Format, typer.Option("--format", help="How the job is printed.")] = (
        Format.TABLE
    ),
    svg: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the graph to FILE as SVG.")
    ] = None,
) -> None:
    """Compile the job graph of FILE: chains, pipelined regions, groups, fractions, slots.

    Exit codes: 0 it is compiled; 2 bad input.
    """
    from placer.slots.file import compile_file

    job = compile_file(file)
    if svg is not None:
        from placer_cli.slots.picture import job_svg

        with replacing(svg) as stream:
            stream.write(job_svg(job))
    if form is Format.TABLE:
        from placer_cli.draw.canvas import canvas_of
        from placer_cli.slots.drawn import draw_job

        console = out()
        console.print(draw_job(job, canvas_of(console)))
        return
    from placer.slots.to_json import job_to_json

    typer.echo(document(job_to_json(job), form), nl=False)
