"""The old place of ``instance.machine_cores``, until its last caller has moved."""

from placer_models.instance.machine_cores import Numbering as Numbering
from placer_models.instance.machine_cores import split_cores as split_cores
