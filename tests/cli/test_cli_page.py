"""The page about the command names every command."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer.main import get_command

from placer_cli.app import app

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"


def test_the_page_has_a_row_for_each_command() -> None:
    """
    Sub-commands, too; several may share a row.
    """
    rows = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| `")]

    names = list(_commands(get_command(app)))
    assert "slots place" in names
    assert [name for name in names if not _named(name, rows)] == []


def _commands(command: Any, above: str = "") -> Iterator[str]:
    """Yield the commands below one, by their words; a group has no command of its own."""
    if not hasattr(command, "commands"):
        yield above
        return
    for name, below in command.commands.items():
        yield from _commands(below, f"{above} {name}".strip())


def _named(command: str, rows: list[str]) -> bool:
    return any(f"`{command}{end}" in row.split("|")[1] for row in rows for end in ("`", " "))
