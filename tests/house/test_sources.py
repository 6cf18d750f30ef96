"""How the house keeps its files."""

import ast
import subprocess
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
PACKAGES = ("placer", "models/placer_models", "cli/placer_cli")
MODULES = sorted(
    str(file.relative_to(CHECKOUT))
    for package in PACKAGES
    for file in (CHECKOUT / package).rglob("*.py")
)
LONGEST = 500
NO_NOUN = {"what", "who", "which", "how", "where", "when", "why"}


@pytest.mark.parametrize("module", MODULES)
def test_a_module_is_one_idea_and_says_which(module: str) -> None:
    """
    A file of the packages ends by line 500, and opens with the noun that it is about.
    """
    source = (CHECKOUT / module).read_text("utf-8")

    assert len(source.splitlines()) <= LONGEST
    says = ast.get_docstring(ast.parse(source))
    assert says, f"{module}: its docstring says what lives here"
    assert says.split()[0].lower() not in NO_NOUN, f"{module}: a reader greps for a noun"


@pytest.mark.parametrize("package", PACKAGES)
def test_a_folder_of_modules_is_a_package(package: str) -> None:
    """
    A folder with Python in it has an __init__.py: else tools that read imports pass it by.
    """
    folders = {file.parent for file in (CHECKOUT / package).rglob("*.py")}

    assert [str(folder) for folder in folders if not (folder / "__init__.py").is_file()] == []


def test_no_link_is_kept() -> None:
    """
    A link points to where it was made: a checkout elsewhere would have a broken one.
    """
    if not (CHECKOUT / ".git").exists():
        pytest.skip("this is no checkout of git, which knows what is kept")
    listed = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", "--stage"],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert [line for line in listed.stdout.splitlines() if line.startswith("120000")] == []
