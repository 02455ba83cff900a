# SPDX-License-Identifier: Apache-2.0
"""P4 expressions over what is in scope at a location: typed by the front end, executed by the engine's own rules.

What calls something is refused: looking must not change anything. Expressions are read from a copy of the packet's
memory; only :meth:`DebugExpressions.assign` writes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

from offramp_base.errors import OfframpError
from offramp_p4 import ir
from offramp_p4.engine import walk
from offramp_p4.engine.faults import ParserFault
from offramp_p4.engine.generator import Generator, is_scalar
from offramp_p4.engine.lvalues import is_lvalue
from offramp_p4.frontend.check.program import Elaborator
from offramp_p4.frontend.check.scope import Constant, Scope
from offramp_p4.frontend.syntax.expressions import ExpressionParser
from offramp_p4.frontend.syntax.lexer import tokenize
from offramp_p4.source import P4Error
from offramp_p4.types import BOOL, VOID, Bits, Type
from offramp_p4_tools.debug.values import MemoryValue, shown

if TYPE_CHECKING:
    from offramp_p4.engine.layout import Memory
    from offramp_p4.frontend.syntax import ast
    from offramp_p4_tools.debug.code import DebugCode, Location

MAX_LENGTH: Final = 2000
"""Characters of an expression."""
_CALLS = ir.FunctionCall | ir.ExternCall | ir.ActionCall | ir.ApplyCall | ir.TableApply | ir.HeaderOp
_FILE: Final = "<expression>"


class DebugExpressions:
    """Types and executes expressions in the program of ``code``."""

    def __init__(self, code: DebugCode) -> None:
        self._code = code
        program = code.program
        self._root = Scope()
        for name, t in program.types.items():
            self._root.put(name, t)
        for name, value in program.constants.items():
            self._root.put(name, Constant(value))

    def watch(self, location: Location, text: str, *, boolean: bool = False) -> WatchExpression:
        """An expression that can be looked at whenever a packet is at ``location``.

        Raises:
            OfframpError: the text is not an expression, is not ``boolean``, or calls something.
        """
        expr = self._typed(location, text, BOOL if boolean else None)
        return WatchExpression(self._code.program, expr, self._reader(expr))

    def value(self, location: Location, text: str, m: Memory) -> MemoryValue:
        """The value of an expression; if it is an l-value, the value can be set.

        Raises:
            OfframpError: as :meth:`watch`, or it has no value here (``stack.last`` of an empty stack).
        """
        expr = self._typed(location, text)
        static = self._code.layout.static(expr) if is_lvalue(expr) else None
        if static is not None:
            return MemoryValue(text, expr.type, m, static, expr)
        read = self._reader(expr)(m)
        cells = [read] if is_scalar(expr.type) else list(read)
        settable = is_lvalue(expr) or isinstance(expr, ir.Slice | ir.IsValid)
        return MemoryValue(text, expr.type, cells, 0, expr if settable else None)

    def number(self, location: Location, text: str, t: Bits, m: Memory) -> int:
        """The value of an expression of type ``t``.

        Raises:
            OfframpError: the text is not such an expression.
        """
        return int(self._reader(self._typed(location, text, t))(m))

    def assign(self, location: Location, place: ir.Expr, text: str, m: Memory) -> None:
        """``place = text;``.

        Raises:
            OfframpError: the text is not a value of this type.
        """
        if isinstance(place, ir.IsValid):
            valid = self._reader(self._typed(location, text, BOOL))(m)
            statement: ir.Stmt = ir.Eval(ir.HeaderOp("setValid" if valid else "setInvalid", place.base, type=VOID))
        else:
            statement = ir.Assign(place, self._typed(location, text, place.type))
        _executed(lambda: self._function("write", lambda g: g.statement(statement))(m))

    def _typed(self, location: Location, text: str, expected: Type | None = None) -> ir.Expr:
        if len(text) > MAX_LENGTH:
            raise OfframpError(f"an expression of more than {MAX_LENGTH} characters")
        elaborator = Elaborator()
        program = self._code.program
        elaborator.errors = {name: i for i, name in enumerate(program.errors)}
        elaborator.scope = Scope(self._root)
        for var in location.variables:
            elaborator.scope.put(var.name, var)
        try:
            expr = elaborator.expr(_parsed(text, program.types), expected)
        except P4Error as error:
            raise OfframpError(error.message) from None
        except RecursionError:
            raise OfframpError("the expression is nested too deeply") from None
        if any(isinstance(node, _CALLS) for node in walk.nodes(expr)):
            raise OfframpError("an expression that calls something is not evaluated")
        if not expr.type.slots:
            raise OfframpError("this has no value")
        return expr

    def _reader(self, expr: ir.Expr) -> Callable[[Memory], Any]:
        if isinstance(expr, ir.Const):
            return lambda _: expr.value

        def write(g: Generator) -> None:
            g.line(f"return {g.value(expr)}")

        read = self._function("read", write)
        # An element out of range is read from the zeros behind the memory, of which it may want more than the program.
        zeros = [0] * max(1, *(e.type.slots for e in walk.nodes(expr) if isinstance(e, ir.Expr)))
        return lambda m: _executed(lambda: read(m + zeros))

    def _function(self, name: str, write: Callable[[Generator], None]) -> Callable[[Memory], Any]:
        code = self._code
        try:
            g = Generator(code.program, code.layout, code.target)
            with g.function(name):
                write(g)
            function: Callable[[Memory], Any] = g.load()[name]
        except P4Error as error:
            raise OfframpError(error.message) from None
        except RecursionError:
            raise OfframpError("the expression is nested too deeply") from None
        return function


def _parsed(text: str, types: Iterable[str]) -> ast.Expr:
    parser = ExpressionParser([t for t in tokenize(text, _FILE) if t.kind != "nl"])
    for name in types:
        parser.declare(name, is_type=True)
    node = parser.expression()
    if parser.token.kind != "eof":
        raise P4Error(parser.pos, f"expected the end of the expression, found {parser.token}")
    return node


class WatchExpression:
    """An expression, ready to be evaluated on packets."""

    def __init__(self, program: ir.Program, expr: ir.Expr, read: Callable[[Memory], Any]) -> None:
        self._program, self._expr, self._read = program, expr, read

    def true(self, m: Memory) -> bool:
        """Whether the expression is true; one without a value is not."""
        try:
            return bool(self._read(m))
        except OfframpError:
            return False

    def text(self, m: Memory) -> str:
        """The value, or why there is none."""
        try:
            read = self._read(m)
        except OfframpError as error:
            return f"<{error}>"
        cells = [read] if is_scalar(self._expr.type) else list(read)
        return shown(MemoryValue("", self._expr.type, cells, 0, None), self._program.errors)


def _executed(run: Callable[[], Any]) -> Any:
    try:
        return run()
    except ParserFault:
        raise OfframpError("this has no value here: the stack is empty or full") from None
    except (ArithmeticError, ValueError, MemoryError, RecursionError) as error:
        raise OfframpError(f"this cannot be evaluated: {error}") from None
