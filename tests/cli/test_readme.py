"""README and the page about the command: promises kept, every command named.

The commands of the README are run by the tests of the house.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer.main import get_command

from placer_cli.app import app

CHECKOUT = Path(__file__).parents[2]
README = (CHECKOUT / "README.md").read_text(encoding="utf-8")


def test_the_library_call_of_the_readme_runs() -> None:
    """
    Who copies the ten lines gets a line for each placed pod.
    """
    (code,) = re.findall(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)

    run = subprocess.run(
        [sys.executable, "-c", code], cwd=CHECKOUT, capture_output=True, text=True, check=False
    )

    assert run.returncode == 0, run.stderr
    assert len(run.stdout.splitlines()) == 17


def test_what_the_readme_points_to_exists() -> None:
    """
    No link of the README leads nowhere.
    """
    targets = re.findall(r"\]\(([^)#]+)\)", README)

    assert [target for target in targets if not (CHECKOUT / target).exists()] == []


def test_every_page_can_be_found_from_the_readme() -> None:
    """
    Who reads on finds all the pages there are; those of the rules from the rules' own page.
    """
    rules = (CHECKOUT / "docs" / "rules.md").read_text(encoding="utf-8")
    linked = re.findall(r"\]\(([^)#]+)\)", README)
    linked += [f"docs/{target}" for target in re.findall(r"\]\((rules/[^)#]+)\)", rules)]
    pages = [str(page.relative_to(CHECKOUT)) for page in CHECKOUT.glob("docs/**/*.md")]

    assert sorted(page for page in pages if page not in linked) == []


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
