"""How the house keeps its files."""

import ast
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
PACKAGES = ("placer", "models/placer_models", "cli/placer_cli")
MODULES = sorted(
    str(file.relative_to(CHECKOUT))
    for package in PACKAGES
    for file in (CHECKOUT / package).rglob("*.py")
)
LONGEST = 400


@pytest.mark.parametrize("module", MODULES)
def test_a_module_is_one_idea_and_says_which(module: str) -> None:
    """
    A file of the packages ends by line 400, and opens with a sentence on what lives there.
    """
    source = (CHECKOUT / module).read_text("utf-8")

    assert len(source.splitlines()) <= LONGEST
    assert ast.get_docstring(ast.parse(source)), f"{module}: its docstring says what lives here"


@pytest.mark.parametrize("package", PACKAGES)
def test_a_folder_of_modules_is_a_package(package: str) -> None:
    """
    A folder with Python in it has an __init__.py: else tools that read imports pass it by.
    """
    folders = {file.parent for file in (CHECKOUT / package).rglob("*.py")}

    assert [str(folder) for folder in folders if not (folder / "__init__.py").is_file()] == []
