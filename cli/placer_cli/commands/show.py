"""``placer show``: a machine, a cluster or a node as a picture."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import RenderableType

from placer_cli.console import print_drawing, print_dump_summary, print_note
from placer_cli.draw.canvas import WidthAndMarks
from placer_cli.illegal import SkipIllegal, read_any_document, read_instance
from placer_cli.options import output_option
from placer_cli.output import refuse_overwriting_inputs, replace_file_with_text
from placer_cli.who_waits import Gated, Ignore, SchedulerNames, waiting_pod_filter_from_options
from placer_models.cluster import Instance, Machine
from placer_models.kubernetes.who_waits import WaitingPodFilter
from placer_models.message_text import near_or_first_names_text, spelling_suggestion
from placer_models.placement import Placement

Draw = Callable[[WidthAndMarks], RenderableType]


def show_command(
    what: Annotated[
        list[str],
        typer.Argument(
            metavar="MACHINE|FILE",
            help="A machine of the catalogue, a machine's file, the text of nvidia-smi topo -m, "
            "or the files of one instance.",
        ),
    ],
    placement: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw these placed pods too, beside the running ones."),
    ] = None,
    node: Annotated[
        str | None, typer.Option(metavar="NAME", help="Draw the inside of this node.")
    ] = None,
    svg: Annotated[Path | None, output_option("Write the picture to FILE as SVG.")] = None,
    skip_illegal: SkipIllegal = False,
    scheduler_name: SchedulerNames = None,
    gated: Gated = False,
    ignore: Ignore = None,
) -> None:
    """Draw a machine, or a cluster and its nodes with their owners."""
    refuse_overwriting_inputs("--svg", svg, [*map(Path, what), *([placement] if placement else [])])
    machine_files: list[Path] = []
    found = _load(
        what,
        machine_files.append,
        skip_illegal=skip_illegal,
        who=waiting_pod_filter_from_options(scheduler_name, gated=gated, ignore=ignore),
    )
    refuse_overwriting_inputs("--svg", svg, machine_files)
    if isinstance(found, Machine):
        _only_for_instances(placement=placement, node=node)
        title, draw = found.name, _machine(found)
    else:
        title, draw = _instance(found, placement, node)
    if svg is not None:
        from placer_cli.draw.svg import drawing_to_svg as picture

        replace_file_with_text(svg, picture(draw, title))
        print_note(f"wrote {svg}: an SVG picture of {title}")
        return
    print_drawing(draw)


def _load(
    what: Sequence[str],
    on_file: Callable[[Path], None],
    *,
    skip_illegal: bool,
    who: WaitingPodFilter,
) -> Machine | Instance:
    """Read what is to be shown; a name of the catalogue goes before a file of that name."""
    from placer_models.machines.catalogue import catalogue_machine_names, load_machine

    name, *more = what
    if not more and name in catalogue_machine_names():
        return load_machine(name)
    machines = [
        word for word in what if word in catalogue_machine_names() and not Path(word).exists()
    ]
    if machines:
        raise typer.BadParameter(
            f"'{machines[0]}' is a machine of the catalogue: "
            "show one machine at a time, or the files of one instance"
        )
    if more:
        files = [Path(name) for name in what]
        return read_instance(
            files,
            print_dump_summary,
            skip_illegal=skip_illegal,
            on_file=on_file,
            who=who,
            bears_faults=True,
        )
    if name != "-" and not Path(name).exists():
        raise typer.BadParameter(
            f"'{name}' is neither a file nor a machine of the catalogue"
            f"{spelling_suggestion(name, catalogue_machine_names())}; `placer machines` lists them"
        )
    found = read_any_document(
        Path(name),
        print_dump_summary,
        skip_illegal=skip_illegal,
        on_file=on_file,
        who=who,
        bears_faults=True,
    )
    if isinstance(found, Placement):
        raise typer.BadParameter(
            f"'{name}' is a placement: show its instance, with --placement {name}"
        )
    return found


def _only_for_instances(**options: object) -> None:
    for name, value in options.items():
        if value is not None:
            raise typer.BadParameter(f"--{name} goes with an instance, not with a machine")


def _machine(machine: Machine) -> Draw:
    from placer_cli.draw.machine import draw_machine_hardware

    return lambda canvas: draw_machine_hardware(machine, canvas)


def _instance(instance: Instance, file: Path | None, node: str | None) -> tuple[str, Draw]:
    from placer.load import load_placement
    from placer_cli.draw.cluster import draw_cluster
    from placer_cli.draw.health import drawing_with_notes, notes_on_running_pods
    from placer_cli.draw.node import draw_node
    from placer_cli.draw.residents import UnknownPodOrNodeToDrawError, drawn_pods_by_node

    try:
        placement = load_placement(file) if file else Placement()
        residents = drawn_pods_by_node(instance, placement)
    except UnknownPodOrNodeToDrawError as error:
        raise typer.BadParameter(f"{file}: {error}; it belongs to another instance") from None
    moved = {place.key for place in placement.pods}
    if node is None:
        notes = notes_on_running_pods(instance, moved)
        title = instance.name or "placer"
        return title, lambda canvas: drawing_with_notes(
            draw_cluster(instance, residents, canvas), notes
        )
    nodes = {known.name: known for known in instance.nodes}
    if node not in nodes:
        raise typer.BadParameter(
            f"--node '{node}' is no node{near_or_first_names_text(node, nodes)}"
        )
    notes = notes_on_running_pods(replace(instance, nodes=(nodes[node],)), moved)
    inside = residents.get(node, ())
    return node, lambda canvas: drawing_with_notes(draw_node(nodes[node], inside, canvas), notes)
