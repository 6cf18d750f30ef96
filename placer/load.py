"""Loader of any input document, which recognizes its kind and finds machines by name or path."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from placer_models.cluster import Instance, Machine
from placer_models.files.documents import (
    API_VERSION,
    DocumentInFile,
    documents_in_text,
    load_documents,
    read_text,
    shown_file_name,
)
from placer_models.files.errors import InputError
from placer_models.files.validate import only_document
from placer_models.instance.build import (
    MACHINE,
    PLACEMENT,
    build_instance_from_placer_files,
    defaults_beside_objects,
    document_kind,
    machine_from_document,
)
from placer_models.instance.placement_claims import OutcomeInPlacementFile
from placer_models.instance.placement_file import (
    placement_and_outcome_from_document,
    placement_from_document,
)
from placer_models.kubernetes.stream import holds_kubernetes_objects
from placer_models.kubernetes.who_waits import ALL, WaitingPodFilter
from placer_models.machines.catalogue import catalogue_machine_names, load_machine
from placer_models.machines.nvidia_topo import GpuTopologyError, machine_from_topo_text
from placer_models.placement import Placement
from placer_models.typed import check_argument_types

if TYPE_CHECKING:
    from placer.kubernetes.objects import ClusterObjects
    from placer.kubernetes.summary import DumpSummary
    from placer.plan.question import NodeOffer, PlanQuestion

_FILE_SUFFIXES = (".yaml", ".yml", ".json", ".txt")
_NO_NAME = re.compile(r"[^A-Za-z0-9._-]+")
_TOPO_HEADER = re.compile(r"\bGPU *#?\d+\b")


OnFile = Callable[[Path], object]
"""Called with each further file that an instance refers to, such as a machine's."""

OnSummary = Callable[["DumpSummary"], object]
"""Called with the summary of what became of the objects of a dump."""


@check_argument_types
def load_instance(
    paths: Sequence[Path],
    on_file: OnFile | None = None,
    on_summary: OnSummary | None = None,
    *,
    skip_illegal: bool = False,
    who: WaitingPodFilter = ALL,
    bears_faults: bool = False,
) -> Instance:
    """Return the instance that the files make together; ``-`` is standard input.

    Nodes may stand in one file, pods in another and machines in a third. Files of Kubernetes'
    objects are read as a dump of a cluster; beside them a document of ours may give the defaults
    of its scheduler (C22).

    Args:
        paths: The files.
        on_file: Told of each further file.
        on_summary: Told what became of the objects of a dump.
        skip_illegal: Whether pods that can be read, and ask for what no pod may ask for, are left
            out (`Instance.left_out`) if they wait, and are misfits if they run. Those of a dump
            always are; in other files they are errors otherwise.
        who: Which of the pods that wait in a dump are to be placed; by default all but gated ones.
        bears_faults: Whether Nodes, Pods and what describes nodes may be faulty in a dump: they
            loosen nothing, and the summary tells of them (`ClusterObjects.bears`).

    Raises:
        InputError: Something is wrong; there is one message, for the first fault.

    """
    dumps = [path for path in paths if holds_kubernetes_objects(path)]
    if not dumps:
        read = [doc for path in paths for doc in _documents(read_text(path), path)]
        return build_instance_from_placer_files(read, _Finder(on_file), skip_illegal=skip_illegal)
    return _dump(paths, dumps, _objects(bears_faults=bears_faults), on_summary, who)


def load_cluster(
    paths: Sequence[Path],
    objects: "ClusterObjects",
    on_summary: OnSummary | None = None,
    who: WaitingPodFilter = ALL,
) -> Instance:
    """Return the instance of a cluster whose objects the files hold.

    Args:
        paths: The files, with those that `load_instance` takes beside them; ``-`` is standard
            input.
        objects: Gets the objects that were read.
        on_summary: As in `load_instance`.
        who: As in `load_instance`.

    Raises:
        InputError: Something is wrong with them, or some file holds no objects of Kubernetes.

    """
    dumps = [path for path in paths if holds_kubernetes_objects(path)]
    if not dumps:
        raise _no_objects(paths[0], "; get them: kubectl get nodes,pods -A -o yaml")
    return _dump(paths, dumps, objects, on_summary, who)


def load_question(
    plan: Path,
    paths: Sequence[Path] = (),
    on_summary: OnSummary | None = None,
    more: Sequence[tuple[str, int]] = (),
) -> "PlanQuestion":
    """Return the question of a plan, with the instance or the cluster that it is asked about.

    Args:
        plan: The file of the plan; ``-`` is standard input.
        paths: The files of the instance, or of a cluster's objects.
        on_summary: As in `load_instance`.
        more: Names of pods and gangs, as [NAMESPACE/]NAME, each with how many more of it wait.

    Raises:
        InputError: Something is wrong; it tells all faults.
        ValueError: A name of ``more`` means no pod and no gang.

    """
    from placer.plan.file import read_question

    document = only_document(plan, "Plan")
    find = _Finder()
    if any(holds_kubernetes_objects(path) for path in paths):
        cluster = load_instance(paths, on_summary=on_summary, bears_faults=True)
        return read_question(document, (), find, cluster, more)
    documents = [doc for path in paths for doc in load_documents(path)]
    return read_question(document, documents, find, more=more)


def load_offers(plan: Path, cluster: Instance) -> "tuple[tuple[NodeOffer, ...], str]":
    """Return the offers of a plan's file, and the currency of their prices.

    Args:
        plan: The file of the plan; ``-`` is standard input.
        cluster: The nodes that are there, and what runs on them.

    Raises:
        InputError: Something is wrong with the plan; it tells all faults.

    """
    from placer.plan.file import read_offers

    return read_offers(only_document(plan, "Plan"), _Finder(), cluster)


def _no_objects(path: Path, mend: str) -> InputError:
    """Return the error of a file without objects of Kubernetes.

    Raises:
        InputError: The file cannot be read.

    """
    message = f"holds no objects of Kubernetes{mend}"
    if not read_text(path).strip():
        message = (
            "is empty; kubectl writes nothing where the cluster lacks one of the kinds that it is "
            "asked for: leave that kind out"
        )
    return InputError(shown_file_name(path), None, "", message)


@check_argument_types
def load_placement(path: Path) -> Placement:
    """Return the placement of a file, written by ``placer solve`` or otherwise.

    Raises:
        InputError: Something is wrong with it.

    """
    return load_placement_with_outcome(path)[0]


def load_placement_with_outcome(path: Path) -> tuple[Placement, OutcomeInPlacementFile]:
    """Return the placement of a file, and the file's claims about it.

    Raises:
        InputError: Something is wrong with it.

    """
    documents = load_documents(path)
    if len(documents) != 1 or document_kind(documents[0]) != PLACEMENT:
        got = document_kind(documents[0]) if len(documents) == 1 else f"{len(documents)} documents"
        message = f"expected one document of 'kind: {PLACEMENT}', got {got}"
        raise InputError(shown_file_name(path), None, "", message)
    return placement_and_outcome_from_document(documents[0])


def load_any(
    path: Path,
    on_file: OnFile | None = None,
    on_summary: OnSummary | None = None,
    *,
    skip_illegal: bool = False,
    who: WaitingPodFilter = ALL,
    bears_faults: bool = False,
) -> Instance | Placement | Machine:
    """Return whatever the file holds: an instance, a placement or a machine.

    A machine may be a document of ours or the text of ``nvidia-smi topo -m``; the other arguments
    are those of `load_instance`.

    Raises:
        InputError: Something is wrong with it.

    """
    if holds_kubernetes_objects(path):
        return _dump([path], [path], _objects(bears_faults=bears_faults), on_summary, who)
    text = read_text(path)
    if _is_topo(text, path):
        return _read_topo(text, path)
    documents = _documents(text, path)
    kinds = [document_kind(document) for document in documents]
    if kinds == [PLACEMENT]:
        return placement_from_document(documents[0])
    if kinds == [MACHINE]:
        return machine_from_document(documents[0])
    return build_instance_from_placer_files(documents, _Finder(on_file), skip_illegal=skip_illegal)


def is_catalogue_machine(machine: Machine) -> bool:
    """Return whether a file that names the machine means this very machine.

    The writer of instances asks this: it writes other machines out in full.
    """
    return machine.name in catalogue_machine_names() and load_machine(machine.name) == machine


def load_machine_file(path: Path) -> Machine:
    """Return the machine of a file: a document of ours, or ``nvidia-smi topo -m`` text.

    Raises:
        InputError: Something is wrong with it.

    """
    text = read_text(path)
    if _is_topo(text, path):
        return _read_topo(text, path)
    documents = documents_in_text(text, path)
    kinds = [document_kind(document) for document in documents]
    # Told by the kind, before reading: an instance might lead to further files, and back here.
    if kinds != [MACHINE]:
        message = (
            f"got {', '.join(kinds)}; expected one document of 'kind: {MACHINE}', "
            "or the text of 'nvidia-smi topo -m'"
        )
        raise InputError(shown_file_name(path), None, "", message)
    return machine_from_document(documents[0])


class _Finder:
    """Finds machines by name in the catalogue, and by path; reads each file once."""

    def __init__(self, on_file: OnFile | None = None) -> None:
        self._on_file = on_file
        self._read: dict[Path, Machine] = {}

    def __call__(self, name: str, document: DocumentInFile) -> Machine:
        if "/" not in name and not name.endswith(_FILE_SUFFIXES):
            return load_machine(name)
        path = document.folder / name
        if path not in self._read:
            if self._on_file is not None:
                self._on_file(path)
            self._read[path] = load_machine_file(path)
        return self._read[path]


def _objects(*, bears_faults: bool) -> "ClusterObjects":
    from placer.kubernetes.objects import ClusterObjects

    return ClusterObjects(bears=bears_faults)


def _dump(
    paths: Sequence[Path],
    dumps: Sequence[Path],
    objects: "ClusterObjects",
    on_summary: OnSummary | None,
    who: WaitingPodFilter,
) -> Instance:
    """Return the instance of a cluster, whose objects some of the files hold."""
    from placer.kubernetes.dump import read_dump

    documents = [doc for path in paths if path not in dumps for doc in _documents_beside(path)]
    defaults = defaults_beside_objects(documents, shown_file_name(dumps[0]))
    instance, summary = read_dump(dumps, objects, defaults, who)
    if on_summary is not None:
        on_summary(summary)
    return instance


def _documents_beside(path: Path) -> tuple[DocumentInFile, ...]:
    """Return the documents of a file that stands beside the objects of a cluster."""
    if not read_text(path).strip():
        raise _no_objects(path, "")
    return load_documents(path)


def _documents(text: str, path: Path) -> tuple[DocumentInFile, ...]:
    """Return the documents of a text, in place of which a dump might stand, too."""
    if not text.strip():
        message = (
            f"is empty; expected a document that begins with 'apiVersion: {API_VERSION}', "
            "or the objects of a cluster: "
            "kubectl writes nothing where the cluster lacks one of the kinds that it is asked for"
        )
        raise InputError(shown_file_name(path), None, "", message)
    return documents_in_text(text, path)


def _is_topo(text: str, path: Path) -> bool:
    ours = path.suffix in (".yaml", ".yml", ".json") or "apiVersion" in text
    return not ours and _TOPO_HEADER.search(text) is not None


def _read_topo(text: str, path: Path) -> Machine:
    name = _NO_NAME.sub("-", path.stem).strip("-._") or "machine"
    try:
        return machine_from_topo_text(text, name=name)
    except GpuTopologyError as error:
        raise InputError(shown_file_name(path), None, "", str(error)) from None
