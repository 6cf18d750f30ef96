"""``placer verify``: does a placement keep every rule, and is it what it claims to be?"""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from placer_cli.console import print_drawing, print_dump_summary, result_console
from placer_cli.exits import ExitCode
from placer_cli.illegal import SkipIllegal, read_instance
from placer_cli.options import ExpectedPods, format_option
from placer_cli.output import OutputFormat, print_json_or_yaml
from placer_cli.who_waits import Gated, Ignore, SchedulerNames, waiting_pod_filter_from_options


def verify_command(
    instance: Annotated[
        list[Path], typer.Argument(metavar="INSTANCE", help="Files of one instance.")
    ],
    placement: Annotated[
        Path, typer.Argument(metavar="PLACEMENT", help="What solve wrote, or anyone else.")
    ],
    form: Annotated[
        OutputFormat, format_option("How the finding is printed.")
    ] = OutputFormat.TABLE,
    skip_illegal: SkipIllegal = False,
    scheduler_name: SchedulerNames = None,
    gated: Gated = False,
    ignore: Ignore = None,
    demand: ExpectedPods = None,
) -> None:
    """Check PLACEMENT against every rule and its own claims, and measure it.

    Exit codes: 0 no breach; 1 a breach, or a false claim; 2 bad input.
    """
    from placer.judge.breaches import Breach, breaches
    from placer.judge.health import broken_devices_held
    from placer.judge.measure import measure
    from placer.judge.misfits import mended_rules_by_moved_pod, misfits_of_instance
    from placer.load import load_placement_with_outcome
    from placer_models.instance.demand import load_demand
    from placer_models.instance.placement_claims import (
        CLAIMS,
        answer_status_faults,
        misstated_moves,
        misstated_tiers,
    )

    problem = read_instance(
        instance,
        print_dump_summary,
        skip_illegal=skip_illegal,
        who=waiting_pod_filter_from_options(scheduler_name, gated=gated, ignore=ignore),
        bears_faults=True,
    )
    answer, claims = load_placement_with_outcome(placement)
    problem = replace(problem, strategy=claims.strategy or problem.strategy)
    if demand is not None:
        problem = replace(problem, demand=load_demand(demand))
    found = breaches(problem, answer)
    # Values mean nothing where a rule is broken.
    values = () if found else measure(problem, answer)
    found += tuple(
        Breach(CLAIMS, "status", message)
        for message in answer_status_faults(claims, problem, answer)
    )
    mended = mended_rules_by_moved_pod(problem, answer) if claims.moves else {}
    found += tuple(
        Breach(CLAIMS, *claim) for claim in misstated_moves(claims, problem, answer, mended)
    )
    if values:
        found += tuple(Breach(CLAIMS, *claim) for claim in misstated_tiers(claims, values))
    if form is OutputFormat.TABLE:
        from placer_cli.draw.finding import draw_verification
        from placer_cli.draw.health import draw_notes, notes_on_running_pods

        print_drawing(lambda canvas: draw_verification(problem, answer, found, values, canvas))
        if notes := notes_on_running_pods(problem):
            result_console().print(draw_notes(notes))
    else:
        tree = {
            "breaches": [
                {"rule": breach.rule, "subject": breach.subject, "message": breach.message}
                for breach in found
            ],
            "strategy": problem.strategy.value,
            "tiers": [
                {"name": t.name, "unit": t.unit, "sense": t.sense.value, "value": value}
                for t, value in values
            ],
            "broken": [
                {"node": d.node, "type": d.type, "minor": d.minor, "pods": list(d.pods)}
                for d in broken_devices_held(problem)
            ],
            "misfits": [
                {
                    "pod": misfit.pod[1],
                    "namespace": misfit.pod[0],
                    "node": misfit.node,
                    "rule": misfit.rule,
                    "message": misfit.message,
                }
                for misfit in misfits_of_instance(problem)
            ],
        }
        print_json_or_yaml(tree, form)
    raise typer.Exit(ExitCode.NOT_ALL if found else ExitCode.DONE)
