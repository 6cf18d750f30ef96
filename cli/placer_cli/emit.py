"""The option ``--emit``: what a cluster is told of an answer, in a folder of its own."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import typer

from placer.kubernetes.emit.kinds import EmitKind
from placer.kubernetes.objects import ClusterObjects
from placer_models.cluster import Instance
from placer_models.message_text import count_with_noun, spelling_suggestion
from placer_models.placement import Answer, PartlyPlaced, Placed


@dataclass(frozen=True, slots=True)
class EmitOptions:
    """The kinds of objects to write, and the folder for them."""

    kinds: tuple[EmitKind, ...]
    folder: Path


def parse_emit_option(words: tuple[str, Path] | None) -> EmitOptions | None:
    """Return what the option says; None where it was not given.

    Raises:
        BadParameter: It names no kind that there is.
        OSError: Nothing can be written there.

    """
    if words is None:
        return None
    from placer.kubernetes.emit.writer import check_folder_is_new_or_empty

    said, folder = words
    kinds = tuple(dict.fromkeys(_kind(word) for word in said.split(",")))
    check_folder_is_new_or_empty(folder)
    return EmitOptions(kinds, folder)


def refuse_moves_without_evictions(emission: EmitOptions | None, instance: Instance) -> None:
    """Refuse to let pods move of whose eviction nothing would be written.

    Raises:
        BadParameter: Running pods may move, and evictions are not among the kinds.

    """
    if emission and instance.move_budget and EmitKind.EVICTIONS not in emission.kinds:
        raise typer.BadParameter(
            "running pods may move, and a bound pod cannot be bound again: say --emit evictions, "
            "too, or leave --move-budget out"
        )


def empty_cluster_objects_for_emit(emission: EmitOptions) -> ClusterObjects:
    """Return what has to be kept of a dump."""
    return ClusterObjects(keeps_whole=EmitKind.YAML in emission.kinds, bears=True)


def write_emitted_objects(
    emission: EmitOptions, objects: ClusterObjects, instance: Instance, answer: Answer
) -> str:
    """Write what the cluster is told of the answer; return what is to be said of it.

    Raises:
        OSError: It cannot be written; nothing is left of it.

    """
    from placer.kubernetes.emit.kinds import emitted_files
    from placer.kubernetes.emit.placed_pods import placed_dump
    from placer.kubernetes.emit.writer import create_folder_with_files

    if not isinstance(answer, Placed | PartlyPlaced):
        return f"nothing is placed: {emission.folder} was not written"
    evicts = EmitKind.EVICTIONS in emission.kinds
    dump = placed_dump(objects, instance, answer.placement, evicts=evicts)
    files = emitted_files(dump, emission.kinds)
    waits = dump.held_back[0].part.identity.title if dump.held_back else ""
    later = f"; nothing of {waits}: a claim of it is not made of its template yet" if waits else ""
    if not files:
        return f"no pod that is placed needs any: {emission.folder} was not written{later}"
    create_folder_with_files(emission.folder, files)
    counts = Counter(str(one["kind"]) for file in files for one in file.objects)
    written = ", ".join(f"{count:,} {kind}" for kind, count in sorted(counts.items()))
    told = f"wrote {written} in {count_with_noun(len(files), 'file')} below {emission.folder}"
    if EmitKind.BINDINGS in emission.kinds and EmitKind.CLAIMS not in emission.kinds:
        having = [one.part.identity.title for one in dump.pods if one.part.claims]
        if having:
            told += f"; {having[0]} has claims, which come first: say --emit claims, too"
    if EmitKind.BINDINGS in emission.kinds and EmitKind.VOLUMES not in emission.kinds:
        known = objects.volume_claims
        unmade = [
            one.part.identity.title
            for one in dump.pods
            for used in one.part.volumes.claims
            if (claim := known.get((one.part.identity.namespace, used.claim))) is not None
            and not claim.is_bound
        ]
        if unmade:
            told += f"; {unmade[0]} has claims without a volume, which come first: "
            told += "say --emit volumes, too"
    if dump.leaving:
        told += "; evict in the order of the names, before anything is bound"
    return told + later


def _kind(word: str) -> EmitKind:
    kinds = [kind.value for kind in EmitKind]
    if word not in kinds:
        raise typer.BadParameter(
            f"--emit: '{word}' is not one of {', '.join(kinds)}{spelling_suggestion(word, kinds)}"
        )
    return EmitKind(word)
