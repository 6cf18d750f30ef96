"""``placer explain``: why pods have no place, and the smallest change that would do."""

import logging
from collections.abc import Collection, Sequence
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated

import typer

from placer_cli.console import error_console, print_drawing, print_dump_summary
from placer_cli.exits import ExitCode
from placer_cli.illegal import SkipIllegal, read_instance
from placer_cli.options import format_option, seconds_option
from placer_cli.output import OutputFormat, print_json_or_yaml
from placer_cli.who_waits import Gated, Ignore, SchedulerNames, waiting_pod_filter_from_options
from placer_models.cluster import Instance
from placer_models.placement import Answer, NamespacedName, pod_or_gang_title
from placer_models.pod import pods_of_gangs

if TYPE_CHECKING:
    from placer.explain.explanation import Explanation
    from placer.kubernetes.summary import DumpSummary

SOLVING = 0.4
"""The share of the time that is for the answer itself, where none is given."""

FILE_SUFFIXES = (".json", ".yaml", ".yml")
"""What ends so is meant as a file, whether or not it is there."""


def explain_command(
    what: Annotated[
        list[str],
        typer.Argument(
            metavar="INSTANCE|POD",
            help="Files of one instance, or of one cluster's objects; then names of pods and "
            "gangs, as [NAMESPACE/]NAME. Without names all that have no place are explained.",
        ),
    ],
    answer: Annotated[
        Path | None,
        typer.Option(
            metavar="PLACEMENT", help="Explain this answer. [default: INSTANCE is solved first]"
        ),
    ] = None,
    seconds: Annotated[float, seconds_option("Wall-clock time for all of it.")] = 20.0,
    form: Annotated[OutputFormat, format_option("How it is printed.")] = OutputFormat.TABLE,
    every: Annotated[
        bool, typer.Option("--all", help="Draw all reasons, holders and changes.")
    ] = False,
    skip_illegal: SkipIllegal = False,
    scheduler_name: SchedulerNames = None,
    gated: Gated = False,
    ignore: Ignore = None,
) -> None:
    """Say why pods have no place, and what would give them one.

    Each change that is named was tried: solved, and checked against every rule.
    Exit codes: 0 all that is asked about has a place; 1 something has none; 2 bad input.
    """
    started_s = monotonic()
    logging.getLogger("placer.search").addHandler(logging.NullHandler())
    files = [one for one in what if _is_file(one)]
    if not files:
        raise typer.BadParameter(f"'{what[0]}' is no file: name an INSTANCE first")
    who = waiting_pod_filter_from_options(scheduler_name, gated=gated, ignore=ignore)
    read: list[DumpSummary] = []
    instance = read_instance(
        [Path(file) for file in files],
        read.append,
        skip_illegal=skip_illegal,
        who=who,
        bears_faults=True,
    )
    for summary in read:
        print_dump_summary(summary)
    names = _keys([one for one in what if not _is_file(one)], instance)
    found_answer, explanations = _explained(instance, answer, names, seconds)
    of_cluster = bool(read)
    if form is OutputFormat.TABLE:
        from placer_cli.draw.explanation import draw_explanations

        print_drawing(
            lambda canvas: draw_explanations(
                explanations,
                instance,
                found_answer,
                names,
                canvas,
                of_cluster=of_cluster,
                files=files,
                every=every,
            )
        )
    else:
        from placer.explain.document import explanations_document

        tree = explanations_document(explanations, instance, of_cluster=of_cluster, files=files)
        print_json_or_yaml(tree, form)
    error_console().print(f"explained in {monotonic() - started_s:.2f} s", style="dim")
    raise typer.Exit(ExitCode.NOT_ALL if explanations else ExitCode.DONE)


def _is_file(text: str) -> bool:
    return text == "-" or text.endswith(FILE_SUFFIXES) or Path(text).is_file()


def _keys(names: Sequence[str], instance: Instance) -> list[NamespacedName] | None:
    """Return the keys of pods and gangs; None where nobody is named.

    Raises:
        BadParameter: A name is no pod or gang that waits.

    """
    if not names:
        return None
    waiting = {gang.key for gang in instance.gangs}
    waiting |= {pod.key for pod in pods_of_gangs(instance.gangs)}
    waiting |= {one.key for one in instance.left_out}
    keys = []
    for name in names:
        namespace, _, own = name.rpartition("/")
        key = (namespace or "default", own)
        if key not in waiting:
            raise typer.BadParameter(_waits_not(name, key, waiting, instance))
        keys.append(key)
    return keys


def _waits_not(
    name: str, key: NamespacedName, waiting: Collection[NamespacedName], instance: Instance
) -> str:
    """Say that nobody of a name waits: that it runs, or who is meant instead, or who waits."""
    from placer_cli.draw.texts import names_as_host_lists
    from placer_models.message_text import near_or_first_names_text
    from placer_models.placement import pod_spelling_suggestion

    nodes = dict.fromkeys(
        one.placement.node
        for one in instance.running
        if key in (one.pod.key, (one.pod.namespace, one.placement.gang))
    )
    if nodes:
        return f"'{name}' runs already, on {names_as_host_lists(list(nodes))}"
    said = f"no pod or gang '{name}' waits"
    if near := pod_spelling_suggestion(key, waiting):
        return said + near
    running = pod_spelling_suggestion(key, (one.pod.key for one in instance.running))
    if running.endswith(f"{key[1]}'?"):
        return said + running
    return said + near_or_first_names_text("", {pod_or_gang_title(*one) for one in waiting})


def _explained(
    instance: Instance,
    answer: Path | None,
    names: Collection[NamespacedName] | None,
    seconds: float,
) -> tuple[Answer, "tuple[Explanation, ...]"]:
    """Solve, or take the answer that is given, and explain it.

    Raises:
        InputError: The answer cannot be read.
        BadParameter: It is no answer to the instance.

    """
    from placer.explain.explain import explain as explanations_of
    from placer.explain.given_answer import InvalidGivenPlacementError, answer_from_placement
    from placer.load import load_placement
    from placer.search.options import SolveOptions
    from placer.search.solver import solve
    from placer_cli.interrupt import halt_on_ctrl_c, run_interruptibly
    from placer_cli.progress import solving_spinner

    started_s = monotonic()
    with halt_on_ctrl_c() as halt, solving_spinner(error_console()) as tell:
        if answer is None:
            options = SolveOptions(time_limit_s=SOLVING * seconds, halt=halt)
            found: Answer = run_interruptibly(lambda: solve(instance, options, tell), halt)
        else:
            try:
                found = answer_from_placement(instance, load_placement(answer), SOLVING * seconds)
            except InvalidGivenPlacementError as error:
                raise typer.BadParameter(f"--answer {answer}: {error}") from None
        tell("looking for changes that would do")
        left_s = max(0.0, seconds - (monotonic() - started_s))
        explained = run_interruptibly(lambda: explanations_of(instance, found, names, left_s), halt)
    return found, explained
