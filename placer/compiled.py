"""Compiled code of `placer[fast]`: taken where it is there, and worth the time to load it.

Numba keeps what it compiled, and compiles anew once the module's own file has changed. But names
and numbers that the module takes from others of ours are compiled in as well: so a digest of all
these sources stands beside what is kept, and what is of other sources is removed.
"""

import ast
import sys
from contextlib import suppress
from functools import cache
from hashlib import sha256
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
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


def remove_code_of_other_sources(module: str) -> None:
    """Remove what Numba kept of a module if it was compiled of other sources than there are now.

    A compiled module calls it at its end, before anybody calls what it has compiled.
    """
    digest = digest_of_sources(module)
    compiled = [found for found in vars(sys.modules[module]).values() if hasattr(found, "py_func")]
    for folder in {Path(function.stats.cache_path) for function in compiled}:
        file = source_digest_path(folder, module)
        with suppress(OSError):  # It may be somebody else's.
            if not file.exists() or file.read_text() != digest:
                for index in folder.glob(f"{file.stem}.*.nbi"):
                    index.unlink(missing_ok=True)
                folder.mkdir(parents=True, exist_ok=True)
                file.write_text(digest)


@cache
def digest_of_sources(module: str) -> str:
    """Return a digest of a module's source and of those of ours that it imports from."""
    source = _source_of(module).read_bytes()
    ours = {"placer", "placer_models", module.partition(".")[0]}
    others = {
        node.module
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom) and node.module
        if node.module.partition(".")[0] in ours
    }
    sources = (source, *(_source_of(other).read_bytes() for other in sorted(others)))
    return sha256(b"".join(sha256(one).digest() for one in sources)).hexdigest()


def source_digest_path(folder: Path, module: str) -> Path:
    """Return the file of the digest, in the folder where Numba keeps what it compiled."""
    return folder / f"{module.rpartition('.')[2]}.sources"


def _source_of(module: str) -> Path:
    found = find_spec(module)
    if found is None or found.origin is None:
        raise ImportError(f"the source of {module} is not there")
    return Path(found.origin)
