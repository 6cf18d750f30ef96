"""Writer of files of objects into a new folder: all of them, or no folder."""

import json
import os
import shutil
import tempfile
from collections.abc import Iterable
from errno import ENOTEMPTY
from pathlib import Path

import yaml

from placer.kubernetes.emit.placed_pods import EmittedFile


class _Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]  # which of them there is
    """Writes out what stands in several places: not everyone reads aliases."""

    def ignore_aliases(self, data: object) -> bool:
        """Return that the data get no anchor."""
        return True


def check_folder_is_new_or_empty(folder: Path) -> None:
    """Refuse a place where no folder can be made, before there is anything to write.

    Raises:
        OSError: The folder is not empty, is no folder, or has no folder above it.

    """
    if folder.is_dir():
        if any(folder.iterdir()):
            raise OSError(
                ENOTEMPTY, "holds files already; name a new folder or an empty one", str(folder)
            )
        return
    if folder.exists() or folder.is_symlink():
        raise NotADirectoryError(20, "is no folder; name a new one", str(folder))
    if not folder.resolve().parent.is_dir():
        raise FileNotFoundError(2, "the folder above it does not exist; make it first", str(folder))


def create_folder_with_files(folder: Path, files: Iterable[EmittedFile]) -> None:
    """Write the files into a new or empty folder, which appears with all of them at once.

    Raises:
        OSError: The folder cannot be written; nothing of it is left.

    """
    check_folder_is_new_or_empty(folder)
    real = folder.resolve()
    made = Path(tempfile.mkdtemp(prefix=f".{real.name}.", dir=real.parent))
    try:
        for file in files:
            path = made / file.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(object_file_text(file), encoding="utf-8")
        made.chmod(0o777 & ~_umask())
        made.replace(real)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise


def object_file_text(file: EmittedFile) -> str:
    """Return a file's text: JSON if its name says so, else a YAML document for each object."""
    if file.path.endswith(".json"):
        return "".join(json.dumps(one, indent=2) + "\n" for one in file.objects)
    return yaml.dump_all(
        file.objects, Dumper=_Dumper, sort_keys=False, width=2**20, explicit_start=True
    )


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
