"""Everyday names import from ``placer``, lazily, and are those that type checkers see."""

import ast
from pathlib import Path

import placer

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
