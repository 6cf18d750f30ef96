"""``placer machines``: the machine catalogue."""

from typing import Annotated

import typer

from placer_cli.console import result_console
from placer_cli.output import Format, json_or_yaml_text


def machines(
    form: Annotated[Format, typer.Option("--format", help="How the list is printed.")] = (
        Format.TABLE
    ),
) -> None:
    """List the machines that an instance may name."""
    from placer_cli.draw.catalogue import draw_machine_catalogue, machine_facts
    from placer_models.machines.catalogue import catalogue_machine_names, load_machine

    known = [load_machine(name) for name in catalogue_machine_names()]
    if form is not Format.TABLE:
        typer.echo(json_or_yaml_text([machine_facts(machine) for machine in known], form), nl=False)
        return
    from placer_cli.draw.canvas import canvas_of

    console = result_console()
    console.print(draw_machine_catalogue(known, canvas_of(console)))
