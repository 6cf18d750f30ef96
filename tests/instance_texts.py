"""Instances written as text, as a file has them."""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from placer.load import is_catalogue_machine, load_instance
from placer_models.cluster import Instance, Machine
from placer_models.instance.writer import instance_to_yaml


def instance_of_text(text: str, name: str = "i.yaml") -> Instance:
    """Return the instance of a file with this text."""
    with TemporaryDirectory() as folder:
        file = Path(folder, name)
        file.write_text(text, encoding="utf-8")
        return load_instance([file])


def reread(
    instance: Instance, is_known: Callable[[Machine], bool] = is_catalogue_machine
) -> Instance:
    """Write an instance, with known machines by their names, and return what a file of it says."""
    return instance_of_text(instance_to_yaml(instance, is_known))
