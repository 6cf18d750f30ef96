"""``placer discover``: what a machine has inside, as its kernel and its drivers say it."""

from pathlib import Path
from typing import Annotated

import typer

from placer.node.discover.report import DiscoverOutputKind
from placer_cli.console import print_drawing
from placer_cli.options import KubeletRoot, format_option, output_option
from placer_cli.output import (
    OutputFormat,
    json_or_yaml_text,
    output_format_of_file,
    print_json_or_yaml,
    refuse_overwriting_inputs,
    replace_file_with_text,
)
from placer_models.message_text import printable


def discover_command(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="DUMP [TEXT...]",
            help="The root of a Linux system; a copy of /sys and /proc in a folder or tar archive; "
            "an XML file of hwloc; or a NodeResourceTopology in YAML or JSON. Beside it what "
            "nvidia-smi -q or -L, or nvidia-smi topo -m printed there. [default: this machine]",
        ),
    ] = None,
    root: Annotated[Path | None, typer.Option(hidden=True, help="The dump.")] = None,
    nvidia_smi: Annotated[
        list[Path] | None, typer.Option(hidden=True, help="A text of nvidia-smi.")
    ] = None,
    name: Annotated[
        str, typer.Option(metavar="NAME", help="Name of the machine. [default: its host's]")
    ] = "",
    kind: Annotated[
        DiscoverOutputKind, typer.Option("--as", help="Which document is written.")
    ] = DiscoverOutputKind.MACHINE,
    kubelet_root: KubeletRoot = None,
    form: Annotated[OutputFormat, format_option("How the result is printed.")] = OutputFormat.TABLE,
    output: Annotated[
        Path | None,
        output_option(
            "Write the document to FILE, whole or not at all: YAML if FILE ends in .yaml or "
            "--format says so, else JSON. A picture is printed all the same.",
        ),
    ] = None,
) -> None:
    """Look into this machine, or into the dump of another, and write down what is there.

    Exit codes: 0 done; 2 bad input.
    """
    from placer.node.discover import (
        HOST,
        discover_hardware,
        machine_from_inventory,
        split_dump_and_smi_texts,
    )
    from placer.node.discover.machine import sanitised_file_name
    from placer.node.discover.report import discovered_machine_to_dict
    from placer_models.kubernetes.checkpoints.checkpoint_files import KUBELET_ROOT

    if name and sanitised_file_name(name) != name:
        raise typer.BadParameter(
            f"--name '{name}' is no name; expected letters, digits, '-', '_' and '.', beginning "
            "and ending with a letter or digit"
        )
    given = [*(files or []), *([] if root is None else [root])]
    refuse_overwriting_inputs("--output", output, [*given, *(nvidia_smi or [])])
    dump, texts = split_dump_and_smi_texts(given or [HOST])
    texts += nvidia_smi or []
    inventory = discover_hardware(dump, texts, kubelet_root=kubelet_root or KUBELET_ROOT)
    found = machine_from_inventory(inventory, name)
    tree = discovered_machine_to_dict(found, kind)
    if output is not None:
        text = json_or_yaml_text(tree, output_format_of_file(output, form))
        replace_file_with_text(output, text)
    if form is OutputFormat.TABLE:
        from placer_cli.draw.discovered import draw_discovered_machine

        print_drawing(lambda canvas: draw_discovered_machine(found, canvas))
    elif output is None:
        print_json_or_yaml(tree, form)
    for warning in found.warnings:
        typer.echo(f"placer: warning: {printable(warning)}", err=True)
