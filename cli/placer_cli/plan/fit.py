"""``placer plan fit``: how many more pods of a shape fit, as it is and after each change."""

from collections.abc import Sequence
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
from placer_cli.what_if import changes_in
from placer_cli.who_waits import Gated, Ignore, SchedulerNames, who_waits
from placer_models.cluster import Instance
from placer_models.kubernetes.who_waits import WhoWaits
from placer_models.pod import Pod

if TYPE_CHECKING:
    from placer.plan.fit import FitTask
    from placer.plan.fit_answer import FitCount
    from placer.sweep.workers import SweepWorkers
    from placer_models.whatif.change import InstanceChange

LEAST_S = 0.1


def fit(
    instance: Annotated[
        list[Path],
        typer.Argument(
            metavar="INSTANCE",
            help="Files of one instance, or of one cluster's objects; - is standard input.",
        ),
    ],
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
    seconds: Annotated[
        float,
        typer.Option(min=LEAST_S, max=LONGEST_S, metavar="S", help="Time for each count."),
    ] = 20.0,
    processes: Processes = None,
    executor: ExecutorAddress = None,
    report: ReportFile = None,
    form: Annotated[Format, typer.Option("--format", help="How it is printed.")] = Format.TABLE,
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
    from placer_cli.interrupt import NoAnswerError

    who = who_waits(scheduler_name, gated=gated, ignore=ignore)
    try:
        steps = _fit(
            instance,
            pod,
            exclude_nodes or [],
            what_if or [],
            seconds,
            form,
            workers_named(processes, executor),
            report,
            skip_illegal=skip_illegal,
            who=who,
        )
    except KeyboardInterrupt:
        raise NoAnswerError from None
    raise typer.Exit(Exit.DONE if steps[0].count else Exit.NOT_ALL)


def _fit(
    paths: list[Path],
    shape: str,
    excluded: Sequence[str],
    texts: Sequence[str],
    seconds: float,
    form: Format,
    workers: "SweepWorkers",
    report: Path | None,
    *,
    skip_illegal: bool,
    who: WhoWaits,
) -> "list[FitCount]":
    """Read, count and print; return what was counted."""
    from placer.pod_shape import load_shape
    from placer_cli.interrupt import halted_by_ctrl_c
    from placer_cli.progress import progress

    refuse_inputs("--report", report, paths)
    started_s = monotonic()
    changes = [changes_in([text]) for text in texts]
    instance = read_instance(
        paths, note_summary, skip_illegal=skip_illegal, who=who, bears_faults=True
    )
    try:
        pod, asked = load_shape(shape, paths, instance, who)
    except ValueError as error:
        raise typer.BadParameter(f"--pod: {error}") from None
    tasks = _tasks(asked, pod, excluded, changes, seconds)
    found: dict[int, FitCount] = {}
    with told_as_usage(), halted_by_ctrl_c() as halt, progress(err()) as tell:
        from placer.plan.fit import BoundlessShapeError
        from placer.plan.fit import fit as count
        from placer.sweep.sweep import each_result

        tell("counting how many fit")
        try:
            for index, step in each_result(
                count, tasks, workers, lambda: halt.called_s is not None
            ):
                found[index] = step
                tell(f"{len(found)} of {len(tasks)} are counted")
        except BoundlessShapeError as error:
            raise typer.BadParameter(f"--pod: {error}") from None
    steps = [found[index] for index in sorted(found)]
    if 0 not in found:
        raise KeyboardInterrupt
    waiting = sum(len(gang.pods) for gang in instance.gangs)
    if form is Format.TABLE:
        from placer_cli.draw.canvas import canvas_of
        from placer_cli.plan.draw_fit import draw_fit

        console = out()
        console.print(draw_fit(steps, shape, waiting, canvas_of(console)))
    else:
        from placer.plan.fit_json import fit_to_json

        typer.echo(document(fit_to_json(steps, waiting), form), nl=False)
    if report is not None:
        from placer_cli.plan.pages import fit_page

        write_report(report, fit_page(steps, shape, waiting, foot_of("What placer plan fit says")))
    err().print(f"counted in {monotonic() - started_s:.2f} s", style="dim")
    return steps


def _tasks(
    instance: Instance,
    pod: Pod,
    excluded: Sequence[str],
    changes: "Sequence[Sequence[InstanceChange]]",
    seconds: float,
) -> "list[FitTask]":
    """Return what is counted: as it is, then with each change.

    Raises:
        BadParameter: A selector means no node, or a change changes nothing.

    """
    from placer.plan.fit import FitTask
    from placer.plan.node_selector import selected
    from placer_models.whatif.change import ChangeError
    from placer_models.whatif.language import apply_all

    closed: frozenset[str] = frozenset()
    try:
        for text in excluded:
            closed |= selected(text, instance.nodes)
    except ValueError as error:
        raise typer.BadParameter(f"--exclude-nodes: {error}") from None
    tasks = [FitTask(instance, pod, (), closed, seconds)]
    for some in changes:
        try:
            changed = apply_all(some, instance)
        except ChangeError as error:
            raise typer.BadParameter(f"--what-if: {error}") from None
        waiting = {one.key: one for gang in changed.gangs for one in gang.pods}
        words = tuple(map(str, some))
        tasks.append(FitTask(changed, waiting.get(pod.key, pod), words, closed, seconds))
    return tasks
