"""``placer convert``: files of others as files of Placer."""

from pathlib import Path
from typing import Annotated

import typer

from placer_cli.commands_on_demand import command_group
from placer_cli.openb.files import NodesFile, PodsFile
from placer_cli.options import output_option
from placer_cli.output import (
    Format,
    format_of,
    json_or_yaml_text,
    refuse_overwriting_inputs,
    write_whole,
)

convert_app = command_group(
    "Write files of others as files that Placer reads.",
    "placer convert openb --nodes nodes.csv --pods pods.csv --output openb.yaml",
)


@convert_app.command(
    epilog="Example: placer convert openb --nodes nodes.csv --pods pods.csv --output openb.yaml"
)
def openb(
    nodes: NodesFile,
    pods: PodsFile,
    output: Annotated[
        Path | None,
        output_option(
            "Write the instance to FILE: YAML, or JSON if it ends in .json.", show_default=False
        ),
    ] = None,
) -> None:
    """Write nodes and pods of the openb trace (Alibaba, 2023) as an instance.

    All nodes are idle, and all pods wait. Exit codes: 0 it is written; 2 bad input.
    """
    from placer.openb.lists import read_trace_nodes, read_trace_pods
    from placer.openb.trace import instance_of
    from placer.openb.words import gpu_models_of
    from placer_models.instance.writer import instance_to_dict, instance_to_yaml

    refuse_overwriting_inputs("--output", output, [nodes, pods])
    found = read_trace_nodes(nodes)
    instance = instance_of(found, read_trace_pods(pods, gpu_models_of(found)))
    form = Format.YAML if output is None else format_of(output)
    if form is Format.JSON:
        text = json_or_yaml_text(instance_to_dict(instance, lambda _: False), form)
    else:
        text = instance_to_yaml(instance, lambda _: False)
    if output is None:
        typer.echo(text, nl=False)
        return
    write_whole(output, text)
