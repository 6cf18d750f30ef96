"""The sub-commands of ``placer queue``: read, call, print, choose an exit code."""

from pathlib import Path
from typing import Annotated

import typer

from placer.queue.model import ChargeTime
from placer_cli.console import result_console
from placer_cli.exits import Exit
from placer_cli.output import (
    Format,
    json_or_yaml_text,
    output_file,
    refuse_overwriting_inputs,
    replacing_file,
)

queue_app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Simulate the fair queue, and advise thread counts.",
    epilog="Example: placer queue simulate instances/queues/fig-3-04.yaml",
)


@queue_app.command(epilog="Example: placer queue simulate instances/queues/fig-3-10.yaml")
def simulate(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A file of kind QueueSimulation; - is stdin.")
    ],
    charge: Annotated[
        ChargeTime | None,
        typer.Option(
            help="When flows pay, in place of what FILE says; running is the literal rule."
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            min=0, max=2**31 - 1, metavar="N", help="Seed of drawn lengths, in place of FILE's."
        ),
    ] = None,
    decisions: Annotated[
        int, typer.Option(min=0, metavar="N", help="Explain the first N real choices.")
    ] = 5,
    rows: Annotated[
        int, typer.Option(min=0, metavar="N", help="Draw so many threads of capacity at most.")
    ] = 24,
    form: Annotated[Format, typer.Option("--format", help="How the result is printed.")] = (
        Format.TABLE
    ),
    svg: Annotated[
        Path | None,
        typer.Option(parser=output_file, metavar="FILE", help="Write the pictures to FILE as SVG."),
    ] = None,
) -> None:
    """Run the jobs of FILE on its threads of capacity, and draw what happens.

    Exit codes: 0 all threads of work ran; 1 some found no room; 2 bad input.
    """
    from dataclasses import replace

    from placer.queue.file.simulation_file import read_simulation
    from placer.queue.simulation.engine import simulate as run

    refuse_overwriting_inputs("--svg", svg, [file])
    scenario = read_simulation(file, seed=seed)
    result = run(scenario if charge is None else replace(scenario, charge=charge))
    if svg is not None:
        from placer_cli.queue.svg import simulation_svg

        with replacing_file(svg) as stream:
            stream.write(simulation_svg(result))
    if form is Format.TABLE:
        from placer_cli.draw.canvas import canvas_of
        from placer_cli.queue.simulated import draw_simulated

        console = result_console()
        console.print(draw_simulated(result, canvas_of(console), rows, decisions))
    else:
        from placer_cli.queue.trees import simulation_to_json

        typer.echo(json_or_yaml_text(simulation_to_json(result), form), nl=False)
    raise typer.Exit(Exit.NOT_ALL if result.never_ran else Exit.DONE)


@queue_app.command(epilog="Example: placer queue advise instances/queues/history.yaml")
def advise(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A file of kind QueueHistory; - is stdin.")
    ],
    form: Annotated[Format, typer.Option("--format", help="How the advice is printed.")] = (
        Format.TABLE
    ),
) -> None:
    """Say how many threads of work each job of FILE should have, and why."""
    from placer.queue.file.history_file import read_thread_history

    history = read_thread_history(file)
    if form is Format.TABLE:
        from placer_cli.draw.canvas import canvas_of
        from placer_cli.queue.advised import draw_thread_advice

        console = result_console()
        console.print(draw_thread_advice(history, canvas_of(console)))
    else:
        from placer_cli.queue.trees import advice_to_json

        typer.echo(json_or_yaml_text(advice_to_json(history), form), nl=False)
