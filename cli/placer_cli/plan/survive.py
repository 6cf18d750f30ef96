"""``placer plan survive``: what becomes of the pods of lost nodes."""

from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated

import typer

from placer_cli.commands.solve import LONGEST_S
from placer_cli.console import err, note_summary, out
from placer_cli.exits import Exit
from placer_cli.illegal import SkipIllegal, read_instance
from placer_cli.output import Format, document, refuse_inputs
from placer_cli.plan.sweeping import ExecutorAddress, Processes, told_as_usage, workers_named
from placer_cli.report.option import ReportFile, foot_of, write_report
from placer_cli.what_if import MOST_MOVES
from placer_cli.who_waits import Gated, Ignore, SchedulerNames, who_waits
from placer_models.kubernetes.who_waits import WhoWaits

if TYPE_CHECKING:
    from placer.plan.survive import SurvivalAnswer
    from placer.sweep.workers import SweepWorkers

LEAST_S = 0.1
MOST_NODES = 100


def survive(
    instance: Annotated[
        list[Path],
        typer.Argument(
            metavar="INSTANCE",
            help="Files of one instance, or of one cluster's objects; - is standard input.",
        ),
    ],
    nodes: Annotated[
        int | None,
        typer.Option(
            min=1, max=MOST_NODES, metavar="N", help="So many nodes are lost at once. [default: 1]"
        ),
    ] = None,
    domain: Annotated[
        str | None,
        typer.Option(
            metavar="KEY",
            help="Whole domains are lost: all nodes with one value of a label, such as "
            "topology.kubernetes.io/zone, or in one domain of a level of the network.",
        ),
    ] = None,
    move_budget: Annotated[
        int,
        typer.Option(
            min=0, max=MOST_MOVES, metavar="B", help="So many pods of other nodes may move."
        ),
    ] = 0,
    offers: Annotated[
        Path | None,
        typer.Option(
            metavar="PLAN",
            help="A file of kind Plan; what of its offers mends a loss is said, with its price.",
        ),
    ] = None,
    seconds: Annotated[
        float,
        typer.Option(
            min=LEAST_S, max=LONGEST_S, metavar="S", help="Wall-clock time for all of it."
        ),
    ] = 60.0,
    processes: Processes = None,
    executor: ExecutorAddress = None,
    report: ReportFile = None,
    form: Annotated[Format, typer.Option("--format", help="How it is printed.")] = Format.TABLE,
    skip_illegal: SkipIllegal = False,
    scheduler_name: SchedulerNames = None,
    gated: Gated = False,
    ignore: Ignore = None,
) -> None:
    """Lose each node, or each domain, and see whether the pods that ran there find places.

    Other pods stay where they are; a gang with a lost member restarts whole. Losses that come to
    the same are tried once. Exit codes: 0 every pod finds a place after each loss; 1 some find
    none; 2 bad input. Ctrl-C ends with the losses that were tried.
    """
    from placer_cli.interrupt import NoAnswerError

    if nodes is not None and domain is not None:
        raise typer.BadParameter("--nodes and --domain are two questions; ask one")
    who = who_waits(scheduler_name, gated=gated, ignore=ignore)
    try:
        answer = _survive(
            instance,
            nodes or 1,
            domain or "",
            move_budget,
            offers,
            seconds,
            form,
            workers_named(processes, executor),
            report,
            skip_illegal=skip_illegal,
            who=who,
        )
    except KeyboardInterrupt:
        raise NoAnswerError from None
    raise typer.Exit(Exit.NOT_ALL if answer.failed else Exit.DONE)


def _survive(
    paths: list[Path],
    nodes: int,
    domain: str,
    move_budget: int,
    plan: Path | None,
    seconds: float,
    form: Format,
    workers: "SweepWorkers",
    report: Path | None,
    *,
    skip_illegal: bool,
    who: WhoWaits,
) -> "SurvivalAnswer":
    """Read, lose and print; return what became of it."""
    from placer.load import load_offers
    from placer_cli.interrupt import halted_by_ctrl_c
    from placer_cli.progress import progress

    refuse_inputs("--report", report, paths)
    started_s = monotonic()
    instance = read_instance(
        paths, note_summary, skip_illegal=skip_illegal, who=who, bears_faults=True
    )
    offers, currency = ((), "") if plan is None else load_offers(plan, instance)
    with told_as_usage(), halted_by_ctrl_c() as halt, progress(err()) as tell:
        from placer.plan.survive import survive as lose

        tell("losing nodes")
        try:
            answer = lose(
                instance,
                nodes=nodes,
                domain=domain,
                move_budget=move_budget,
                offers=offers,
                seconds=seconds,
                stop=lambda: halt.called_s is not None,
                tell=tell,
                workers=workers,
            )
        except ValueError as error:
            option = "--domain" if domain else "--nodes"
            raise typer.BadParameter(f"{option}: {error}") from None
    waiting = sum(len(gang.pods) for gang in instance.gangs)
    if form is Format.TABLE:
        from placer_cli.draw.canvas import canvas_of
        from placer_cli.plan.draw_survival import draw_survival

        console = out()
        console.print(draw_survival(answer, nodes, domain, currency, waiting, canvas_of(console)))
    else:
        from placer.plan.survival_json import survival_to_json

        typer.echo(document(survival_to_json(answer, move_budget, currency), form), nl=False)
    if report is not None:
        from placer_cli.plan.pages import survival_page

        write_report(
            report,
            survival_page(
                answer,
                nodes,
                domain,
                move_budget,
                currency,
                waiting,
                foot_of("What placer plan survive says"),
            ),
        )
    err().print(f"lost in {monotonic() - started_s:.2f} s", style="dim")
    return answer
