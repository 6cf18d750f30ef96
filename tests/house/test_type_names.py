"""One name for one type: who looks for it finds one definition."""

import ast
from collections import defaultdict
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]
PACKAGES = ("placer", "models/placer_models", "cli/placer_cli")


def test_no_public_type_name_is_defined_twice() -> None:
    """
    Classes and aliases of types, wherever they are; what one module alone uses has an underscore.
    """
    homes = defaultdict(list)
    for package in PACKAGES:
        for file in sorted((CHECKOUT / package).rglob("*.py")):
            for name in _types_in(ast.parse(file.read_text("utf-8"))):
                homes[name].append(str(file.relative_to(CHECKOUT)))

    assert {name: files for name, files in homes.items() if len(files) > 1} == {}


def test_classes_and_aliases_count_and_constants_do_not() -> None:
    """
    An alias is written as a type is; a constant, or a variable of types, in capitals.
    """
    module = ast.parse("class Cat: ...\nPet = Cat | None\nLIMIT = 1\nT = int\n_Own = int\n")

    assert _types_in(module) == ["Cat", "Pet"]


def _types_in(module: ast.Module) -> list[str]:
    names = [node.name for node in module.body if isinstance(node, ast.ClassDef)]
    names += [
        target.id
        for node in module.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name) and not target.id.isupper()
    ]
    return [name for name in names if name[0].isupper()]
