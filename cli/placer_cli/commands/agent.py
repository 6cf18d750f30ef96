"""``placer agent``: keeps this node as its documents say."""

import socket
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from placer_cli.console import error_console
from placer_cli.exits import ExitCode
from placer_cli.options import ContainerRoots, KubeletRoot


def agent_command(
    documents: Annotated[
        Path,
        typer.Option(
            metavar="DIR",
            help="Where documents arrive, by rename; owned by this user, mode 0700.",
        ),
    ] = Path("/etc/placer/node"),
    state: Annotated[
        Path, typer.Option(metavar="DIR", readable=False, help="Where the journal is.")
    ] = Path("/var/lib/placer"),
    node: Annotated[
        str, typer.Option(metavar="NAME", help="The name of this node; by default its host name.")
    ] = "",
    root: Annotated[
        str, typer.Option(metavar="CGROUP", help="Where cgroups of Placer's own are.")
    ] = "placer",
    container_root: ContainerRoots = None,
    kubelet_root: KubeletRoot = None,
    on_drift: Annotated[
        str,
        typer.Option(
            metavar="repair|report",
            help="What becomes of a node that is not as its document says.",
        ),
    ] = "repair",
    listen: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS",
            help="Metrics and health: 127.0.0.1:PORT, unix:PATH, or '' for none.",
        ),
    ] = "unix:/run/placer/agent.sock",
    report_strangers: Annotated[
        bool,
        typer.Option(
            "--report-strangers",
            help="Tell of processes outside all pods, kernel threads, interrupts and work queues "
            "that may run on CPUs which pods own alone.",
        ),
    ] = False,
    clear_owned: Annotated[
        bool,
        typer.Option(
            "--clear-owned",
            help="Move these off such CPUs, and back when the owner is gone.",
        ),
    ] = False,
    log_format: Annotated[
        str, typer.Option(metavar="json|text", help="How lines of the log are written.")
    ] = "json",
    log_level: Annotated[
        str, typer.Option(metavar="debug|info|warning|error", help="What is logged.")
    ] = "info",
) -> None:
    """Keep this node as the newest document for it says, until stopped.

    Exit codes: 0 stopped; 2 bad usage; 4 the node refused, or is only observed.
    """
    for module in ("prometheus_client", "tornado"):
        if find_spec(module) is None:
            raise typer.BadParameter(
                f"the agent needs {module}, which is not installed; pip install 'placer[agent]'"
            )
    for option, value, words in (
        ("--on-drift", on_drift, ("repair", "report")),
        ("--log-format", log_format, ("json", "text")),
        ("--log-level", log_level, ("debug", "info", "warning", "error")),
    ):
        if value not in words:
            raise typer.BadParameter(f"{option}: got {value!r}; expected {', '.join(words)}")
    from placer.node.agent.agent import DriftResponse
    from placer.node.agent.logs import log_to_stderr
    from placer.node.agent.run import AgentOptions, run_agent
    from placer.node.agent.serve import check_local_address
    from placer.node.container_roots import CONTAINER_ROOTS, check_cgroup_path_syntax
    from placer.node.errors import HostCannotApplyError, InapplicableDocumentError
    from placer.node.host import check_kubelet_root
    from placer_models.kubernetes.checkpoints.checkpoint_files import KUBELET_ROOT

    try:
        for one in (root, *(container_root or ())):
            check_cgroup_path_syntax(one)
        if listen:
            check_local_address(listen)
    except (InapplicableDocumentError, ValueError) as error:
        raise typer.BadParameter(str(error)) from None
    log_to_stderr(log_level, log_format == "json")
    options = AgentOptions(
        documents,
        state,
        node or socket.gethostname(),
        root,
        DriftResponse(on_drift),
        listen,
        report_strangers,
        clear_owned,
        tuple(container_root or CONTAINER_ROOTS),
        kubelet_root or KUBELET_ROOT,
    )
    try:
        if kubelet_root is not None:
            check_kubelet_root(kubelet_root)
        refused = run_agent(options)
    except HostCannotApplyError as error:
        error_console().print(f"placer: {error}", soft_wrap=True)
        raise typer.Exit(ExitCode.REFUSED) from None
    if refused:
        raise typer.Exit(ExitCode.REFUSED)
