"""The option ``--skip-illegal``, and notes on the illegal pods that were read."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from placer_cli.console import print_note
from placer_cli.who_waits import refuse_cluster_options
from placer_models.cluster import Instance, Machine
from placer_models.files.errors import InputError
from placer_models.kubernetes.who_waits import ALL, WaitingPodFilter
from placer_models.left_out import PodLeftOutBeforeSolve
from placer_models.placement import Placement
from placer_models.reasons import Illegal

if TYPE_CHECKING:
    from placer.kubernetes.summary import DumpSummary

    OnDump = Callable[[DumpSummary], object]

_Read = TypeVar("_Read", bound=Instance | Placement | Machine)

SkipIllegal = Annotated[
    bool,
    typer.Option(
        "--skip-illegal",
        help="Leave out pods that ask for what no pod may ask for, and count those that run as "
        "misfits. Of a cluster's objects they always are.",
    ),
]
"""Whether illegal pods of files end the command or not."""


class IllegalPodsError(InputError):
    """Pods of files are illegal, and nothing else is wrong; it names the option."""

    def __str__(self) -> str:
        return f"{super().__str__()}; --skip-illegal goes on with the rest"


@contextmanager
def naming_skip_illegal_in_errors() -> Iterator[None]:
    """Let errors of reading name the option where it helps.

    Raises:
        InputError: Something is wrong.

    """
    try:
        yield
    except InputError as error:
        if not error.illegal:
            raise
        raise IllegalPodsError(
            error.file, error.line, error.field, error.message, more=error.more, illegal=True
        ) from None


def read_instance(
    paths: Sequence[Path],
    on_summary: "OnDump",
    *,
    skip_illegal: bool,
    on_file: Callable[[Path], object] | None = None,
    who: WaitingPodFilter = ALL,
    bears_faults: bool = False,
) -> Instance:
    """Read the files of one instance, and name its illegal pods.

    Args:
        paths: The files.
        on_summary: Told what became of the objects of a dump.
        skip_illegal: The option.
        on_file: Told of each further file.
        who: Which of the pods that wait in a dump are to be placed.
        bears_faults: As in `load_instance`.

    Raises:
        InputError: Something is wrong with them.
        BadParameter: Something was said of that, and the files are no dump.

    """
    from placer.load import load_instance

    load = partial(load_instance, paths, on_file, skip_illegal=skip_illegal, who=who)
    return _told(partial(load, bears_faults=bears_faults), on_summary, who)


def read_any_document(
    path: Path,
    on_summary: "OnDump",
    *,
    skip_illegal: bool,
    on_file: Callable[[Path], object] | None = None,
    who: WaitingPodFilter = ALL,
    bears_faults: bool = False,
) -> Instance | Placement | Machine:
    """Read whatever a file holds; the arguments are those of `read_instance`.

    Raises:
        InputError: Something is wrong with it.
        BadParameter: As there.

    """
    from placer.load import load_any

    load = partial(load_any, path, on_file, skip_illegal=skip_illegal, who=who)
    return _told(partial(load, bears_faults=bears_faults), on_summary, who)


def _told(load: Callable[["OnDump"], _Read], on_summary: "OnDump", who: WaitingPodFilter) -> _Read:
    """Return what is loaded, and tell what became of a dump, or of a file's illegal pods."""
    dumps: list[DumpSummary] = []
    with naming_skip_illegal_in_errors():
        found = load(dumps.append)
    refuse_cluster_options(who, is_cluster=bool(dumps))
    for summary in dumps:
        on_summary(summary)
    if isinstance(found, Instance) and not dumps:
        _note_illegal(found)
    return found


def _note_illegal(instance: Instance) -> None:
    """Name the illegal pods of files, and who is left out with them; alike ones together.

    The summary of a dump names the illegal pods of a dump.
    """
    from placer_cli.draw.texts import names_as_host_lists

    for begin, pods in (
        ("illegal, not placed", _waiting(instance)),
        ("illegal, running", ((r.pod.title, r.illegal) for r in instance.running if r.illegal)),
    ):
        by_why: dict[str, list[str]] = {}
        for title, why in pods:
            by_why.setdefault(why, []).append(title)
        for why, titles in by_why.items():
            print_note(f"{begin}: {names_as_host_lists(titles)}: {why}")
    beside = [one.title for one in instance.left_out if not _bad(one)]
    if beside:
        print_note(f"not placed without illegal members: {names_as_host_lists(beside)}")


def _waiting(instance: Instance) -> Iterator[tuple[str, str]]:
    for one in instance.left_out:
        for why in _bad(one):
            yield one.title, why.text


def _bad(one: PodLeftOutBeforeSolve) -> list[Illegal]:
    """Return what is illegal about a pod itself."""
    return [why for why in one.why if isinstance(why, Illegal)]
