"""The old place of ``instance.machine_links``, until its last caller has moved."""

from placer_models.instance.machine_links import SELF as SELF
