"""``placer bench``: replays of public traces, told in figures."""

from typing import TYPE_CHECKING, Annotated

import typer

from placer_cli.commands_on_demand import command_group
from placer_cli.console import error_console, print_drawing
from placer_cli.openb.files import NodesFile, PodsFile, SequenceFile
from placer_cli.options import format_option, number_option
from placer_cli.output import OutputFormat, print_json_or_yaml

if TYPE_CHECKING:
    from placer.openb.replay import ReplayResult

MOST_BATCH = 1_000_000

bench_app = command_group(
    "Replay public traces, and measure how well and how fast Placer packs.",
    "placer bench openb --nodes nodes.csv --pods pods.csv "
    "--sequence pods.npz --seed 42 --strategy fgd",
)


def _policies(incomplete: str) -> list[str]:
    from placer.openb.policies import POLICIES

    return [name for name in POLICIES if name.startswith(incomplete)]


def _policy(name: str) -> str:
    from placer.openb.policies import POLICIES
    from placer_models.message_text import in_quotes, spelling_suggestion

    if name not in POLICIES:
        raise typer.BadParameter(
            f"{in_quotes(name)} is not one of "
            f"{', '.join(POLICIES)}{spelling_suggestion(name, POLICIES)}"
        )
    return name


@bench_app.command(
    "openb",
    epilog="Example: placer bench openb --nodes nodes.csv --pods pods.csv "
    "--sequence pods.npz --seed 42 --strategy fgd",
)
def bench_openb_command(
    nodes: NodesFile,
    pods: PodsFile,
    sequence: SequenceFile,
    seed: Annotated[int, typer.Option(metavar="N", help="Which orders of SEQUENCE are taken.")],
    strategy: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            callback=_policy,
            autocompletion=_policies,
            help="A node strategy (expected learns from arrivals, expected-given knows the list), "
            "or best-fit, dot-product or fgd.",
        ),
    ] = "usable",
    batch: Annotated[int, number_option("How many pods arrive together.", 1, MOST_BATCH)] = 1,
    depart: Annotated[
        int | None,
        number_option(
            "Pods leave in order of arrival, so that all that are there have asked for so "
            "much of all GPUs; five times the length of the list arrives.",
            1,
            1000,
            metavar="PERCENT",
            show_default=False,
        ),
    ] = None,
    form: Annotated[
        OutputFormat, format_option("How the figures are printed.")
    ] = OutputFormat.TABLE,
) -> None:
    """Replay a list of pods of the openb trace (Alibaba, 2023) through a Scheduler.

    Pods arrive one by one in the order of a seed, and whoever finds no place is gone: the protocol
    of FGD's evaluation (USENIX ATC '23). Every placement passes the judge. Exit codes: 0 it is
    replayed; 2 bad input.
    """
    from placer.openb.trace import read_trace
    from placer_models.files.errors import InputError

    trace = read_trace(nodes, pods, sequence, seed)
    if not trace.capacity_milli:
        message = "none of the nodes has GPUs; how many of them are allocated is what is told"
        raise InputError(str(nodes), None, "", message)
    from placer.openb.replay import ROUNDS, replay_with_departures, replay_without_departures
    from placer_cli.progress import counting_progress_bar

    most = len(trace.arrivals.pods) if depart is None else ROUNDS * len(trace.pods)
    with counting_progress_bar(error_console(), "pods", most) as tell:
        if depart is None:
            found = replay_without_departures(trace, strategy, batch, tell)
        else:
            found = replay_with_departures(trace, strategy, batch, depart, tell)
    if form is OutputFormat.TABLE:
        from placer_cli.openb.drawn import draw_openb_replay

        print_drawing(lambda canvas: draw_openb_replay(found, strategy, canvas))
        return
    print_json_or_yaml(openb_replay_to_dict(found), form)


def openb_replay_to_dict(found: "ReplayResult") -> dict[str, object]:
    """Return the figures as a document: percent, pods, and milliseconds of a call."""
    figures: dict[str, object] = {
        "allocation": {str(mark): round(value, 4) for mark, value in found.allocation.items()},
        "pods": found.pods,
        "rejected": found.rejected,
        "podsPerSecond": round(found.pods_per_second, 1),
        "p50Ms": round(found.call_ms(50), 3),
        "p99Ms": round(found.call_ms(99), 3),
    }
    if found.over_time:
        figures["overTime"] = [
            {"arrived": sample.arrived, "allocation": round(sample.allocated, 4)}
            for sample in found.over_time
        ]
    return figures
