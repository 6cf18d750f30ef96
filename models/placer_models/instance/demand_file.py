"""Files of the pods that are expected: ``placer solve --demand FILE``."""

from pathlib import Path
from typing import Literal

from placer_models.demand import ExpectedDemand
from placer_models.files.part import MetadataPart
from placer_models.files.validate import read_only_document
from placer_models.instance.demand import read_demand
from placer_models.instance.demand_schema import ExpectedDemandPart


class DemandFile(ExpectedDemandPart):
    """The pods that are expected, in a file of their own."""

    api_version: Literal["placer/v1"]
    kind: Literal["Demand"]
    metadata: MetadataPart = MetadataPart()


def load_demand(path: Path) -> ExpectedDemand:
    """Return the demand of a file; ``-`` is standard input.

    Raises:
        InputError: Something is wrong; all faults are told of.

    """
    part, place = read_only_document(path, DemandFile)
    demand = read_demand(part, place)
    place.faults.raise_first()
    assert demand is not None  # What has none has faults.
    return demand
