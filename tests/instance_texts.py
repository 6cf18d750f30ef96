"""Instances written as text, as a file has them."""

from pathlib import Path
from tempfile import TemporaryDirectory

from placer.load import load_instance
from placer_models.cluster import Instance


def instance_of_text(text: str, name: str = "i.yaml") -> Instance:
    """Return the instance of a file with this text."""
    with TemporaryDirectory() as folder:
        file = Path(folder, name)
        file.write_text(text, encoding="utf-8")
        return load_instance([file])
