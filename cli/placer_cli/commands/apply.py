"""``placer apply``: the cgroups of this machine do what a placement says."""

import socket
import stat
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from placer.node.errors import HostCannotApplyError, InapplicableDocumentError
from placer_cli.console import error_console, print_drawing
from placer_cli.exits import ExitCode
from placer_cli.illegal import SkipIllegal, read_instance
from placer_cli.options import (
    ContainerRoots,
    KubeletRoot,
    format_option,
    number_option,
    output_option,
)
from placer_cli.output import (
    OutputFormat,
    json_or_yaml_text,
    output_format_of_file,
    print_json_or_yaml,
    refuse_overwriting_inputs,
    replace_file_with_text,
    write_files_below_folder,
)
from placer_models.files.errors import InputError
from placer_models.node_placement import MAX_GENERATION

if TYPE_CHECKING:
    from placer.node.cgroups import CgroupReader
    from placer.node.host import HostFactsForApply
    from placer.node.plan import CgroupPlan
    from placer.node.state import AppliedStateFolder
    from placer_models.node_placement import NodePlacement

STATE = Path("/var/lib/placer")


def apply_command(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="DOCUMENT | INSTANCE... PLACEMENT",
            help="The document of a node; or the files of an instance, and what solve wrote.",
        ),
    ],
    node: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The node. [default: this machine's name]"),
    ] = None,
    here: Annotated[
        bool,
        typer.Option("--here", help="This machine is the node, whatever its name."),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the plan, and write nothing.")
    ] = False,
    to_document: Annotated[
        Path | None,
        output_option("Write the document of the node to FILE instead.", "--document"),
    ] = None,
    documents: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Write the document of every node to FOLDER/NODE.json instead; one that says the "
            "same already is left as it is, another gets the next generation.",
        ),
    ] = None,
    render: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Write what runtimes and systemd are told of each container to FOLDER instead.",
        ),
    ] = None,
    bundle: Annotated[
        list[str] | None,
        typer.Option(
            metavar="POD/CONTAINER=FOLDER",
            help="Edit config.json of the OCI bundle in FOLDER instead; may be repeated.",
        ),
    ] = None,
    generation: Annotated[
        int | None,
        number_option(
            "Of a document that is made here. [default: one more than what was applied]",
            1,
            MAX_GENERATION,
        ),
    ] = None,
    state: Annotated[
        # Not looked at before it is needed: a plan for another node needs none.
        Path,
        typer.Option(metavar="FOLDER", readable=False, help="Where the journal is kept."),
    ] = STATE,
    root: Annotated[
        str, typer.Option(metavar="NAME", help="The cgroup below which Placer's own are.")
    ] = "placer",
    container_root: ContainerRoots = None,
    kubelet_root: KubeletRoot = None,
    form: Annotated[OutputFormat, format_option("How the plan is printed.")] = OutputFormat.TABLE,
    skip_illegal: SkipIllegal = False,
) -> None:
    """Make the cgroups of this machine say what a placement says: all of it, or nothing.

    Exit codes: 0 done; 2 bad input; 4 the node refused, or is only observed.
    """
    from placer.node.container_roots import CONTAINER_ROOTS, check_cgroup_path_syntax

    if documents is not None:
        if node or here or dry_run or to_document or render or bundle:
            raise typer.BadParameter("--documents writes those of all nodes, and nothing else")
        _write_all(files, documents, generation, skip_illegal=skip_illegal)
        return
    if not (dry_run or to_document or render or bundle):
        _refuse_open_files(files)
    wanted = _document(files, node, generation, skip_illegal=skip_illegal)
    refuse_overwriting_inputs("--document", to_document, files)
    try:
        if to_document is not None or render is not None or bundle:
            _write(wanted, to_document, render, bundle or [], root)
            return
        roots = tuple(container_root or CONTAINER_ROOTS)
        for one in roots:
            check_cgroup_path_syntax(one)
        how = _How(dry_run, root, form, kubelet_root)
        code = _apply(wanted, how, here=here, state=state, container_roots=roots)
    except InapplicableDocumentError as error:
        raise InputError(str(files[-1]), None, "", str(error)) from None
    except HostCannotApplyError as error:
        error_console().print(f"placer: {error}", soft_wrap=True)
        raise typer.Exit(ExitCode.REFUSED) from None
    raise typer.Exit(code)


def _refuse_open_files(files: list[Path]) -> None:
    """Refuse to do as root what any user may have written."""
    for file in files:
        if file.is_file() and file.stat().st_mode & stat.S_IWOTH:
            message = (
                "every user of this machine may write it; "
                f"'chmod o-w {file}', and look at what it says"
            )
            raise InputError(str(file), None, "", message)


def _document(
    files: list[Path], node: str | None, generation: int | None, *, skip_illegal: bool
) -> "NodePlacement":
    """Read the document of a node, or make it of an instance and a placement."""
    from placer.load import load_placement
    from placer.node.document import placement_of_node
    from placer_models.files.documents import load_documents
    from placer_models.instance.node_file import read_node_placement_document
    from placer_models.message_text import near_or_first_names_text

    if len(files) == 1:
        documents = load_documents(files[0])
        found = read_node_placement_document(documents[0])
        if len(documents) > 1:
            message = f"got {len(documents)} documents; expected one"
            raise InputError(documents[0].file, None, "", message)
        if node is not None and node != found.node.name:
            message = f"is for node '{found.node.name}', not for '{node}'"
            raise InputError(str(files[0]), None, "node.name", message)
        return found if generation is None else replace(found, generation=generation)
    instance = read_instance(files[:-1], _nothing, skip_illegal=skip_illegal)
    placement = load_placement(files[-1])
    name = socket.gethostname() if node is None else node
    one = next((one for one in instance.nodes if one.name == name), None)
    if one is None:
        known = near_or_first_names_text(name, [one.name for one in instance.nodes])
        message = f"no node '{name}' is given{known}; name it by --node"
        raise InputError(str(files[0]), None, "nodes", message)
    return placement_of_node(one, instance, placement, generation or 0)


def _nothing(_: object) -> None:
    """Say nothing of what became of the objects of a dump: `solve` has said it."""


def _write_all(
    files: list[Path], folder: Path, generation: int | None, *, skip_illegal: bool
) -> None:
    """Write the documents of all nodes; none, where one of them cannot be."""
    from placer.load import load_placement
    from placer.node.document import node_placement_faults, placement_of_each_node
    from placer_models.instance.node_file import node_placement_document_to_dict

    if len(files) == 1:
        message = "is all that is given; expected the files of an instance, and what solve wrote"
        raise InputError(str(files[0]), None, "", message)
    instance = read_instance(files[:-1], _nothing, skip_illegal=skip_illegal)
    found = list(placement_of_each_node(instance, load_placement(files[-1])))
    for one in found:
        if faults := node_placement_faults(one):
            raise InputError(str(files[-1]), None, "", f"node '{one.node.name}': {faults[0]}")
    numbered = [_renewed(folder / f"{one.node.name}.json", one, generation) for one in found]
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    written = [one for one in numbered if one is not None]
    for one in written:
        text = json_or_yaml_text(node_placement_document_to_dict(one), OutputFormat.JSON)
        replace_file_with_text(folder / f"{one.node.name}.json", text)
    kept = len(found) - len(written)
    said = f"{folder}: {len(written)} of {len(found)} documents written, {kept} said it before"
    error_console().print(said, soft_wrap=True)


def _renewed(file: Path, wanted: "NodePlacement", generation: int | None) -> "NodePlacement | None":
    """Return a document with its generation; None where the file says the same already."""
    from placer.node.apply import next_document_generation
    from placer_models.files.documents import load_documents
    from placer_models.instance.node_file import read_node_placement_document

    if not file.exists():
        return replace(wanted, generation=generation or 1)
    before = read_node_placement_document(load_documents(file)[0])
    if replace(wanted, generation=before.generation) == before:
        if generation in (None, before.generation):
            return None
        return replace(wanted, generation=generation)
    try:
        after = generation or next_document_generation(
            before.generation, file, Path("its applied.json")
        )
    except InapplicableDocumentError as error:
        raise InputError(str(file), None, "generation", str(error)) from None
    return replace(wanted, generation=after)


def _write(
    wanted: "NodePlacement",
    to_document: Path | None,
    render: Path | None,
    bundles: list[str],
    root: str,
) -> None:
    from placer.node.document import node_placement_faults
    from placer.node.render.folder import edited_oci_config, rendered_container_files
    from placer_models.instance.node_file import node_placement_document_to_dict

    wanted = replace(wanted, generation=wanted.generation or 1)
    if faults := node_placement_faults(wanted):
        raise InapplicableDocumentError(faults[0])
    if to_document is not None:
        text = json_or_yaml_text(
            node_placement_document_to_dict(wanted), output_format_of_file(to_document)
        )
        replace_file_with_text(to_document, text)
    if render is not None:
        try:
            texts = rendered_container_files(wanted, root)
        except ValueError as error:
            raise InapplicableDocumentError(str(error)) from None
        write_files_below_folder(render, texts)
    for text in bundles:
        name, _, folder = text.partition("=")
        config = Path(folder) / "config.json"
        try:
            edited = edited_oci_config(wanted, name, config.read_text(encoding="utf-8"), root)
        except ValueError as error:
            raise InputError(str(config), None, "", str(error)) from None
        replace_file_with_text(config, edited)


class _How(NamedTuple):
    """The options that say how a document is applied; they are those of the command."""

    dry_run: bool
    root: str
    form: OutputFormat
    kubelet_root: str | None


def _apply(
    wanted: "NodePlacement",
    how: _How,
    *,
    here: bool,
    state: Path,
    container_roots: tuple[str, ...],
) -> ExitCode:
    from contextlib import closing

    from placer.node.cgroups import CgroupReader
    from placer.node.host import HostFactsForApply
    from placer.node.mounts import kernel_cgroup_filesystem
    from placer.node.no_cgroups import ReadOnlyRootCgroup
    from placer.node.plan import cgroup_plan_of
    from placer.node.state import AppliedStateFolder
    from placer.node.systemd_units import SystemdBusClient

    name = wanted.node.name
    is_here = here or name == socket.gethostname()
    if not is_here and not how.dry_run:
        raise InapplicableDocumentError(
            f"the document is for node '{name}', and this machine is '{socket.gethostname()}'; if "
            "it is the node all the same, say --here"
        )
    kept = AppliedStateFolder(state)
    if not is_here:
        wanted = replace(wanted, generation=wanted.generation or 1)
        blank = CgroupReader(ReadOnlyRootCgroup(wanted.node))
        plan = cgroup_plan_of(wanted, blank, HostFactsForApply(name), root=how.root)
        _print(wanted, plan, f"on an empty node (this machine is not {name})", how.form)
        return ExitCode.DONE
    with closing(SystemdBusClient()) as units:
        cgroups = CgroupReader(kernel_cgroup_filesystem(), units, container_roots)
        return _apply_here(wanted, cgroups, kept, how)


def _apply_here(
    wanted: "NodePlacement", cgroups: "CgroupReader", kept: "AppliedStateFolder", how: _How
) -> ExitCode:
    from placer.node.apply import (
        apply_to_this_host,
        check_document_generation,
        retry_while_cgroups_vanish,
    )
    from placer.node.host import check_kubelet_root, read_host_facts
    from placer.node.locks import locked_cgroup_root
    from placer.node.plan import cgroup_plan_of
    from placer_models.kubernetes.checkpoints.checkpoint_files import KUBELET_ROOT

    def host() -> "HostFactsForApply":
        return read_host_facts(kubelet_root=how.kubelet_root or KUBELET_ROOT)

    if how.kubelet_root is not None:
        check_kubelet_root(how.kubelet_root)
    if how.dry_run:
        previous = kept.applied()
        wanted = _numbered(wanted, kept)
        check_document_generation(wanted, kept)
        plan = retry_while_cgroups_vanish(
            lambda: cgroup_plan_of(wanted, cgroups, host(), root=how.root, previous=previous)
        )
        _print(wanted, plan, "to be made", how.form)
        kept.check_may_write()
        return ExitCode.REFUSED if plan.observed or plan.left_alone else ExitCode.DONE
    with kept.locked(), locked_cgroup_root(cgroups, how.root, kept.folder):
        wanted = _numbered(wanted, kept)
        applied = apply_to_this_host(wanted, cgroups, host, kept, root=how.root)
    if applied.recovered:
        error_console().print(f"placer: {applied.recovered}", soft_wrap=True)
    _print(wanted, applied.plan, "made", how.form, recovered=applied.recovered, applied=True)
    refused = applied.plan.observed or applied.plan.left_alone
    return ExitCode.REFUSED if refused else ExitCode.DONE


def _numbered(wanted: "NodePlacement", kept: "AppliedStateFolder") -> "NodePlacement":
    """Give a document that is made here the next generation, if it is another one."""
    from placer.node.apply import next_document_generation
    from placer.node.state import APPLIED

    previous = kept.applied()
    if wanted.generation:
        return wanted
    before = previous.generation if previous else 0
    if previous is not None and replace(wanted, generation=before) == previous:
        return previous
    return replace(wanted, generation=next_document_generation(before, kept.folder / APPLIED))


def _print(
    wanted: "NodePlacement",
    plan: "CgroupPlan",
    done: str,
    form: OutputFormat,
    *,
    recovered: str = "",
    applied: bool = False,
) -> None:
    from placer_cli.draw.plan import cgroup_plan_to_dict, draw_cgroup_plan

    if form is OutputFormat.TABLE:
        print_drawing(lambda canvas: draw_cgroup_plan(wanted, plan, done, canvas))
    else:
        tree = cgroup_plan_to_dict(wanted, plan, applied=applied, recovered=recovered)
        print_json_or_yaml(tree, form)
