# SPDX-License-Identifier: Apache-2.0
"""Small changes to a module, each of which some test should notice."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import parso
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.operator import Example, Operator
from cosmic_ray.plugins import get_operator, operator_names

from mutation.swap import difference

_LEFT_OUT = (
    "NumberReplacer",
    "no-op",
    "NoOp",
    "VariableReplacer",
    "VariableInserter",
    "ReplaceUnaryOperator_Delete_Not",
)
_ARITHMETIC = "ReplaceBinaryOperator"
_LIKELY = {
    "Add_Sub",
    "Sub_Add",
    "Mul_Add",
    "FloorDiv_Mul",
    "Mod_Mul",
    "BitAnd_BitOr",
    "BitOr_BitAnd",
    "LShift_RShift",
    "RShift_LShift",
    "BitXor_BitOr",
    "Div_Mul",
    "Pow_Mul",
}
_COMPARISON = "ReplaceComparisonOperator"
_NEIGHBOURS = {
    "Lt_LtE",
    "LtE_Lt",
    "Gt_GtE",
    "GtE_Gt",
    "Eq_NotEq",
    "NotEq_Eq",
    "Is_IsNot",
    "IsNot_Is",
    "Lt_GtE",
    "Gt_LtE",
    "In_NotIn",
    "NotIn_In",
}
"""For each operator, replacements that could be written by mistake; all replacements would be ten times as many."""


@dataclass(frozen=True)
class Mutant:
    """One change.

    Attributes:
        operator: what kind of change.
        occurrence: which of the places where it can be made.
        line: number of the first line that differs.
        old, new: the text of the lines that differ, without indentation.
        text: the whole module with it.
    """

    operator: str
    occurrence: int
    line: int
    old: str
    new: str
    text: str


class RemoveCall(Operator):  # type: ignore[misc]
    """A statement that is nothing but a call becomes ``pass``: nothing is told, written or refused."""

    def mutation_positions(self, node: parso.tree.NodeOrLeaf) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
        """The span of the statement."""
        if node.type == "atom_expr" and node.parent.type == "simple_stmt" and node.children[-1].type == "trailer":
            yield node.start_pos, node.end_pos

    def mutate(self, node: parso.tree.NodeOrLeaf, index: int) -> parso.tree.NodeOrLeaf:
        """``pass`` in its place."""
        del index
        replacement = parso.parse("pass").children[0]
        replacement.get_first_leaf().prefix = node.get_first_leaf().prefix
        return replacement

    @classmethod
    def examples(cls) -> Iterable[Example]:
        """One."""
        return (Example("def f():\n    g()\n", "def f():\n    pass\n"),)


class RemoveWith(Operator):  # type: ignore[misc]
    """A block runs without its context manager, such as a lock."""

    def mutation_positions(self, node: parso.tree.NodeOrLeaf) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
        """The span up to the block; what its names bind is needed."""
        if node.type == "with_stmt" and node.children[1].type != "with_item":
            yield node.start_pos, node.children[1].end_pos

    def mutate(self, node: parso.tree.NodeOrLeaf, index: int) -> parso.tree.NodeOrLeaf:
        """``if True`` in its place."""
        del index
        node.children[0].value = "if"
        prefix = node.children[1].get_first_leaf().prefix
        replacement = parso.parse("True").children[0]
        replacement.get_first_leaf().prefix = prefix
        node.children[1] = replacement
        return node

    @classmethod
    def examples(cls) -> Iterable[Example]:
        """One."""
        return (Example("with lock:\n    f()\n", "if True:\n    f()\n"),)


@dataclass(frozen=True, order=True)
class Place:
    """A place where an operator can change a module: the change, not yet made."""

    line: int
    operator: str
    occurrence: int


def places_of(source: str) -> list[Place]:
    """All changes but those that say nothing: in annotations and for type checkers only."""
    silent, spots = _silent_spans(source), []
    for name, operator in OPERATORS.items():
        places = [place for node in ast_nodes(get_ast(source)) for place in operator.mutation_positions(node)]
        spots += [
            Place(line, name, occurrence)
            for occurrence, ((line, column), _) in enumerate(places)
            if not any(start <= (line, column) < end for start, end in silent)
        ]
    return sorted(spots)


def mutant_at(source: str, place: Place) -> Mutant | None:
    """The module with one change; None if it does not compile or is as it was."""
    text = mutate_code(source, OPERATORS[place.operator], place.occurrence)
    if text is None or not _compiles(text) or ast.dump(ast.parse(text)) == ast.dump(ast.parse(source)):
        return None
    old, new = difference(source, text)
    return Mutant(place.operator, place.occurrence, place.line, old, new, text)


def _operators() -> Iterator[tuple[str, Operator]]:
    for name in operator_names():
        short = name.split("/")[1]
        if short.startswith(_LEFT_OUT):
            continue
        for family, wanted in ((_ARITHMETIC, _LIKELY), (_COMPARISON, _NEIGHBOURS)):
            if short.startswith(family) and short.removeprefix(family + "_") not in wanted:
                break
        else:
            yield short, get_operator(name)()
    yield "NumberReplacer", get_operator("core/NumberReplacer")()
    yield "RemoveCall", RemoveCall()
    yield "RemoveWith", RemoveWith()


OPERATORS = dict(_operators())

_FOR_AUTHORS = {"abstractmethod", "override", "overload"}
"""Decorators that only say what a subclass must have."""
Span = tuple[tuple[int, int], tuple[int, int]]


def _silent_spans(source: str) -> list[Span]:
    """Spans where a change means nothing when the module runs: annotations, protocols, decorators for authors."""
    spans = []
    for node in ast.walk(ast.parse(source)):
        silent: list[ast.AST | None] = []
        if isinstance(node, ast.arg):
            silent = [node.annotation]
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            silent = [node.returns]
        elif isinstance(node, ast.AnnAssign):
            silent = [node.annotation]
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            silent = [node]
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "cast":
            silent = [node.args[0]]
        elif isinstance(node, ast.ClassDef) and any(ast.unparse(base).startswith("Protocol") for base in node.bases):
            silent = [node]
        spans += [
            ((each.lineno, each.col_offset), (each.end_lineno, each.end_col_offset))
            for each in silent
            if each is not None
        ]
        decorators = getattr(node, "decorator_list", ())
        if _FOR_AUTHORS & {ast.unparse(each) for each in decorators}:  # beside them, none of the others runs either
            spans += [((e.lineno, e.col_offset - 1), (e.end_lineno, e.end_col_offset)) for e in decorators]
    return spans


def _compiles(text: str) -> bool:
    try:
        compile(text, "mutant", "exec")
    except SyntaxError:
        return False
    return True
