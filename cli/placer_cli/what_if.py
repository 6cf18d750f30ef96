"""The options ``--what-if`` and ``--move-budget``: a question, and the question with changes."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated

import typer

from placer.search.options import SolveOptions
from placer_cli.console import error_console, print_drawing, print_dump_summary
from placer_cli.illegal import read_instance
from placer_cli.interrupt import halt_on_ctrl_c, run_interruptibly
from placer_cli.output import OutputFormat, print_json_or_yaml
from placer_cli.progress import solving_spinner
from placer_models.cluster import Instance, Machine
from placer_models.kubernetes.who_waits import WaitingPodFilter
from placer_models.placement import Answer
from placer_models.whatif.change import InstanceChange, WhatIfChangeError

if TYPE_CHECKING:
    from placer.search.what_if import WhatIfComparison

MOST_MOVES = 10**6
"""More running pods than any cluster has."""

FILE = "file="
"""What names a file of changes in place of one change."""

Moves = Annotated[
    int | None,
    typer.Option(
        "--move-budget",
        min=0,
        max=MOST_MOVES,
        metavar="N",
        help="How many running pods may move at most. [default: what INSTANCE says, else 0]",
    ),
]
"""How many running pods may move."""

WhatIfChanges = Annotated[
    list[str] | None,
    typer.Option(
        "--what-if",
        metavar="CHANGE",
        help="Also solve with a change, and compare: uncordon=NODE, cordon=NODE, mend=NODE, "
        "label=NODE:KEY=VALUE, add=COUNT:NODE|MACHINE, remove=POD, move=POD, scale=GANG:COUNT, "
        "ask-less=POD:RESOURCE=AMOUNT, give-up=POD:TERM, relax=POD.POLICY, or file=FILE for many. "
        "Several are one question.",
    ),
]
"""Changes of what is solved."""


def with_options_applied(
    instance: Instance, options: SolveOptions, moves: int | None, demand: Path | None
) -> Instance:
    """Return the instance with the strategy, moves and expected pods that the options name.

    Raises:
        InputError: Something is wrong with the file of expected pods.

    """
    from placer_models.instance.demand import load_demand

    return replace(
        instance,
        strategy=options.strategy or instance.strategy,
        move_budget=instance.move_budget if moves is None else moves,
        demand=instance.demand if demand is None else load_demand(demand),
    )


def solve_what_if(
    texts: Sequence[str],
    paths: Sequence[Path],
    options: SolveOptions,
    form: OutputFormat,
    *,
    skip_illegal: bool,
    who: WaitingPodFilter,
    moves: int | None,
    demand: Path | None,
) -> Answer:
    """Read, solve as it is and with the changes, and print both; return the answer with them.

    Raises:
        BadParameter: A change is none, changes nothing, or contradicts another.
        InputError: Something is wrong with a file.

    """
    logging.getLogger("placer.search").addHandler(logging.NullHandler())
    started_s = monotonic()
    changes = parse_changes(texts)
    instance = read_instance(
        paths, print_dump_summary, skip_illegal=skip_illegal, who=who, bears_faults=True
    )
    instance = with_options_applied(instance, options, moves, demand)
    read_s = monotonic() - started_s
    with halt_on_ctrl_c() as halt, solving_spinner(error_console()) as tell:
        from placer.search.solver import solve
        from placer.search.what_if import solve_with_changes

        left_s = options.time_limit_s - (monotonic() - started_s - read_s)
        timed = replace(options, halt=halt, time_limit_s=max(0.001, left_s))
        try:
            found = run_interruptibly(
                lambda: solve_with_changes(
                    instance, changes, timed, lambda i, o: solve(i, o, tell)
                ),
                halt,
            )
        except WhatIfChangeError as error:
            raise typer.BadParameter(f"--what-if {error}") from None
    if form is OutputFormat.TABLE:
        from placer_cli.draw.what_if import draw_what_if

        print_drawing(lambda canvas: draw_what_if(found, changes, instance, options, canvas))
    else:
        print_json_or_yaml(_tree(found, changes, instance), form)
    solve_s = monotonic() - started_s - read_s
    error_console().print(f"read in {read_s:.2f} s, solved in {solve_s:.2f} s", style="dim")
    return found.after


def parse_changes(texts: Sequence[str]) -> list[InstanceChange]:
    """Return the changes that texts name, those in files among them.

    Raises:
        BadParameter: A text is no change.
        InputError: Something is wrong with a file.

    """
    from placer_models.instance.changes_file import load_changes
    from placer_models.whatif.language import parse_change

    changes: list[InstanceChange] = []
    for text in texts:
        if text.startswith(FILE):
            changes += load_changes(Path(text.removeprefix(FILE)), _machine)
            continue
        try:
            changes.append(parse_change(text, _machine))
        except WhatIfChangeError as error:
            raise typer.BadParameter(f"--what-if: {error}") from None
    return changes


def _machine(name: str) -> Machine | None:
    from placer_models.machines.catalogue import catalogue_machine_names, load_machine

    return load_machine(name) if name in catalogue_machine_names() else None


def _tree(
    found: "WhatIfComparison", changes: Sequence[InstanceChange], instance: Instance
) -> dict[str, object]:
    """Return both answers, and who gains and loses a place, for programs."""
    from placer_models.instance.placement_file import solve_answer_to_dict

    def pods(nodes: dict[tuple[str, str], str | None] | dict[tuple[str, str], str]) -> list[object]:
        return [
            {"name": name, "namespace": namespace, "node": node}
            for (namespace, name), node in nodes.items()
        ]

    return {
        "changes": [str(change) for change in changes],
        "gained": pods(found.gained),
        "lost": pods(found.lost),
        "added": pods(found.added),
        "before": solve_answer_to_dict(found.before, instance, {}),
        "after": solve_answer_to_dict(found.after, found.changed, {}),
    }
