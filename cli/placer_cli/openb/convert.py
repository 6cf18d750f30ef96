"""``placer convert``: files of others as files of Placer."""

from pathlib import Path
from typing import Annotated

import typer

from placer_cli.commands_on_demand import command_group
from placer_cli.openb.files import NodesFile, PodsFile
from placer_cli.options import output_option
from placer_cli.output import (
    OutputFormat,
    json_or_yaml_text,
    output_format_of_file,
    refuse_overwriting_inputs,
    replace_file_with_text,
)

convert_app = command_group(
    "Write files of others as files that Placer reads.",
    "placer convert openb --nodes nodes.csv --pods pods.csv --output openb.yaml",
)


@convert_app.command(
    "openb",
    epilog="Example: placer convert openb --nodes nodes.csv --pods pods.csv --output openb.yaml",
)
def convert_openb_command(
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
    from placer.openb.trace import instance_of_trace
    from placer.openb.words import gpu_models_of_nodes
    from placer_models.instance.writer import instance_to_dict, instance_to_yaml

    refuse_overwriting_inputs("--output", output, [nodes, pods])
    found = read_trace_nodes(nodes)
    instance = instance_of_trace(found, read_trace_pods(pods, gpu_models_of_nodes(found)))
    form = OutputFormat.YAML if output is None else output_format_of_file(output)
    if form is OutputFormat.JSON:
        text = json_or_yaml_text(instance_to_dict(instance, lambda _: False), form)
    else:
        text = instance_to_yaml(instance, lambda _: False)
    if output is None:
        typer.echo(text, nl=False)
        return
    replace_file_with_text(output, text)
