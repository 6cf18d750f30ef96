"""``placer plan fit``: how many more pods of a shape fit, as it is and after each change."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from placer_cli.console import print_drawing
from placer_cli.exits import ExitCode
from placer_cli.illegal import SkipIllegal
from placer_cli.interrupt import ctrl_c_as_interrupted_solve
from placer_cli.options import InstanceFiles, seconds_option
from placer_cli.output import OutputFormat, print_json_or_yaml
from placer_cli.plan.cluster_question import AnswerFormat, PlanClusterQuestionOptions
from placer_cli.plan.sweeping import LEAST_S, ExecutorAddress, Processes, sweep_workers_from_options
from placer_cli.report.option import ReportFile, report_footer, write_report
from placer_cli.what_if import parse_changes
from placer_cli.who_waits import Gated, Ignore, SchedulerNames, waiting_pod_filter_from_options
from placer_models.cluster import Instance
from placer_models.pod import Pod, pods_of_gangs

if TYPE_CHECKING:
    from placer.plan.fit import FitCountTask
    from placer.plan.fit_answer import FitCount
    from placer.sweep.workers import SweepBackend
    from placer_models.whatif.change import InstanceChange


def plan_fit_command(
    instance: InstanceFiles,
    pod: Annotated[
        str,
        typer.Option(
            metavar="FILE|POD|SHAPE",
            help="What more of: a file with a pod, [NAMESPACE/]NAME of a pod or a gang, or amounts "
            "such as cpu=4,memory=16Gi,gpu=1, in the words of INSTANCE.",
        ),
    ],
    exclude_nodes: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SELECTOR",
            help="Nodes that no such pod comes to: names (a-[0-3],b) or labels (pool=gpu, "
            "zone!=a, spot, !spot); may be given several times.",
        ),
    ] = None,
    what_if: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CHANGE",
            help="Also count with a change, as in solve: add=COUNT:NODE|MACHINE, uncordon=NODE, "
            "mend=NODE, remove=POD, ...; each by itself; file=FILE is many at once.",
        ),
    ] = None,
    seconds: Annotated[float, seconds_option("Time for each count.", LEAST_S)] = 20.0,
    processes: Processes = None,
    executor: ExecutorAddress = None,
    report: ReportFile = None,
    form: AnswerFormat = OutputFormat.TABLE,
    skip_illegal: SkipIllegal = False,
    scheduler_name: SchedulerNames = None,
    gated: Gated = False,
    ignore: Ignore = None,
) -> None:
    """Count how many more pods of a shape fit beside what runs, and say what stops the next one.

    Pods that wait are not placed first. Every counted pod has a place that the judge has looked
    at, and the count has a proven upper bound. Exit codes: 0 one or more fit; 1 none does; 2 bad
    input.
    """
    who = waiting_pod_filter_from_options(scheduler_name, gated=gated, ignore=ignore)
    question = PlanClusterQuestionOptions(instance, form, report, who, skip_illegal)
    workers = sweep_workers_from_options(processes, executor)
    with ctrl_c_as_interrupted_solve():
        steps = _fit(question, pod, exclude_nodes or [], what_if or [], seconds, workers)
    raise typer.Exit(ExitCode.DONE if steps[0].count else ExitCode.NOT_ALL)


def _fit(
    question: PlanClusterQuestionOptions,
    shape: str,
    excluded: Sequence[str],
    texts: Sequence[str],
    seconds: float,
    workers: "SweepBackend",
) -> "list[FitCount]":
    """Read, count and print; return what was counted."""
    from placer.pod_shape import read_pod_shape

    changes = [parse_changes([text]) for text in texts]
    instance = question.read()
    try:
        pod, asked = read_pod_shape(shape, question.paths, instance, question.who)
    except ValueError as error:
        raise typer.BadParameter(f"--pod: {error}") from None
    tasks = _tasks(asked, pod, excluded, changes, seconds)
    found: dict[int, FitCount] = {}
    with question.asking("counting how many fit") as (tell, stop):
        from placer.plan.fit import BoundlessShapeError
        from placer.plan.fit import count_fitting_pods as count
        from placer.sweep.sweep import sweep_results_as_completed

        try:
            for index, step in sweep_results_as_completed(count, tasks, workers, stop):
                found[index] = step
                tell(f"{len(found)} of {len(tasks)} are counted")
        except BoundlessShapeError as error:
            raise typer.BadParameter(f"--pod: {error}") from None
    if 0 not in found:
        raise KeyboardInterrupt
    steps = [found[index] for index in sorted(found)]
    waiting = sum(len(gang.pods) for gang in instance.gangs)

    if question.form is OutputFormat.TABLE:
        from placer_cli.plan.draw_fit import draw_fit_counts

        print_drawing(lambda canvas: draw_fit_counts(steps, shape, waiting, canvas))
    else:
        from placer.plan.to_json import fit_answer_to_dict

        print_json_or_yaml(fit_answer_to_dict(steps, waiting), question.form)
    if question.report is not None:
        from placer_cli.plan.pages import fit_count_page

        foot = report_footer("What placer plan fit says")
        write_report(question.report, fit_count_page(steps, shape, waiting, foot))
    question.print_time("counted")
    return steps


def _tasks(
    instance: Instance,
    pod: Pod,
    excluded: Sequence[str],
    changes: "Sequence[Sequence[InstanceChange]]",
    seconds: float,
) -> "list[FitCountTask]":
    """Return what is counted: as it is, then with each change.

    Raises:
        BadParameter: A selector means no node, or a change changes nothing.

    """
    from placer.plan.fit import FitCountTask
    from placer.plan.node_selector import selected_node_names
    from placer_models.whatif.change import WhatIfChangeError
    from placer_models.whatif.language import instance_with_all_changes

    try:
        found = [selected_node_names(text, instance.nodes) for text in excluded]
    except ValueError as error:
        raise typer.BadParameter(f"--exclude-nodes: {error}") from None
    closed = frozenset[str]().union(*found)
    tasks = [FitCountTask(instance, pod, (), closed, seconds)]
    for some in changes:
        try:
            changed = instance_with_all_changes(some, instance)
        except WhatIfChangeError as error:
            raise typer.BadParameter(f"--what-if: {error}") from None
        waiting = {one.key: one for one in pods_of_gangs(changed.gangs)}
        words = tuple(map(str, some))
        tasks.append(FitCountTask(changed, waiting.get(pod.key, pod), words, closed, seconds))
    return tasks
