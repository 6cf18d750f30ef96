"""What tests count for people to read: `pytest -rP` shows it."""

import sys


def tell(figures: str) -> None:
    """Say figures that a test has come to."""
    sys.stdout.write(f"{figures}\n")
