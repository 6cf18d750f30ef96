"""The sub-commands of ``placer slots``: read, call, print, choose an exit code."""

from pathlib import Path
from typing import Annotated

import typer

from placer_cli.commands_on_demand import command_group
from placer_cli.console import print_drawing
from placer_cli.exits import ExitCode
from placer_cli.options import format_option, output_option, seconds_option
from placer_cli.output import (
    OutputFormat,
    print_json_or_yaml,
    refuse_overwriting_inputs,
    replace_file_with_text,
)

slots_app = command_group(
    "Compile dataflow jobs into slots and memory fractions, and place the slots.",
    "placer slots compile instances/slots/word-count.yaml",
)


@slots_app.command(
    "compile", epilog="Example: placer slots compile instances/slots/word-count.yaml"
)
def slots_compile_command(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A file of kind JobGraph; - is stdin.")
    ],
    form: Annotated[OutputFormat, format_option("How the job is printed.")] = OutputFormat.TABLE,
    svg: Annotated[Path | None, output_option("Write the graph to FILE as SVG.")] = None,
) -> None:
    """Compile the job graph of FILE: chains, pipelined regions, groups, fractions, slots.

    Exit codes: 0 it is compiled; 2 bad input.
    """
    from placer.slots.file import compile_job_file

    refuse_overwriting_inputs("--svg", svg, [file])
    job = compile_job_file(file)
    if svg is not None:
        from placer_cli.slots.picture import compiled_job_svg

        replace_file_with_text(svg, compiled_job_svg(job))
    if form is OutputFormat.TABLE:
        from placer_cli.slots.drawn import draw_compiled_job

        print_drawing(lambda canvas: draw_compiled_job(job, canvas))
        return
    from placer.slots.to_json import compiled_job_graph_to_dict

    print_json_or_yaml(compiled_job_graph_to_dict(job), form)


@slots_app.command(
    "place",
    epilog="Example: placer slots place instances/slots/word-count.yaml "
    "instances/slots/workers/small.yaml",
)
def slots_place_command(
    job_file: Annotated[
        Path, typer.Argument(metavar="JOB", help="A file of kind JobGraph; - is stdin.")
    ],
    workers_file: Annotated[
        Path, typer.Argument(metavar="WORKERS", help="A file of kind Workers; - is stdin.")
    ],
    form: Annotated[
        OutputFormat, format_option("How the places are printed.")
    ] = OutputFormat.TABLE,
    time_limit: Annotated[
        float | None,
        seconds_option(
            "Wall-clock time to the answer. [default: a fixed amount of work]", 0.02, "SECONDS"
        ),
    ] = None,
) -> None:
    """Place the slots of JOB on WORKERS with as few new workers as can be.

    A pipelined region gets all of its slots or none. Exit codes: 0 all is placed;
    1 a region is not; 2 bad input.
    """
    from placer.slots.file import compile_job_file
    from placer.slots.workers.file import read_workers
    from placer.slots.workers.place import place_job_on_workers
    from placer_models.files.documents import STANDARD_INPUT, shown_file_name
    from placer_models.files.errors import InputError

    if job_file == workers_file == STANDARD_INPUT:
        raise typer.BadParameter("JOB and WORKERS are both standard input; name a file for one")
    job, pool = compile_job_file(job_file), read_workers(workers_file)
    try:
        placed = place_job_on_workers(job, pool, time_limit_s=time_limit)
    except OverflowError:
        raise InputError(
            shown_file_name(workers_file),
            None,
            "",
            "memory of all workers comes to more than 2**63 - 1 bytes; "
            "lower worker.resources or reserve",
        ) from None
    if form is OutputFormat.TABLE:
        from placer_cli.slots.placed_slots import draw_slots_on_workers

        print_drawing(lambda canvas: draw_slots_on_workers(job, pool, placed, canvas))
    else:
        from placer.slots.workers.to_json import slot_places_to_dict

        print_json_or_yaml(slot_places_to_dict(job, placed), form)
    raise typer.Exit(ExitCode.DONE if placed.all_placed else ExitCode.NOT_ALL)
