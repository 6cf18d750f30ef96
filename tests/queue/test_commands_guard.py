"""The queue's command does not write over what it reads."""

from pathlib import Path

import pytest

from placer_cli.app import main

FIGURE = Path(__file__).parents[2] / "instances" / "queues" / "fig-3-04.yaml"


def test_a_picture_never_replaces_its_own_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    One line, exit code 2, and the file is as it was.
    """
    file = tmp_path / "queue.yaml"
    file.write_text(FIGURE.read_text())
    code = main(["queue", "simulate", str(file), "--svg", str(file)])

    assert code == 2
    assert file.read_text() == FIGURE.read_text()
    assert len(capsys.readouterr().err.splitlines()) == 1
