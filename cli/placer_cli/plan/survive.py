"""``placer plan survive``: what becomes of the pods of lost nodes."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from placer_cli.console import print_drawing
from placer_cli.exits import ExitCode
from placer_cli.illegal import SkipIllegal
from placer_cli.interrupt import ctrl_c_as_interrupted_solve
from placer_cli.options import InstanceFiles, number_option, seconds_option
from placer_cli.output import OutputFormat, print_json_or_yaml
from placer_cli.plan.cluster_question import AnswerFormat, PlanClusterQuestionOptions
from placer_cli.plan.sweeping import LEAST_S, ExecutorAddress, Processes, sweep_workers_from_options
from placer_cli.report.option import ReportFile, report_footer, write_report
from placer_cli.what_if import MOST_MOVES
from placer_cli.who_waits import Gated, Ignore, SchedulerNames, waiting_pod_filter_from_options

if TYPE_CHECKING:
    from placer.plan.survive import SurvivalAnswer
    from placer.sweep.workers import SweepBackend

MOST_NODES = 100


def plan_survive_command(
    instance: InstanceFiles,
    nodes: Annotated[
        int | None,
        number_option("So many nodes are lost at once. [default: 1]", 1, MOST_NODES),
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
        int, number_option("So many pods of other nodes may move.", 0, MOST_MOVES, metavar="B")
    ] = 0,
    offers: Annotated[
        Path | None,
        typer.Option(
            metavar="PLAN",
            help="A file of kind Plan; what of its offers mends a loss is said, with its price.",
        ),
    ] = None,
    seconds: Annotated[float, seconds_option("Wall-clock time for all of it.", LEAST_S)] = 60.0,
    processes: Processes = None,
    executor: ExecutorAddress = None,
    report: ReportFile = None,
    form: AnswerFormat = OutputFormat.TABLE,
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
    if nodes is not None and domain is not None:
        raise typer.BadParameter("--nodes and --domain are two questions; ask one")
    who = waiting_pod_filter_from_options(scheduler_name, gated=gated, ignore=ignore)
    question = PlanClusterQuestionOptions(instance, form, report, who, skip_illegal)
    workers = sweep_workers_from_options(processes, executor)
    with ctrl_c_as_interrupted_solve():
        answer = _survive(question, nodes or 1, domain or "", move_budget, offers, seconds, workers)
    raise typer.Exit(ExitCode.NOT_ALL if answer.failed else ExitCode.DONE)


def _survive(
    question: PlanClusterQuestionOptions,
    nodes: int,
    domain: str,
    move_budget: int,
    plan: Path | None,
    seconds: float,
    workers: "SweepBackend",
) -> "SurvivalAnswer":
    """Read, lose and print; return what became of it."""
    from placer.load import load_offers

    instance = question.read()
    offers, currency = ((), "") if plan is None else load_offers(plan, instance)
    with question.asking("losing nodes") as (tell, stop):
        from placer.plan.survive import survive as lose

        try:
            answer = lose(
                instance,
                nodes=nodes,
                domain=domain,
                move_budget=move_budget,
                offers=offers,
                seconds=seconds,
                stop=stop,
                tell=tell,
                workers=workers,
            )
        except ValueError as error:
            option = "--domain" if domain else "--nodes"
            raise typer.BadParameter(f"{option}: {error}") from None
    waiting = sum(len(gang.pods) for gang in instance.gangs)

    if question.form is OutputFormat.TABLE:
        from placer_cli.plan.draw_survival import draw_survival

        print_drawing(partial(draw_survival, answer, nodes, domain, currency, waiting))
    else:
        from placer.plan.to_json import survival_answer_to_dict

        print_json_or_yaml(survival_answer_to_dict(answer, move_budget, currency), question.form)
    if question.report is not None:
        from placer_cli.plan.pages import survival_page

        foot = report_footer("What placer plan survive says")
        page = survival_page(answer, nodes, domain, move_budget, currency, waiting, foot)
        write_report(question.report, page)
    question.print_time("tried")
    return answer
