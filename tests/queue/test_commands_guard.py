"""The queue's command does not write over what it reads."""

from pathlib import Path

from commands import Placer

FIGURE = Path(__file__).parents[2] / "instances" / "queues" / "fig-3-04.yaml"


def test_a_picture_never_replaces_its_own_file(tmp_path: Path, placer: Placer) -> None:
    """
    One line, exit code 2, and the file is as it was.
    """
    file = tmp_path / "queue.yaml"
    file.write_text(FIGURE.read_text())
    printed = placer("queue", "simulate", str(file), "--svg", str(file), code=2)

    assert file.read_text() == FIGURE.read_text()
    assert len(printed.err.splitlines()) == 1
