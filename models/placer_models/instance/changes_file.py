"""Files of changes: what if, in more words than a command line holds."""

from pathlib import Path
from typing import Literal

from placer_models.files.part import Part, PlacerFileMetadataPart
from placer_models.files.validate import read_only_document
from placer_models.whatif.change import InstanceChange, WhatIfChangeError
from placer_models.whatif.language import KINDS, FindMachine, parse_change


class ChangesFile(Part):
    """A list of changes to an instance, in the words of ``--what-if``."""

    api_version: Literal["placer/v1"]
    kind: Literal["Changes"]
    metadata: PlacerFileMetadataPart = PlacerFileMetadataPart()
    changes: tuple[str, ...]


def load_changes(path: Path, find_machine: FindMachine) -> list[InstanceChange]:
    """Return the changes of a file; ``-`` is standard input.

    Raises:
        InputError: Something is wrong; all faults are told of.

    """
    part, place = read_only_document(path, ChangesFile)
    changes: list[InstanceChange] = []
    for i, text in enumerate(part.changes):
        try:
            changes.append(parse_change(text, find_machine))
        except WhatIfChangeError as error:
            place.at("changes", i).fault(str(error))
    if not part.changes:
        place.at("changes").fault(f"got none; expected texts such as '{next(iter(KINDS))}=NODE'")
    place.faults.raise_first()
    return changes
