"""Mutants of a module: its text with one operator, constant, branch or statement changed."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

_COMPARED: dict[type[ast.cmpop], ast.cmpop] = {
    ast.Lt: ast.LtE(),
    ast.LtE: ast.Lt(),
    ast.Gt: ast.GtE(),
    ast.GtE: ast.Gt(),
    ast.Eq: ast.NotEq(),
    ast.NotEq: ast.Eq(),
    ast.Is: ast.IsNot(),
    ast.IsNot: ast.Is(),
    ast.In: ast.NotIn(),
    ast.NotIn: ast.In(),
}
_COUNTED: dict[type[ast.operator], ast.operator] = {
    ast.Add: ast.Sub(),
    ast.Sub: ast.Add(),
    ast.Mult: ast.FloorDiv(),
    ast.FloorDiv: ast.Mult(),
    ast.Mod: ast.Mult(),
    ast.LShift: ast.RShift(),
}
"""Not ``/`` and ``|``: they join paths, sets and types, and another operator fails at once."""


@dataclass(frozen=True)
class Mutant:
    """``text`` of a module that differs in ``line``; ``what`` says before and after."""

    line: int
    what: str
    text: str


def mutants(text: str) -> list[Mutant]:
    """Return every mutant of a module's text.

    Texts are left alone: what an error says is read by people. So are annotations and imports.
    """
    lines = text.encode().splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    found = []
    for node, changed in _changes(ast.parse(text)):
        start = starts[node.lineno - 1] + node.col_offset
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        end = starts[node.end_lineno - 1] + node.end_col_offset
        whole = b"".join(lines)
        before = " ".join(whole[start:end].decode().split())
        after = whole[:start] + changed.encode() + whole[end:]
        found.append(Mutant(node.lineno, f"{before[:60]} → {changed[:60]}", after.decode()))
    return found


def _changes(node: ast.AST) -> Iterator[tuple[ast.expr | ast.stmt, str]]:
    """Yield each node that can be changed, with the text that replaces it."""
    if isinstance(node, ast.JoinedStr | ast.Import | ast.ImportFrom):
        return
    if isinstance(node, ast.expr):
        yield from ((node, f"({ast.unparse(other)})") for other in _expressions(node))
    elif isinstance(node, ast.stmt):
        yield from ((node, other) for other in _statements(node))
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "bases"):
            continue
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _changes(child)


def _expressions(node: ast.expr) -> Iterator[ast.expr]:
    match node:
        case ast.Compare(left, ops, comparators):
            for place, operator in enumerate(ops):
                other = [*ops[:place], _COMPARED[type(operator)], *ops[place + 1 :]]
                yield ast.Compare(left, other, comparators)
        case ast.BinOp(left, operator, right) if type(operator) in _COUNTED:
            if not _is_text(left) and not _is_text(right):
                yield ast.BinOp(left, _COUNTED[type(operator)], right)
        case ast.BoolOp(operator, values):
            yield ast.BoolOp(ast.Or() if isinstance(operator, ast.And) else ast.And(), values)
        case ast.UnaryOp(ast.Not(), operand):
            yield operand
        case ast.IfExp(test, body, orelse):
            yield ast.IfExp(test, orelse, body)
        case ast.Constant(bool() as value):
            yield ast.Constant(not value)
        case ast.Constant(int() | float() as value):
            yield ast.Constant(value + 1)


def _statements(node: ast.stmt) -> Iterator[str]:
    match node:
        case ast.Return(value) if value is not None and ast.unparse(value) != "None":
            yield "return None"
        case ast.Raise() | ast.AugAssign() | ast.Expr(ast.Call()):
            yield "pass"
        case ast.Break():
            yield "continue"
        case ast.Continue():
            yield "break"


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
