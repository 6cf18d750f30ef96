"""The option ``--skip-illegal``, and notes on the illegal pods that were read."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from placer_cli.console import note
from placer_models.cluster import Instance
from placer_models.placement import title_of
from placer_models.reasons import Illegal

if TYPE_CHECKING:
    from placer.kubernetes.summary import Summary

SkipIllegal = Annotated[
    bool,
    typer.Option(
        "--skip-illegal",
        help="Leave out pods that ask for what no pod may ask for, and count those that run as "
        "misfits. Of a cluster's objects they always are.",
    ),
]
"""Whether illegal pods of files end the command or not."""


def read_instance(
    paths: Sequence[Path],
    on_summary: Callable[["Summary"], object],
    *,
    skip_illegal: bool,
    on_file: Callable[[Path], object] | None = None,
) -> Instance:
    """Read the files of one instance, and name its illegal pods.

    Args:
        paths: The files.
        on_summary: Told what became of the objects of a dump.
        skip_illegal: The option.
        on_file: Told of each further file.

    Raises:
        InputError: Something is wrong with them.

    """
    from placer.load import load_instance

    dumps: list[Summary] = []
    found = load_instance(paths, on_file, dumps.append, skip_illegal=skip_illegal)
    for summary in dumps:
        on_summary(summary)
    if not dumps:
        note_illegal(found)
    return found


def note_illegal(instance: Instance) -> None:
    """Name the illegal pods of files; pods that are illegal alike are named together.

    The summary of a dump names those of a dump.
    """
    from placer_cli.draw.texts import fold_names

    for begin, pods in (
        ("illegal, not placed", _waiting(instance)),
        ("illegal, running", ((r.pod.title, r.illegal) for r in instance.running if r.illegal)),
    ):
        by_why: dict[str, list[str]] = {}
        for title, why in pods:
            by_why.setdefault(why, []).append(title)
        for why, titles in by_why.items():
            note(f"{begin}: {fold_names(titles)}: {why}")


def _waiting(instance: Instance) -> Iterator[tuple[str, str]]:
    for one in instance.left_out:
        for why in one.why:
            if isinstance(why, Illegal):
                yield title_of(one.namespace, one.name), why.text
