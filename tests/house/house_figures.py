"""Figures of how the code hangs together, for comparing two checkouts.

Run: python -P tests/house/house_figures.py [CHECKOUT [-v]]

Told are tables and functions of `search/reasons` that go by names of rules, places that tell a
tier, types that cross a storey in one solve, words among them, and the longest chain of imports;
with -v, which they are, and which storeys know them. It works on older checkouts, too.
"""

import ast
import importlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

PACKAGES = (("", "placer"), ("models", "placer_models"), ("cli", "placer_cli"))
SOLVED = ("instances/demo.yaml", "instances/hello.yaml")
LEAST_TIERS = 8
"""A module that names so many tiers tells those of other families, too."""

STOREYS = ("search", "greedy", "packing", "state", "counting", "judge", "cpsat")
"""What a solve goes through; words, and the readers of files, are known to all of it."""


class House:
    """The modules of one checkout.

    Attributes:
        modules: Name of a module -> its tree.

    """

    def __init__(self, checkout: Path) -> None:
        """Read all source files."""
        self.modules: dict[str, ast.Module] = {}
        for shelf, package in PACKAGES:
            root = checkout / shelf
            for file in sorted((root / package).rglob("*.py")):
                name = ".".join(file.relative_to(root).with_suffix("").parts)
                tree = ast.parse(file.read_text("utf-8"))
                self.modules[name.removesuffix(".__init__")] = tree

    def imports(self, module: str) -> Iterator[tuple[str, str]]:
        """Yield (module of ours, name) for what a module imports at its top; name may be empty."""
        for node in self.modules[module].body:
            if isinstance(node, ast.Import):
                yield from ((alias.name, "") for alias in node.names if alias.name in self.modules)
            elif isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    inner = f"{node.module}.{alias.name}"
                    if inner in self.modules:
                        yield inner, ""
                    elif node.module in self.modules:
                        yield node.module, alias.name

    def defined(self, module: str, name: str) -> tuple[str, str]:
        """Return where a name is defined that a package may only hand on."""
        for of, handed_on in self.imports(module):
            if name and handed_on == name:
                return self.defined(of, name)
        return module, name

    def chain(self) -> tuple[str, ...]:
        """Return the longest chain of modules of which each imports the next."""
        sys.setrecursionlimit(10_000)

        @cache
        def longest(module: str) -> tuple[str, ...]:
            found = {of for of, _ in self.imports(module)} - {module}
            return (module, *max((longest(of) for of in sorted(found)), key=len, default=()))

        return max((longest(module) for module in self.modules), key=len)


def rule_tables(house: House, rules: Sequence[str]) -> Iterator[str]:
    """Yield the tables of `search/reasons` with names of rules, and functions that match them."""
    known = set(rules)
    for module, tree in house.modules.items():
        if not module.startswith("placer.search.reasons."):
            continue
        for node in tree.body:
            is_table = isinstance(node, ast.Assign | ast.AnnAssign)
            parts = ast.walk(node) if is_table else _matches(node)
            if any(_side_by_side(part) & known for part in parts):
                yield f"{module}:{node.lineno}"


def _matches(node: ast.AST) -> Iterator[ast.AST]:
    return (part for part in ast.walk(node) if isinstance(part, ast.Match))


def _side_by_side(node: ast.AST) -> set[object]:
    """Return the strings that stand in one display, or are the cases of one match."""
    match node:
        case ast.Dict(keys=items) | ast.Tuple(elts=items) | ast.List(elts=items):
            parts: Sequence[ast.AST | None] = items
        case ast.Set(elts=items):
            parts = items
        case ast.Match(cases=cases):
            parts = [
                value.value
                for case in cases
                for value in ast.walk(case.pattern)
                if isinstance(value, ast.MatchValue)
            ]
        case _:
            parts = ()
    return {part.value for part in parts if isinstance(part, ast.Constant)}


def places_of_tiers(house: House) -> list[str]:
    """Return the places that tell tiers: those common to many families, then a family's own file.

    Modules of words count one by one, those of a storey together.
    """
    goals = house.modules["placer_models.goals"]
    tiers = {
        target.id
        for node in goals.body
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and ast.unparse(node.value.func) in ("Tier", "_tier")
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    common: dict[str, None] = {}
    for module, tree in house.modules.items():
        told = {name for of, name in house.imports(module) if of == "placer_models.goals"}
        told = tiers if tree is goals else told & tiers
        named = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} & told
        prices = [
            len(node.keywords)
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("Price", "PlacePrice")
            else sum(isinstance(part, ast.AnnAssign) for part in node.body)
            if isinstance(node, ast.ClassDef) and node.name in ("Price", "PlacePrice")
            else 0
            for node in ast.walk(tree)
        ]
        if len(named) >= LEAST_TIERS or max(prices) >= LEAST_TIERS:
            words = module.startswith("placer_models.") and not module.count(".") > 1
            common[module if words else _storey(module)] = None
    return [*common, "its family's file in a storey"]


def _storey(module: str) -> str:
    """Return the package below the root: what a storey is called."""
    parts = module.split(".")
    if parts[0] == "placer_models" and parts[1:2] != ["cpsat"]:
        return "words"
    return parts[1] if len(parts) > 1 else parts[0]


def types_of_a_solve(checkout: Path) -> set[type]:
    """Return the types of ours of which an instance was made while instances were solved."""
    solver = importlib.import_module("placer.search.solver")
    options = importlib.import_module("placer.search.options")
    load_instance = importlib.import_module("placer.load").load_instance
    roots = tuple(package for _, package in PACKAGES)
    made: set[type] = set()

    def note(frame: FrameType, event: str, value: Any) -> None:
        local = frame.f_locals
        if event == "return":
            made.add(type(value))
        elif event == "call" and frame.f_code.co_name == "__init__" and "self" in local:
            made.add(type(local["self"]))
        elif event == "call" and isinstance(local.get("_cls"), type):
            made.add(local["_cls"])

    for name in SOLVED:
        sys.setprofile(note)
        try:
            solver.solve(
                load_instance([checkout / name]),
                options.SolveOptions(workers=1, seed=1, time_limit_s=20),
            )
        finally:
            sys.setprofile(None)
    return {
        one for one in made if one.__module__.split(".")[0] in roots and not issubclass(one, Enum)
    }


def known_to(house: House, types: set[type]) -> Mapping[type, set[str]]:
    """Return type -> the storeys of a solve that define it or import it by name."""
    importing: dict[tuple[str, str], set[str]] = {}
    for module in house.modules:
        if _storey(module) in STOREYS:
            for imported in house.imports(module):
                importing.setdefault(house.defined(*imported), set()).add(_storey(module))
    return {
        one: importing.get((one.__module__, one.__name__), set())
        | ({_storey(one.__module__)} & {*STOREYS})
        for one in types
    }


def main() -> None:
    """Print the figures of a checkout."""
    checkout = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[2]).resolve()
    sys.path[:0] = [str(checkout / shelf) for shelf, _ in PACKAGES]
    house = House(checkout)
    rules = importlib.import_module("placer.judge.breaches").RULES
    tables = list(rule_tables(house, list(rules)))
    places = places_of_tiers(house)
    types = types_of_a_solve(checkout)
    known = known_to(house, types)
    crossing = sorted(
        f"{one.__module__}.{one.__qualname__}: {', '.join(sorted(known[one]))}"
        for one in types
        if len(known[one]) > 1
    )
    chain = house.chain()
    files = {table.rpartition(":")[0] for table in tables}
    lines = [
        f"tables keyed by rule names in reasons: {len(tables)} in {len(files)} files",
        f"places that tell a tier: {len(places)} ({', '.join(places)})",
        f"types that cross a storey in one solve: {len(crossing)} of {len(types)} made",
        f"longest chain of imports: {len(chain)} modules, from {chain[0]} to {chain[-1]}",
    ]
    if "-v" in sys.argv:
        lines += ["", *tables, *crossing, *chain]
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
