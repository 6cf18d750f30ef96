"""The sub-commands of ``placer plan``: read, call, print, choose an exit code."""

from collections.abc import Callable
from functools import partial
from itertools import takewhile
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated

import typer

from placer_cli.commands_on_demand import command_group
from placer_cli.console import error_console, print_drawing, print_dump_summary, result_console
from placer_cli.draw.palette import STRONG
from placer_cli.exits import ExitCode
from placer_cli.interrupt import ctrl_c_as_interrupted_solve, halt_on_ctrl_c, run_interruptibly
from placer_cli.options import MOST_WORKERS, format_option, number_option, seconds_option
from placer_cli.output import OutputFormat, print_json_or_yaml
from placer_cli.plan.fit import plan_fit_command
from placer_cli.plan.survive import plan_survive_command
from placer_cli.plan.sweeping import (
    LEAST_S,
    ExecutorAddress,
    Processes,
    sweep_worker_errors_as_usage_errors,
    sweep_workers_from_options,
)
from placer_cli.progress import solving_spinner
from placer_cli.report.option import ReportFile, refuse_bad_report_path, report_footer, write_report

if TYPE_CHECKING:
    from placer.plan.answer import PlanAnswer
    from placer.plan.question import PlanQuestion
    from placer.sweep.workers import SweepBackend

MOST_WORK = 10_000_000
MOST_PODS = 1_000_000

plan_app = command_group(
    "Plan capacity: what to buy, how much more fits, what a failure costs.",
    "placer plan buy instances/plan/cluster.yaml --seconds 5",
)


@plan_app.command("buy", epilog="Example: placer plan buy instances/plan/cluster.yaml --seconds 5")
def plan_buy_command(
    plan: Annotated[Path, typer.Argument(metavar="PLAN", help="A file of kind Plan; - is stdin.")],
    instance: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[INSTANCE]...",
            help="Files of an instance, or of a cluster's objects: nodes that are there, pods "
            "that run, and pods that wait, which are part of the demand.",
            show_default=False,
        ),
    ] = None,
    seconds: Annotated[float, seconds_option("Wall-clock time to the answer.", LEAST_S)] = 60.0,
    workers: Annotated[
        int | None,
        number_option("Searches at a time. [default: one for each CPU]", 1, MOST_WORKERS),
    ] = None,
    work_limit: Annotated[
        int | None,
        number_option(
            "Deterministic work of each plan in place of time; answers repeat.", 1, MOST_WORK
        ),
    ] = None,
    growth: Annotated[
        str | None,
        typer.Option(
            metavar="FROM:TO:STEP",
            help="Buy for each of many sizes of the demand: 1:3:0.1 from what is asked for to "
            "three times as much, by tenths.",
        ),
    ] = None,
    processes: Processes = None,
    executor: ExecutorAddress = None,
    each: Annotated[
        bool, typer.Option("--each", help="Buy a mix for each scenario, not one for all.")
    ] = False,
    pod: Annotated[
        list[str] | None,
        typer.Option(
            metavar="POD=COUNT",
            help="So many more pods like a pod of INSTANCE, or gangs like a gang, are part of the "
            "demand: [NAMESPACE/]NAME=COUNT; may be given several times.",
        ),
    ] = None,
    report: ReportFile = None,
    form: Annotated[OutputFormat, format_option("How the answer is printed.")] = OutputFormat.TABLE,
) -> None:
    """Buy the cheapest mix of PLAN's offers that places all of its demand.

    What is bought does for each scenario of the plan. The price has a proven lower bound, and
    every pod gets a place that the judge has looked at. Exit codes: 0 a mix is found; 1 there is
    none at any price; 2 bad input; 3 none was found in time. Ctrl-C ends the search with the best
    answer so far.
    """
    if growth is None and not each and (processes, executor) != (None, None):
        raise typer.BadParameter(
            "--processes and --executor are for many plans: give --growth or --each"
        )
    if growth is not None and each:
        raise typer.BadParameter("--growth and --each are two questions; ask one")
    if report is not None and each:
        raise typer.BadParameter("--report shows one mix: leave it or --each out")
    sweep_workers = sweep_workers_from_options(processes, executor)
    refuse_bad_report_path(report, [plan, *(instance or [])])
    with ctrl_c_as_interrupted_solve():
        questions = _questions(plan, instance or [], pod or [], each=each)
        if growth is not None:
            from placer_cli.plan.growing import solve_and_print_growth

            code = solve_and_print_growth(
                questions[0], growth, sweep_workers, seconds, workers, work_limit, form, report
            )
        else:
            answers = _buy(
                questions, seconds, workers, work_limit, form, report, sweep_workers, each=each
            )
            code = max(map(_exit, answers))
    raise typer.Exit(code)


plan_app.command(
    "fit", epilog="Example: placer plan fit instances/demo.yaml --pod cpu=4,memory=16Gi,gpu=1"
)(plan_fit_command)
plan_app.command("survive", epilog="Example: placer plan survive instances/plan/running.yaml")(
    plan_survive_command
)


def _buy(
    questions: "list[PlanQuestion]",
    seconds: float,
    workers: int | None,
    work_limit: int | None,
    form: OutputFormat,
    report: Path | None,
    sweep_workers: "SweepBackend",
    *,
    each: bool,
) -> "list[PlanAnswer]":
    """Plan and print; return the answer, or one for each scenario."""
    from placer.search.options import SolveOptions

    started_s = monotonic()
    answers: list[PlanAnswer] = []
    with (
        sweep_worker_errors_as_usage_errors(),
        halt_on_ctrl_c() as halt,
        solving_spinner(error_console()) as tell,
    ):
        from placer.plan.plan import buy as search

        threads = workers or SolveOptions().workers

        def stop() -> bool:
            return halt.called_s is not None

        if sweep_workers.remote:
            sent = partial(
                _sent, questions, seconds, workers or 1, work_limit, sweep_workers, stop, tell
            )
            answers = run_interruptibly(sent, halt)
            if not answers:
                raise KeyboardInterrupt
        for number, question in enumerate(questions if not answers else ()):
            if number and stop():
                break
            left_s = max(LEAST_S, seconds - (monotonic() - started_s))
            part_s = left_s / (len(questions) - number)
            plan_one = partial(search, question, part_s, threads, stop, tell, work_limit=work_limit)
            answers.append(run_interruptibly(plan_one, halt))
    if form is OutputFormat.TABLE:
        from placer_cli.plan.drawn import draw_purchase_plan

        console = result_console()
        for question, answer in zip(questions, answers, strict=False):
            if each:
                console.print(question.scenarios[0].name, style=STRONG)
            print_drawing(partial(draw_purchase_plan, question, answer))
            if each and question is not questions[-1]:
                console.print()
    else:
        from placer.plan.to_json import plan_answer_to_dict, plan_answers_to_dict

        tree = (
            plan_answers_to_dict(questions[: len(answers)], answers)
            if each
            else plan_answer_to_dict(questions[0], answers[0])
        )
        print_json_or_yaml(tree, form)
    if report is not None:
        from placer_cli.plan.pages import purchase_plan_page

        page = purchase_plan_page(
            questions[0], answers[0], report_footer("What to buy, as placer plan buy says it")
        )
        write_report(report, page)
    error_console().print(f"planned in {monotonic() - started_s:.2f} s", style="dim")
    return answers


def _questions(
    plan: Path, instance: list[Path], pods: list[str], *, each: bool
) -> "list[PlanQuestion]":
    """Read the question, or one for each scenario.

    Raises:
        InputError: Something is wrong with a file.
        BadParameter: An option means nothing, or scenarios have no one price.

    """
    from placer.load import load_question
    from placer.plan.question import question_per_scenario, question_with_fewest_offered_nodes

    if [plan, *instance].count(Path("-")) > 1:
        raise typer.BadParameter("standard input is named twice; name a file for one")
    more = [_more_of(text) for text in pods]
    try:
        question = load_question(plan, instance, on_summary=print_dump_summary, more=more)
    except ValueError as error:
        raise typer.BadParameter(f"--pod: {error}") from None
    if each:
        return list(question_per_scenario(question))
    try:
        question_with_fewest_offered_nodes(question)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    return [question]


def _more_of(text: str) -> tuple[str, int]:
    """Return the name and the number that an option gives.

    Raises:
        BadParameter: It does not.

    """
    name, _, count = text.rpartition("=")
    if not name or not count.isdecimal() or not 1 <= int(count) <= MOST_PODS:
        raise typer.BadParameter(
            f"--pod: got '{text}'; expected [NAMESPACE/]NAME=COUNT, such as shop/web=20"
        )
    return name, int(count)


def _sent(
    questions: "list[PlanQuestion]",
    seconds: float,
    threads: int,
    work_limit: int | None,
    workers: "SweepBackend",
    stop: Callable[[], bool],
    tell: Callable[[str], None],
) -> "list[PlanAnswer]":
    """Solve each question on other workers; return the answers up to the first that is missing."""
    from placer.plan.plan import BuyTask, solve_buy_task
    from placer.sweep.sweep import sweep_results_as_completed

    each_s = max(LEAST_S, seconds * min(workers.slots, len(questions)) / len(questions))
    tasks = [BuyTask(question, each_s, threads, work_limit=work_limit) for question in questions]
    found: dict[int, PlanAnswer] = {}
    tell(f"0 of {len(tasks)} plans are done")
    for number, answer in sweep_results_as_completed(solve_buy_task, tasks, workers, stop):
        found[number] = answer
        tell(f"{len(found)} of {len(tasks)} plans are done")
    return [found[number] for number in takewhile(found.__contains__, range(len(tasks)))]


def _exit(answer: "PlanAnswer") -> ExitCode:
    from placer.plan.answer import NoPlanExists, PurchasePlan

    if isinstance(answer, PurchasePlan):
        return ExitCode.DONE
    return ExitCode.NOT_ALL if isinstance(answer, NoPlanExists) else ExitCode.NO_ANSWER
