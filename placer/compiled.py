"""Compiled code of `placer[fast]`: taken where it is there, and worth the time to load it."""

import sys
from importlib import import_module
from typing import TypeVar

T = TypeVar("T")


def compiled_or_plain(plain: T, module: str, name: str, *, is_worth_loading: bool = True) -> T:
    """Return what a compiled module has under a name, or what does the same without Numba.

    Args:
        plain: What does the same.
        module: The compiled module.
        name: The name of what is wanted there.
        is_worth_loading: Whether the module is loaded if it is not yet. That takes a third of a
            second, and some seconds the first time on a machine.

    """
    if module not in sys.modules and not is_worth_loading:
        return plain
    try:
        found: T = getattr(import_module(module), name)
    except (ImportError, RuntimeError):
        # Numba is not there, does not know this NumPy, or finds no folder for what it compiles.
        return plain
    return found
