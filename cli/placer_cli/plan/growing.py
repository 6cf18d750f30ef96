"""``placer plan buy --growth``: a plan at many sizes of its demand."""

from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

import typer

from placer_cli.console import error_console, print_drawing
from placer_cli.exits import ExitCode
from placer_cli.output import OutputFormat, print_json_or_yaml
from placer_cli.plan.sweeping import sweep_worker_errors_as_usage_errors

if TYPE_CHECKING:
    from placer.plan.growth import GrowthCurve
    from placer.plan.question import PlanQuestion
    from placer.sweep.workers import SweepBackend


def solve_and_print_growth(
    question: "PlanQuestion",
    growth: str,
    workers: "SweepBackend",
    seconds: float,
    threads: int | None,
    work_limit: int | None,
    form: OutputFormat,
    report: Path | None = None,
) -> ExitCode:
    """Solve the steps, print them, and return the exit code."""
    from placer.plan.growth import parse_scales, solve_plan_at_scales
    from placer.search.options import SolveOptions
    from placer_cli.interrupt import halt_on_ctrl_c, run_interruptibly
    from placer_cli.progress import solving_spinner

    try:
        scales = parse_scales(growth)
    except ValueError as error:
        raise typer.BadParameter(f"--growth: {error}") from None
    started_s = monotonic()
    with (
        sweep_worker_errors_as_usage_errors(),
        halt_on_ctrl_c() as halt,
        solving_spinner(error_console()) as tell,
    ):
        threads = threads or (1 if workers.remote else SolveOptions().workers)
        curve = run_interruptibly(
            lambda: solve_plan_at_scales(
                {"": question},
                scales,
                seconds=seconds,
                threads=threads,
                work_limit=work_limit,
                workers=workers,
                stop=lambda: halt.called_s is not None,
                tell=tell,
            ),
            halt,
        )
    if form is OutputFormat.TABLE:
        from placer_cli.plan.drawn_growth import draw_growth

        print_drawing(lambda canvas: draw_growth(question, curve, canvas))
    else:
        from placer.plan.to_json import plan_growth_to_dict

        print_json_or_yaml(plan_growth_to_dict(question, curve), form)
    if report is not None:
        from placer_cli.plan.pages import growth_page
        from placer_cli.report.option import report_footer, write_report

        foot = report_footer(f"What to buy, as placer plan buy --growth {growth} says it")
        write_report(report, growth_page(question, curve, foot))
    error_console().print(f"planned in {monotonic() - started_s:.2f} s", style="dim")
    return exit_code_of_growth(curve)


def exit_code_of_growth(curve: "GrowthCurve") -> ExitCode:
    """Return the exit code: the worst of all steps."""
    if any(step.price is None and step.bound is None for step in curve.steps):
        return ExitCode.NOT_ALL
    complete = not curve.missing and all(step.price is not None for step in curve.steps)
    return ExitCode.DONE if complete else ExitCode.NO_ANSWER
