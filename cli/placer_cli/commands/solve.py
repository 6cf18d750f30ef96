"""``placer solve``: who runs where, and how good that is."""

import logging
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, assert_never

import typer

from placer.search.options import Engine, SolveOptions
from placer_cli.console import error_console, print_dump_summary, print_note, result_console
from placer_cli.emit import EmitOptions, parse_emit_option
from placer_cli.exits import ExitCode
from placer_cli.illegal import SkipIllegal, read_instance
from placer_cli.interrupt import ctrl_c_as_interrupted_solve, halt_on_ctrl_c, run_interruptibly
from placer_cli.options import (
    LARGEST_SEED,
    LEAST_S,
    LONGEST_S,
    MOST_WORKERS,
    ExpectedPods,
    InstanceFiles,
    format_option,
    number_option,
    output_option,
    seconds_option,
)
from placer_cli.output import (
    OutputFormat,
    json_or_yaml_text,
    open_replacement_file,
    output_format_of_file,
    print_json_or_yaml,
    refuse_overwriting_inputs,
)
from placer_cli.progress import solving_spinner
from placer_cli.report.option import ReportFile, refuse_bad_report_path, report_footer, write_report
from placer_cli.what_if import Moves, WhatIfChanges, solve_what_if, with_options_applied
from placer_cli.who_waits import Gated, Ignore, SchedulerNames, waiting_pod_filter_from_options
from placer_models.cluster import Instance
from placer_models.kubernetes.who_waits import WaitingPodFilter
from placer_models.node_strategy import NodeStrategy
from placer_models.placement import Answer, GaveUp, Infeasible, PartlyPlaced, Placed

if TYPE_CHECKING:
    from placer.kubernetes.summary import DumpSummary

LEAST_CHANGES_S, CHANGES_SHARE = 1.0, 3.0
"""How long changes are looked for once the answer is there, if that is within the time limit: as
many seconds, or as many times what the answer took."""


def solve_command(
    instance: InstanceFiles,
    engine: Annotated[
        Engine,
        typer.Option(help="greedy is fast and proves nothing; exact is the whole model at once."),
    ] = Engine.AUTO,
    strategy: Annotated[
        NodeStrategy | None,
        typer.Option(
            help="What the last tier is: which nodes pods had better have, all else being equal. "
            "[default: what INSTANCE says, else usable]"
        ),
    ] = None,
    time_limit: Annotated[
        float, seconds_option("Wall-clock time to the answer.", metavar="SECONDS")
    ] = 60.0,
    work_limit: Annotated[
        int | None,
        number_option(
            "Deterministic work in place of time; with --workers 1 answers repeat.", 1, LONGEST_S
        ),
    ] = None,
    workers: Annotated[
        int | None,
        number_option("Search threads. [default: one for each CPU]", 1, MOST_WORKERS),
    ] = None,
    seed: Annotated[int, number_option("Seed of the search.", 0, LARGEST_SEED)] = 0,
    form: Annotated[OutputFormat, format_option("How the answer is printed.")] = OutputFormat.TABLE,
    tiers: Annotated[
        bool, typer.Option("--tiers", help="Show every tier, those that are 0 and proven, too.")
    ] = False,
    every: Annotated[
        bool, typer.Option("--all", help="Tell all that keeps pods off nodes, however rare.")
    ] = False,
    output: Annotated[
        Path | None,
        output_option(
            "Write the placement to FILE, whole or not at all: YAML if FILE ends in .yaml "
            "or --format says so, else JSON. A table is printed all the same.",
        ),
    ] = None,
    emit: Annotated[
        tuple[str, Path] | None,
        typer.Option(
            metavar="KIND[,KIND...] FOLDER",
            help="Write what a cluster is told of the placement to FOLDER, which is new or empty: "
            "annotations, patches, bindings, claims, volumes, yaml, evictions. INSTANCE is a "
            "cluster's objects then.",
        ),
    ] = None,
    skip_illegal: SkipIllegal = False,
    scheduler_name: SchedulerNames = None,
    gated: Gated = False,
    ignore: Ignore = None,
    moves: Moves = None,
    demand: ExpectedPods = None,
    what_if: WhatIfChanges = None,
    report: ReportFile = None,
) -> None:
    """Place the pods that wait in INSTANCE, and say how good that is.

    Exit codes: 0 all pods are placed; 1 some are not; 2 bad input; 3 no answer in time.
    Ctrl-C ends the search with the best answer so far.
    """
    options = SolveOptions(engine, time_limit, work_limit, seed=seed, strategy=strategy)
    if workers is not None:
        options = replace(options, workers=workers)
    with ctrl_c_as_interrupted_solve():
        emission = parse_emit_option(emit)
        who = waiting_pod_filter_from_options(scheduler_name, gated=gated, ignore=ignore)
        if what_if:
            if output or emission or report:
                raise typer.BadParameter(
                    "--what-if only asks: leave --output, --emit and --report out"
                )
            answer = solve_what_if(
                what_if,
                instance,
                options,
                form,
                skip_illegal=skip_illegal,
                who=who,
                moves=moves,
                demand=demand,
            )
        else:
            answer = _solve(
                instance,
                options,
                form,
                output,
                emission,
                skip_illegal=skip_illegal,
                who=who,
                moves=moves,
                demand=demand,
                tiers=tiers,
                every=every,
                report=report,
            )
    raise typer.Exit(_exit(answer))


def _solve(
    instance: list[Path],
    options: SolveOptions,
    form: OutputFormat,
    output: Path | None,
    emission: EmitOptions | None,
    *,
    skip_illegal: bool,
    who: WaitingPodFilter,
    moves: int | None,
    demand: Path | None,
    tiers: bool,
    every: bool,
    report: Path | None,
) -> Answer:
    """Read, search and print; return the answer."""
    from placer.load import load_cluster
    from placer_cli.emit import (
        empty_cluster_objects_for_emit,
        refuse_moves_without_evictions,
        write_emitted_objects,
    )
    from placer_models.instance.placement_file import solve_answer_to_dict

    files = [*instance, *((demand,) if demand else ())]
    refuse_overwriting_inputs("--output", output, files)
    refuse_bad_report_path(report, files)
    # What the search logs of rejected places is part of the answer, and said below.
    logging.getLogger("placer.search").addHandler(logging.NullHandler())
    started_s = monotonic()
    machine_files: list[Path] = []
    read: list[DumpSummary] = []
    if emission is None:
        problem = read_instance(
            instance,
            read.append,
            skip_illegal=skip_illegal,
            on_file=machine_files.append,
            who=who,
            bears_faults=True,
        )
    else:
        objects = empty_cluster_objects_for_emit(emission)
        problem = load_cluster(instance, objects, read.append, who)
    for summary in read:
        print_dump_summary(summary)
    problem = with_options_applied(problem, options, moves, demand)
    refuse_moves_without_evictions(emission, problem)
    refuse_overwriting_inputs("--output", output, machine_files)
    read_s = monotonic() - started_s
    with ExitStack() as stack:
        file = stack.enter_context(open_replacement_file(output)) if output else None
        halt = stack.enter_context(halt_on_ctrl_c())
        with solving_spinner(error_console()) as tell:
            from placer.search.solver import solve as search

            # Loading the search has taken its part of the time.
            left_s = options.time_limit_s - (monotonic() - started_s - read_s)
            timed = replace(options, halt=halt, time_limit_s=max(LEAST_S, left_s))
            answer = run_interruptibly(lambda: search(problem, timed, tell), halt)
        solve_s = monotonic() - started_s - read_s
        timing = {"read_s": round(read_s, 3), "solve_s": round(solve_s, 3)}
        tree = solve_answer_to_dict(answer, problem, timing)
        if file is not None and output is not None:
            file.write(json_or_yaml_text(tree, output_format_of_file(output, form)))
        told = write_emitted_objects(emission, objects, problem, answer) if emission else ""
    would_do: Sequence[tuple[str, str, str]] = ()
    if form is OutputFormat.TABLE:
        from placer_cli.draw.answer import draw_answer
        from placer_cli.draw.canvas import width_and_marks_of_console

        console = result_console()
        canvas = width_and_marks_of_console(console)
        drawn = draw_answer(answer, problem, options, canvas, every_tier=tiers, every_reason=every)
        console.print(drawn)
        left_s = options.time_limit_s - (monotonic() - started_s - read_s)
        most_s = max(LEAST_CHANGES_S, CHANGES_SHARE * solve_s)
        if options.work_limit is None and not isinstance(answer, Placed):
            names = list(map(str, instance)) if read else None
            would_do = _print_changes(problem, answer, min(left_s, most_s), names)
    else:
        if output is None:
            print_json_or_yaml(tree, form)
        for place in answer.rejected:
            print_note(place.text)
    if told:
        print_note(told)
    if report is not None:
        from placer_cli.report.solved import solved_page

        foot = report_footer("What placer solve says")
        write_report(report, solved_page(answer, problem, options, foot, would_do))
    error_console().print(f"read in {read_s:.2f} s, solved in {solve_s:.2f} s", style="dim")
    return answer


def _print_changes(
    problem: Instance, answer: Answer, seconds: float, dump: Sequence[str] | None
) -> Sequence[tuple[str, str, str]]:
    """Print the best change for each pod or shape that is left out, as far as time allows.

    Return them as well: who, the change, and what to do. ``dump`` are the files of a cluster's
    objects; None: the instance is in files of its own.
    """
    from placer.explain.explain import explain
    from placer_cli.draw.explanation import best_change_rows, draw_best_changes
    from placer_cli.draw.text_flow import drawing_with_title

    if seconds <= 0:
        return ()
    with solving_spinner(error_console()) as tell:
        tell("looking for changes that would do")
        explained = explain(problem, answer, seconds=seconds, most_changes=1, nearest=False)
    found = best_change_rows(explained, problem, of_cluster=dump is not None, files=dump or ())
    if found:
        drawn = drawing_with_title(
            "What would do (placer explain says more)", draw_best_changes(found)
        )
        result_console().print("", drawn, sep="\n")
    return found


def _exit(answer: Answer) -> ExitCode:
    match answer:
        case Placed():
            return ExitCode.DONE
        case PartlyPlaced() | Infeasible():
            return ExitCode.NOT_ALL
        case GaveUp():
            return ExitCode.NO_ANSWER
        case _:
            assert_never(answer)
