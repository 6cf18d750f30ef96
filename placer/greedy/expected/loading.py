"""Loading of compiled scores, which Numba reads from what it kept on this machine, or compiles.

Reading takes a quarter of a second, compiling some seconds of CPU, once. Numba keeps what it
compiled beside the package, or where nobody may write there, in the user's cache, or where
NUMBA_CACHE_DIR says; where it may write nowhere it compiles nothing, and NumPy's scores do.
"""

import logging
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from placer.compiled import compiled_or_plain, digest_of_sources, source_digest_path
from placer_models.cluster import NodesWithCachedFacts

log = logging.getLogger(__name__)

_COMPILED = "placer.greedy.expected.compiled_scores"

WORTH_LOADING_S = 3.0
"""Seconds that have to be left before compiled scores are loaded, which takes a quarter of one."""

WORTH_COMPILING_S = 30.0
"""The same where they are not compiled yet: the first time on a machine that takes 5 s of CPU."""

MANY_NODES = 100
"""With fewer nodes the reference does."""


def preload_compiled_scores(nodes: NodesWithCachedFacts) -> None:
    """Load compiled scores before a call needs them, if nodes make it worth and they are kept.

    Then calls have them whatever their time. Nothing is compiled.
    """
    if _COMPILED in sys.modules or len(nodes) < MANY_NODES:
        return
    if nodes.have_gpus and _are_kept():
        load_compiled_scores()


def is_compiled_worth_loading(nodes: int, left_s: float) -> bool:
    """Return whether compiled scores are loaded already, or nodes and seconds make it worth."""
    if _COMPILED in sys.modules:
        return True
    if nodes < MANY_NODES or left_s < WORTH_LOADING_S:
        return False
    return left_s >= WORTH_COMPILING_S or _are_kept()


def load_compiled_scores() -> Callable[..., Any] | None:
    """Return `CompiledWorthLossCalculator`, ready; None: no Numba, or it may write nowhere."""
    is_first = _COMPILED not in sys.modules
    nothing: Callable[..., Any] | None = None
    scores = compiled_or_plain(nothing, _COMPILED, "CompiledWorthLossCalculator")
    make_ready = compiled_or_plain(nothing, _COMPILED, "warm_up_compiled_scores")
    if is_first and make_ready is not None:
        kept = _are_kept()
        if not kept:
            log.info("compiling scores for strategy expected, once on this machine, some seconds")
        make_ready()
        if not kept:
            _note_as_kept()
    return scores


_SOURCE = Path(__file__).with_name(f"{_COMPILED.rpartition('.')[2]}.py")


def _are_kept() -> bool:
    """Return whether Numba has kept what it compiled of the sources as they are.

    Numba itself is not asked: that would load it.
    """
    changed_s = _SOURCE.stat().st_mtime
    digest = digest_of_sources(_COMPILED)
    return any(
        index.stat().st_mtime >= changed_s and _digest_beside(index) == digest
        for index in _indices()
    )


def _digest_beside(index: Path) -> str:
    file = source_digest_path(index.parent, _COMPILED)
    return file.read_text() if file.exists() else ""


def _note_as_kept() -> None:
    """Let what Numba has kept count as compiled now: a source may be new and say the same."""
    for index in _indices():
        with suppress(OSError):  # It may be somebody else's.
            index.touch()


def _indices() -> Iterator[Path]:
    """Yield the files by which Numba finds what it compiled for this Python."""
    python = f"py{sys.version_info[0]}{sys.version_info[1]}{sys.abiflags}"
    folder = next(filter(_is_writable, _folders()), None)
    if folder is not None:
        yield from folder.rglob(f"{_SOURCE.stem}._lost-*.{python}.nbi")


def _folders() -> Iterator[Path]:
    """Yield where Numba keeps what it compiles: the first folder where it may write."""
    if said := os.environ.get("NUMBA_CACHE_DIR"):
        yield Path(said)
    yield Path(__file__).parent / "__pycache__"
    if sys.platform == "darwin":
        yield Path("~/Library/Caches/numba").expanduser()
    else:
        yield Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "numba"


def _is_writable(folder: Path) -> bool:
    """Return whether files can be made in a folder, which may have to be made first."""
    there = next(path for path in (folder, *folder.parents) if path.exists())
    return os.access(there, os.W_OK)
