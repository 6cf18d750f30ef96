"""The sub-commands of ``placer queue``: read, call, print, choose an exit code."""

from pathlib import Path
from typing import Annotated

import typer

from placer.queue.model import FlowChargeTime
from placer_cli.commands_on_demand import command_group
from placer_cli.console import print_drawing
from placer_cli.exits import ExitCode
from placer_cli.options import LARGEST_SEED, format_option, number_option, output_option
from placer_cli.output import (
    OutputFormat,
    print_json_or_yaml,
    refuse_overwriting_inputs,
    replace_file_with_text,
)

queue_app = command_group(
    "Simulate the fair queue, and advise thread counts.",
    "placer queue simulate instances/queues/fig-3-04.yaml",
)


@queue_app.command(
    "simulate", epilog="Example: placer queue simulate instances/queues/fig-3-10.yaml"
)
def queue_simulate_command(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A file of kind QueueSimulation; - is stdin.")
    ],
    charge: Annotated[
        FlowChargeTime | None,
        typer.Option(
            help="When flows pay, in place of what FILE says; running is the literal rule."
        ),
    ] = None,
    seed: Annotated[
        int | None, number_option("Seed of drawn lengths, in place of FILE's.", 0, LARGEST_SEED)
    ] = None,
    decisions: Annotated[int, number_option("Explain the first N real choices.", 0)] = 5,
    rows: Annotated[int, number_option("Draw so many threads of capacity at most.", 0)] = 24,
    form: Annotated[OutputFormat, format_option("How the result is printed.")] = OutputFormat.TABLE,
    svg: Annotated[Path | None, output_option("Write the pictures to FILE as SVG.")] = None,
) -> None:
    """Run the jobs of FILE on its threads of capacity, and draw what happens.

    Exit codes: 0 all threads of work ran; 1 some found no room; 2 bad input.
    """
    from dataclasses import replace

    from placer.queue.file.simulation_file import read_queue_scenario
    from placer.queue.simulation.engine import simulate_fair_queue as run

    refuse_overwriting_inputs("--svg", svg, [file])
    scenario = read_queue_scenario(file, seed=seed)
    result = run(scenario if charge is None else replace(scenario, charge=charge))
    if svg is not None:
        from placer_cli.queue.svg import simulation_svg

        replace_file_with_text(svg, simulation_svg(result))
    if form is OutputFormat.TABLE:
        from placer_cli.queue.simulated import draw_simulation

        print_drawing(lambda canvas: draw_simulation(result, canvas, rows, decisions))
    else:
        from placer_cli.queue.trees import queue_simulation_to_dict

        print_json_or_yaml(queue_simulation_to_dict(result), form)
    raise typer.Exit(ExitCode.NOT_ALL if result.never_ran else ExitCode.DONE)


@queue_app.command("advise", epilog="Example: placer queue advise instances/queues/history.yaml")
def queue_advise_command(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A file of kind QueueHistory; - is stdin.")
    ],
    form: Annotated[OutputFormat, format_option("How the advice is printed.")] = OutputFormat.TABLE,
) -> None:
    """Say how many threads of work each job of FILE should have, and why."""
    from placer.queue.file.history_file import read_thread_length_history

    history = read_thread_length_history(file)
    if form is OutputFormat.TABLE:
        from placer_cli.queue.advised import draw_thread_count_advice

        print_drawing(lambda canvas: draw_thread_count_advice(history, canvas))
    else:
        from placer_cli.queue.trees import thread_count_advice_to_dict

        print_json_or_yaml(thread_count_advice_to_dict(history), form)
