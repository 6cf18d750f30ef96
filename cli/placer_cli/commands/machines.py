"""``placer machines``: the machine catalogue."""

from typing import Annotated

from placer_cli.console import print_drawing
from placer_cli.options import format_option
from placer_cli.output import OutputFormat, print_json_or_yaml


def machines_command(
    form: Annotated[OutputFormat, format_option("How the list is printed.")] = OutputFormat.TABLE,
) -> None:
    """List the machines that an instance may name."""
    from placer_cli.draw.catalogue import catalogue_row_to_dict, draw_machine_catalogue
    from placer_models.machines.catalogue import catalogue_machine_names, load_machine

    known = [load_machine(name) for name in catalogue_machine_names()]
    if form is not OutputFormat.TABLE:
        print_json_or_yaml([catalogue_row_to_dict(machine) for machine in known], form)
        return

    print_drawing(lambda canvas: draw_machine_catalogue(known, canvas))
