"""The commands in our pages do what the pages show.

A page is Markdown at the root, in docs/ or in instances/. In a ```console block each
line that begins with ``$ placer`` is run, a page's commands in order and in one folder
of its own, beside a copy of instances/. The lines below a command are what it prints,
100 columns wide; ``...`` stands for any text of a line, alone on a line for any lines,
and no lines for any output. A command ends with exit code 0, unless ``$ echo $?`` and
the code follow. Other commands, such as ``$ make test``, are not run.
"""

import os
import re
import shutil
import subprocess
import sysconfig
from dataclasses import dataclass, field
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ASK_EXIT_CODE = "echo $?"


@dataclass
class Example:
    """One command and what the page says of it."""

    command: str
    shown: list[str] = field(default_factory=list)
    exit_code: int = 0


def examples(page: str) -> list[Example]:
    """Return the commands of a page that run, in order."""
    found: list[Example] = []
    for block in BLOCK.findall(page):
        turns = re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
        asked: Example | None = None
        for turn in turns:
            command, *shown = turn.replace("\\\n", "").splitlines()
            if command == ASK_EXIT_CODE and asked is not None:
                asked.exit_code = int(shown[0])
            elif command.split()[0] == "placer":
                asked = Example(command, shown)
                found.append(asked)
            else:
                asked = None
    return found


def agrees(shown: list[str], printed: str) -> bool:
    """Return whether the output is what the page shows; no lines shown agree with all."""
    if not any(line.strip() for line in shown):
        return True
    pattern = ""
    for line in _trimmed(shown):
        if line == "...":
            pattern += r"(?:.*\n)*?"
        else:
            pattern += ".*?".join(re.escape(part) for part in line.split("...")) + r"\n"
    return re.fullmatch(pattern, "\n".join(_trimmed(printed.splitlines())) + "\n") is not None


def _trimmed(lines: list[str]) -> list[str]:
    """Return the lines without trailing blanks, and without blank lines at both ends."""
    return "\n".join(line.rstrip() for line in lines).strip("\n").split("\n")


def _pages() -> list[object]:
    """Return the pages with examples; the gate takes the first page that people open."""
    files = [
        *CHECKOUT.glob("*.md"),
        *CHECKOUT.glob("docs/**/*.md"),
        *CHECKOUT.glob("instances/*.md"),
    ]
    pages = sorted(
        str(file.relative_to(CHECKOUT)) for file in files if examples(file.read_text("utf-8"))
    )
    return [
        page if page == "README.md" else pytest.param(page, marks=pytest.mark.check)
        for page in pages
    ]


@pytest.mark.parametrize("page", _pages())
def test_a_page_shows_what_its_commands_print(page: str, tmp_path: Path) -> None:
    """
    Who copies a command from a page gets the output and the exit code of the page.
    """
    shutil.copytree(CHECKOUT / "instances", tmp_path / "instances")
    path = os.pathsep.join([sysconfig.get_path("scripts"), os.environ["PATH"]])
    terminal = {"COLUMNS": "100", "LINES": "50", "NO_COLOR": "1", "PATH": path}

    for example in examples((CHECKOUT / page).read_text("utf-8")):
        run = subprocess.run(
            ["bash", "-c", example.command],
            cwd=tmp_path,
            env={**os.environ, **terminal},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        told = f"{page}: $ {example.command}\n{run.stdout}"
        assert run.returncode == example.exit_code, told
        assert agrees(example.shown, run.stdout), f"{told}\nshown:\n" + "\n".join(example.shown)


def test_the_readme_shows_the_command_at_work() -> None:
    """
    The first page that anyone opens has a command to copy, and what it prints.
    """
    assert any(example.shown for example in examples((CHECKOUT / "README.md").read_text("utf-8")))


def test_an_example_knows_its_output_and_its_exit_code() -> None:
    """
    Of a block the placer commands are run; the others are for people.
    """
    page = "```console\n$ make test\nok\n$ placer verify a \\\n    b\nbad\n$ echo $?\n1\n```\n"

    assert examples(page) == [Example("placer verify a     b", ["bad"], 1)]


@pytest.mark.parametrize(
    ("shown", "printed", "agree"),
    [
        ("", "whatever\n", True),
        ("a\nb", "a  \nb\n\n", True),
        ("a", "a\nb\n", False),
        ("a\n...", "a\nb\nc\n", True),
        ("a\n...\nd", "a\nb\n", False),
        ("in ... s", "in 0.12 s\n", True),
        ("in ... s", "in 0.12\nb s\n", False),
        ("gap 1.5", "gap 145\n", False),
    ],
)
def test_dots_stand_for_what_changes(shown: str, printed: str, agree: bool) -> None:
    """
    Three dots stand for any text of one line, or alone for any lines, and for nothing else.
    """
    assert agrees(shown.splitlines(), printed) is agree
