"""``placer queue``: simulate the fair queue, and advise thread counts."""

from placer_cli.queue.app import queue_app

__all__ = ["queue_app"]
