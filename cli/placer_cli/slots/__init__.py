"""``placer slots``: compile dataflow jobs into slots and memory fractions."""

from placer_cli.slots.app import slots_app

__all__ = ["slots_app"]
