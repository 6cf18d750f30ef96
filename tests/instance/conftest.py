"""What the tests of the instance file share: files made of text, and their fate."""

from collections.abc import Callable
from pathlib import Path

import pytest

from placer.load import load_instance
from placer_models.cluster import Instance
from placer_models.files.errors import InputError

Reader = Callable[..., Instance]
Refusal = Callable[..., str]


@pytest.fixture
def read(tmp_path: Path) -> Reader:
    """Return a function that reads an instance from text."""

    def read_text(text: str, name: str = "a.yaml") -> Instance:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return load_instance([path])

    return read_text


@pytest.fixture
def refusal(tmp_path: Path) -> Refusal:
    """Return a function that returns the message with which a text is refused."""

    def message(content: str | bytes, name: str = "a.yaml") -> str:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        with pytest.raises(InputError) as caught:
            load_instance([path])
        text = str(caught.value)
        assert text.startswith(str(path))
        assert "\n" not in text
        return text.removeprefix(f"{tmp_path}/")

    return message


@pytest.fixture(scope="session")
def sample() -> str:
    """Return a file that uses every field once."""
    return (Path(__file__).parent / "sample.yaml").read_text(encoding="utf-8")
