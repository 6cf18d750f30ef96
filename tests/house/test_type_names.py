"""Names: a type has one and one definition; everyday ones import from ``placer``, lazily.

Those are the ones that type checkers see.
"""

import ast
from collections import defaultdict
from pathlib import Path

import placer

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


SEEN = {
    (node.module, alias.name)
    for node in ast.walk(ast.parse(Path(placer.__file__).read_text("utf-8")))
    if isinstance(node, ast.ImportFrom)
    for alias in node.names
    if alias.asname is not None
}


def test_the_names_are_those_that_a_type_checker_sees() -> None:
    """
    What is loaded when it is asked for is what stands beside it for type checkers.
    """
    assert placer.__all__ == sorted(name for _, name in SEEN)


def test_every_name_is_the_object_of_its_module() -> None:
    """
    A name from here is no other thing than the one of the module that defines it.
    """
    for home, name in SEEN:
        module = __import__(home, fromlist=[name])
        assert getattr(placer, name) is getattr(module, name)


def test_a_name_that_is_none_of_them_is_an_attribute_error() -> None:
    """
    As of any module.
    """
    assert not hasattr(placer, "kubernetes_of_the_future")
