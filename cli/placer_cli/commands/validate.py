"""``placer validate``: is a file what it should be?"""

from pathlib import Path
from typing import Annotated

import typer

from placer_cli.console import print_dump_summary
from placer_cli.exits import ExitCode
from placer_cli.illegal import SkipIllegal, read_any_document, read_instance
from placer_models.cluster import Instance, Machine
from placer_models.files.errors import InputError
from placer_models.message_text import count_with_noun
from placer_models.placement import Placement
from placer_models.quantity import format_bytes


def validate_command(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE",
            help="Instances, placements, machines, dumps of clusters, the text of nvidia-smi "
            "topo -m, or checkpoints of a kubelet under their own names.",
        ),
    ],
    together: Annotated[
        bool, typer.Option("--together", help="Read the files as one instance, as solve does.")
    ] = False,
    skip_illegal: SkipIllegal = False,
) -> None:
    """Read each FILE and say what it holds, or what is wrong with it.

    Exit codes: 0 all files are good; 1 illegal pods that wait are left out; 2 a file is not good.
    """
    from placer_models.kubernetes.checkpoints.checkpoint_files import is_checkpoint

    if together:
        instance = read_instance(files, print_dump_summary, skip_illegal=skip_illegal)
        legal = _say(", ".join(map(str, files)), instance)
        raise typer.Exit(ExitCode.DONE if legal else ExitCode.NOT_ALL)
    bad, legal = False, True
    for file in files:
        try:
            if is_checkpoint(file.name):
                typer.echo(f"{file}: {_given_out(file)}")
            else:
                found = read_any_document(file, print_dump_summary, skip_illegal=skip_illegal)
                legal &= _say(str(file), found)
        except InputError as error:
            bad = True
            for message in error.messages:
                typer.echo(f"placer: {message}", err=True)
    raise typer.Exit(ExitCode.BAD_INPUT if bad else ExitCode.DONE if legal else ExitCode.NOT_ALL)


def _say(files: str, found: Instance | Placement | Machine) -> bool:
    """Say what files hold, and what is not well with running pods.

    Returns:
        Whether all pods that wait are legal.

    """
    typer.echo(f"{files}: {_holds(found)}")
    if isinstance(found, Instance):
        from placer_cli.draw.health import notes_on_running_pods

        for note in notes_on_running_pods(found):
            typer.echo(f"{files}: {note}")
        return not found.left_out
    return True


def _given_out(file: Path) -> str:
    """Say what a checkpoint of a kubelet says that it has given out.

    Raises:
        InputError: It is none, or cannot be read.

    """
    from placer_models.kubernetes.checkpoints.checkpoint_files import read_checkpoint
    from placer_models.kubernetes.checkpoints.cpu_manager import KubeletCpuManagerState
    from placer_models.kubernetes.checkpoints.go_types import KubeletCheckpointError
    from placer_models.kubernetes.checkpoints.memory_manager import KubeletMemoryManagerState

    try:
        state = read_checkpoint(file.name, file.read_bytes().decode())
    except OSError as error:
        raise InputError(
            str(file), None, "", f"cannot be read: {error.strerror or error}"
        ) from None
    except UnicodeDecodeError:
        raise InputError(str(file), None, "", "is not UTF-8") from None
    except KubeletCheckpointError as error:
        raise InputError(str(file), None, "", str(error)) from None
    match state:
        case KubeletCpuManagerState():
            cpus = frozenset[int]().union(*state.cpus.values())
            return (
                f"the state of a kubelet's CPU manager, policy {state.policy}: "
                f"{count_with_noun(len(cpus), 'CPU')} of {count_with_noun(len(state.cpus), 'pod')}"
            )
        case KubeletMemoryManagerState():
            given = sum(state.given_bytes.values())
            return (
                f"the state of a kubelet's memory manager, policy {state.policy}: "
                f"{format_bytes(given)} of {count_with_noun(len(state.pods), 'pod')}"
            )
        case _:
            ids = sum(len(entry.ids) for entry in state.held)
            pods = len({entry.pod_uid for entry in state.held if entry.ids})
            return (
                f"the checkpoint of a kubelet's device manager: {count_with_noun(ids, 'device')} "
                f"of {count_with_noun(pods, 'pod')}"
            )


def _holds(found: Instance | Placement | Machine) -> str:
    from placer_cli.draw.residents import is_non_system_pod
    from placer_cli.draw.texts import policy_defaults_in_words

    match found:
        case Instance():
            pods = sum(len(gang.pods) for gang in found.gangs)
            gangs = sum(not gang.lone for gang in found.gangs)
            running = sum(is_non_system_pod(one.pod) for one in found.running)
            return "; ".join(
                (
                    f"an instance of {count_with_noun(len(found.nodes), 'node')}, "
                    f"{count_with_noun(running, 'running pod')}, "
                    f"{count_with_noun(pods, 'waiting pod')} and {count_with_noun(gangs, 'gang')}",
                    *policy_defaults_in_words(found.common_defaults),
                )
            )
        case Placement():
            return f"a placement of {count_with_noun(len(found.pods), 'pod')}"
        case Machine():
            gpus = sum(device.type == "gpu" for device in found.devices)
            return (
                f"a machine of {count_with_noun(len(found.topology.cpus), 'CPU')}, "
                f"{count_with_noun(len(found.topology.numa_nodes), 'NUMA node')} "
                f"and {count_with_noun(gpus, 'GPU')}"
            )
