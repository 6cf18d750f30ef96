"""Mutants: small changes of a source file, each of which some test should notice."""

import ast
from collections.abc import Iterator
from itertools import accumulate
from typing import NamedTuple

_COMPARES: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}
_CALLS = {"min": "max", "max": "min", "any": "all", "all": "any"}


class Mutant(NamedTuple):
    """One change of one file.

    Attributes:
        line: The first line that it changes.
        was: What is there.
        text: What the mutant has in its place.
        start: Where that begins, in bytes of the file.
        end: Where it ends.

    """

    line: int
    was: str
    text: str
    start: int
    end: int

    @property
    def change(self) -> str:
        """The change for people, in one line."""
        return f"{' '.join(self.was.split())} -> {self.text}"

    def put_into(self, source: str) -> str:
        """Return the file with the change."""
        whole = source.encode()
        return (whole[: self.start] + self.text.encode() + whole[self.end :]).decode()


class _Edit(NamedTuple):
    """What is written in place of a node: an expression, or ``pass`` for a statement."""

    node: ast.expr | ast.stmt
    text: str


def mutants_of(source: str) -> Iterator[Mutant]:
    """Yield every mutant of a source file.

    Operators are swapped, conditions dropped or turned round, whole numbers changed by one,
    ``min`` and ``max`` exchanged, and statements removed. What is only text, a type or a
    decorator is left alone.
    """
    whole = source.encode()
    begins = [0, *accumulate(len(line) for line in whole.splitlines(keepends=True))]
    for node, text in (edit for one in _looked_at(ast.parse(source)) for edit in _edits(one)):
        start = begins[node.lineno - 1] + node.col_offset
        end = begins[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
        yield Mutant(node.lineno, whole[start:end].decode(), text, start, end)


def _looked_at(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield the nodes that may be changed."""
    todo: list[ast.AST] = [tree]
    while todo:
        node = todo.pop()
        yield node
        passed_by: list[ast.AST] = []
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            passed_by += node.decorator_list
        if isinstance(node, ast.FunctionDef) and node.returns is not None:
            passed_by.append(node.returns)
        if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation is not None:
            passed_by.append(node.annotation)
        if isinstance(node, ast.keyword) and node.arg == "strict":
            continue  # of `zip`: the lengths agree
        todo += [
            child
            for child in ast.iter_child_nodes(node)
            # Text for people, what is imported, and names of types.
            if child not in passed_by
            and not isinstance(child, ast.JoinedStr | ast.Import | ast.ImportFrom | ast.Raise)
            and not (isinstance(node, ast.Module) and _names_a_type(child))
        ]


def _names_a_type(node: ast.AST) -> bool:
    """Return whether a statement of a module gives a name to a type, or is its docstring."""
    if isinstance(node, ast.Assign):
        (target, *_) = node.targets
        return isinstance(target, ast.Name) and not target.id.isupper()
    return isinstance(node, ast.Expr)


def _edits(node: ast.AST) -> Iterator[_Edit]:
    match node:
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            swapped = ast.Compare(left, [_COMPARES[type(operator)]()], [right])
            yield _Edit(node, f"({ast.unparse(swapped)})")
        case ast.BoolOp(op=operator, values=values):
            other = ast.Or() if isinstance(operator, ast.And) else ast.And()
            yield _Edit(node, f"({ast.unparse(ast.BoolOp(other, values))})")
            for i in range(len(values)):
                rest = [value for j, value in enumerate(values) if j != i]
                left_over = rest[0] if len(rest) == 1 else ast.BoolOp(operator, rest)
                yield _Edit(node, f"({ast.unparse(left_over)})")
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield _Edit(node, f"({ast.unparse(operand)})")
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _ARITHMETIC:
            swapped_op = _ARITHMETIC[type(operator)]()
            yield _Edit(node, f"({ast.unparse(ast.BinOp(left, swapped_op, right))})")
        case ast.Constant(value=bool() as value):
            yield _Edit(node, str(not value))
        case ast.Constant(value=int() as value):
            yield _Edit(node, str(value + 1))
            if value > 0:
                yield _Edit(node, str(value - 1))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords) if name in _CALLS:
            call = ast.Call(ast.Name(_CALLS[name]), args, keywords)
            yield _Edit(node, ast.unparse(call))
        case ast.IfExp(test=test, body=body, orelse=orelse):
            yield _Edit(node, f"({ast.unparse(ast.IfExp(test, orelse, body))})")
        case ast.If(test=test) | ast.While(test=test) if not isinstance(test, ast.BoolOp):
            yield _Edit(test, f"(not ({ast.unparse(test)}))")
        case ast.comprehension(ifs=conditions):
            for condition in conditions:
                yield _Edit(condition, "True")
        case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Continue() | ast.Break():
            yield _Edit(node, "pass")
