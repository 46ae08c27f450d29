"""Mutants of a module: its text with one small mistake planted in what it computes.

Only expressions are mutated: no docstrings, texts, annotations, assertions and nothing in a
``raise``, whose message is no number.
"""

import ast
import copy
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

OTHER: dict[type[ast.AST], tuple[type[ast.AST], ...]] = {
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div,),
    ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Div,),
    ast.Mod: (ast.Mult,),
    ast.Pow: (ast.Mult,),
    ast.BitAnd: (ast.BitOr,),
    ast.BitOr: (ast.BitAnd,),
    # At its border, and the other way round.
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_PAIRS = (
    ("min", "max"),
    ("amin", "amax"),
    ("nanmin", "nanmax"),
    ("argmin", "argmax"),
    ("minimum", "maximum"),
    ("floor", "ceil"),
    ("any", "all"),
)
NAMES = dict(_PAIRS) | {other: own for own, other in _PAIRS}
METHODS = NAMES | {"sum": "mean", "mean": "sum"}


@dataclass(frozen=True)
class Mutant:
    """One mutant of a module.

    Attributes:
        line: where it is, from 1.
        column: likewise.
        operator: what was done, in words.
        before: the expression as it is, on one line.
        after: the expression as planted.
        start: the first byte of the module's text that is replaced.
        end: the byte behind the last.
    """

    line: int
    column: int
    operator: str
    before: str
    after: str
    start: int
    end: int

    def planted(self, text: str) -> str:
        """The module's text with the mistake in it."""
        raw = text.encode()
        return (raw[: self.start] + self.after.encode() + raw[self.end :]).decode()


def mutants(text: str) -> list[Mutant]:
    """All mutants of a module's text, from the top to the bottom.

    Raises:
        SyntaxError: the text is no Python.

    Example:
        >>> [mutant.after for mutant in mutants("half = deviations * math.sqrt(variance)")]
        ['(deviations / math.sqrt(variance))', '(deviations * deviations)']
    """
    starts = [0]
    for line in text.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    mutants = []
    for node in _computing(ast.parse(text)):
        first, last = (
            starts[line - 1] + column
            for line, column in (
                (node.lineno, node.col_offset),
                (node.end_lineno, node.end_col_offset),
            )
        )
        before = ast.unparse(node)
        for operator, changed in _changed(node):
            after = ast.unparse(changed)
            if isinstance(node, ast.expr):
                after = f"({after})"
            place = node.lineno, node.col_offset + 1
            mutants.append(Mutant(*place, operator, before, after, first, last))
    return sorted(mutants, key=lambda mutant: (mutant.start, -mutant.end))


def _computing(node: ast.AST) -> Iterator[Any]:
    """The nodes below one that compute something."""
    for name, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if name in ("annotation", "returns") or not isinstance(child, ast.AST):
                continue
            # Places within an f-string are not those of its file, before Python 3.12.
            if isinstance(child, ast.Raise | ast.Assert | ast.JoinedStr | ast.pattern):
                continue
            # What a record may be used for is no number.
            if isinstance(child, ast.Call) and ast.unparse(child.func) == "dataclass":
                continue
            if isinstance(child, ast.expr | ast.AugAssign):
                yield child
            yield from _computing(child)


def _changed(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """The change that was made to a node, and the node so changed."""
    match node:
        case ast.BinOp(left, op, right):
            yield from _swapped(node, "op", op)
            if isinstance(op, ast.Sub):
                yield "sign", ast.BinOp(right, op, left)
            if isinstance(op, ast.Mult) and ast.dump(left) != ast.dump(right):
                yield "one factor twice", ast.BinOp(left, op, left)
        case ast.AugAssign(op=op):
            yield from _swapped(node, "op", op)
        case ast.Compare(ops=operators):
            for place, op in enumerate(operators):
                yield from _swapped(node, "ops", op, place)
        case ast.BoolOp(op, values):
            yield "and, or", ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
        case ast.UnaryOp(ast.USub(), operand):
            yield "sign", operand
        case ast.UnaryOp(ast.Not() | ast.Invert(), operand):
            yield "negation", operand
        case ast.Constant(bool() as value):
            yield "negation", ast.Constant(not value)
        case ast.Constant(int() as value):
            yield from (("constant", ast.Constant(value + step)) for step in (1, -1))
        case ast.Constant(float() as value) if math.isfinite(value):
            # One more is nothing to a million.
            yield "constant", ast.Constant(value + 1 if abs(value) < 10 else 2 * value)
            if 0 < value < 0.1:
                yield from (("threshold", ast.Constant(value * by)) for by in (1e3, 1e-3))
        case ast.Call(func=ast.Name(name)) if name in NAMES:
            yield "function", _with(node, "func", ast.Name(NAMES[name]))
        case ast.Call(func=ast.Attribute(of, name)) if name in METHODS:
            yield "function", _with(node, "func", ast.Attribute(of, METHODS[name]))
        case ast.IfExp(test=test):
            yield "negation", _with(node, "test", ast.UnaryOp(ast.Not(), test))


def _swapped(
    node: Any, field: str, operator: ast.AST, place: int = 0
) -> Iterator[tuple[str, ast.AST]]:
    """A node with another operator in the place of its own."""
    word = "comparison" if field == "ops" else "arithmetic"
    for other in OTHER.get(type(operator), ()):
        value: Any = other()
        if field == "ops":
            value = [*node.ops[:place], other(), *node.ops[place + 1 :]]
        yield word, _with(node, field, value)


def _with(node: ast.AST, field: str, value: Any) -> ast.AST:
    changed = copy.copy(node)
    setattr(changed, field, value)
    return changed
