# SPDX-License-Identifier: Apache-2.0
"""The frame of code generation: one Python module for a program, its functions, names and registered rules.

P4 maps onto Python almost line by line: an action, a table, a parser state or a control becomes a function of
the packet's memory ``m``. Nothing is decided per packet that the program decides when it is loaded, and the
generated text (:attr:`Generator.source`) reads like the P4 program. A backend for native code has the same
rules with another text.

Rules are functions registered for a class of IR nodes. The rule of an expression returns the text of a Python
expression: an integer for scalars, a list or tuple of cells for all else. The rule of a statement writes lines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from offramp_base.dispatch import handles
from offramp_p4 import ir
from offramp_p4.engine import walk
from offramp_p4.engine.faults import ExitSignal, ParserFault, Steps, fail
from offramp_p4.engine.work import StatementBound
from offramp_p4.source import Unsupported
from offramp_p4.types import Bits, Enum, Type, _Simple, strip

if TYPE_CHECKING:
    from random import Random

    from offramp_p4.engine.layout import CellLayout, Memory

if TYPE_CHECKING:
    from offramp_p4.state import TableState, ValueSetState

Builder = Callable[["Generator", ir.ExternCall], str]
"""Writes the lines of an extern call and returns the text of its result (``"None"`` where it has none)."""

Generators = Callable[["ir.Program", "CellLayout", "GeneratorTarget"], "Generator"]
"""Makes the generator of a program, for its layout and target."""
Place = (
    ir.ParserState | ir.SelectCase | ir.MatchTable | ir.Action | ir.UserFunction | ir.ParserInstance |
    ir.ControlInstance
)  # fmt: skip
"""A part of a program that a packet reaches: before anything in it is executed; a select case, when it is chosen."""
Run = Callable[["Memory"], object]
"""Runs a block on a packet's memory. Raises ParserFault in a parser, CheckFailed for a failed ``assert``."""

_Rule = TypeVar("_Rule", bound=Callable[..., Any])
_EXPRESSIONS: dict[type, Callable[[Generator, Any], str]] = {}
_CONDITIONS: dict[type, Callable[[Generator, Any], str]] = {}
_STATEMENTS: dict[type, Callable[[Generator, Any], None]] = {}
# CPython's parser refuses more than 200 nested parentheses.
_MAX_NESTING: Final = 60


def expression(*kinds: type) -> Callable[[_Rule], _Rule]:
    """Register the rule for the value of these nodes."""
    return handles(_EXPRESSIONS, *kinds)


def condition(*kinds: type) -> Callable[[_Rule], _Rule]:
    """Register the rule for these nodes of type bool, whose text need only be true or false."""
    return handles(_CONDITIONS, *kinds)


def statement(*kinds: type) -> Callable[[_Rule], _Rule]:
    """Register the rule for these statements."""
    return handles(_STATEMENTS, *kinds)


def is_scalar(t: Type) -> bool:
    """Whether a value of this type is one integer (and not a list of cells)."""
    return isinstance(strip(t), Bits | Enum | _Simple)


class GeneratorTarget(Protocol):
    """An architecture as the generator needs it: its externs, and its actions at tables."""

    externs: Mapping[tuple[str, str], Builder]
    """Builders by (extern type or "", method or function name)."""
    tables: Mapping[ir.MatchTable, TableState]
    value_sets: Mapping[ir.ValueSet, ValueSetState]
    steps: Steps
    random: Random
    """What packets draw from."""

    @property
    def clears_headers(self) -> bool:
        """Whether a header that becomes valid has all fields 0, or those that were written before."""

    def on_miss(self, g: Generator, table: ir.MatchTable, state: str) -> None:
        """Write what a miss does to the resources of the default entry; ``state`` is the name of the table's."""

    def on_hit(self, g: Generator, table: ir.MatchTable) -> None:
        """Write what happens when the name ``entry`` has been bound to the entry that matched."""

    def selector_hash(self, g: Generator, table: ir.MatchTable) -> str:
        """Text of the hash that picks a member of a group."""


class Generator:
    """Turns the nodes of one program into functions.

    Attributes:
        memo: names of what has been generated, by whatever it was generated from.
        loops: for each loop around the current statement, what ``continue`` must run first.
        returns_code: whether ``exit`` may be told to the caller by returning 1 from the current function.
        exiting: tables with an action that may reach ``exit``.
        work: number of steps that the statements in a loop take.
        addresses: places whose address the current function has computed: ``a[f()] += 1`` calls f once.
    """

    def __init__(self, program: ir.Program, layout: CellLayout, target: GeneratorTarget) -> None:
        self.program, self.layout, self.target = program, layout, target
        self.memo: dict[object, str] = {}
        self.work = StatementBound()
        self.loops: list[list[ir.Stmt]] = []
        self.returns_code = False
        self.addresses: dict[ir.Expr, int | str] = {}
        self.exiting = frozenset(t for t in target.tables if walk.may_exit(t))
        self._names: dict[str, Any] = {"ParserFault": ParserFault, "ExitSignal": ExitSignal, "fail": fail}
        self._bound: dict[int, str] = {}
        self._late: list[tuple[dict[str, Any], str, str]] = []
        self._functions: list[str] = []
        self._lines: list[str] = []
        self._indent = 0
        self._serial = 0
        self._guard: tuple[list[str], tuple[str, int, int]] | None = None

    # --- expressions and statements

    def value(self, expr: ir.Expr) -> str:
        """Text of the value of ``expr``: an integer, or a list or tuple of cells."""
        rule = _EXPRESSIONS.get(type(expr))
        if rule is not None:
            return self._spill(rule(self, expr))
        rule = _CONDITIONS.get(type(expr))
        if rule is not None:
            return self._spill(f"(1 if {rule(self, expr)} else 0)")
        raise Unsupported(expr.pos, f"{type(expr).__name__} as an expression")

    def condition(self, expr: ir.Expr) -> str:
        """Text of a Boolean expression with the value of ``expr``."""
        rule = _CONDITIONS.get(type(expr))
        return self._spill(rule(self, expr)) if rule is not None else self.value(expr)

    def cells(self, expr: ir.Expr) -> str:
        """Text of the cells of ``expr``, as part of a longer tuple: ``v`` or ``*v``."""
        return self.value(expr) if is_scalar(expr.type) else f"*{self.value(expr)}"

    def statement(self, stmt: ir.Stmt) -> None:
        """Write the lines of ``stmt``."""
        rule = _STATEMENTS.get(type(stmt))
        if rule is None:
            raise Unsupported(stmt.pos, f"{type(stmt).__name__} as a statement")
        if self.exiting and self._applies_exiting(stmt):
            with self.indented("try:"):
                rule(self, stmt)
            with self.indented("except ExitSignal:"):
                self.line("return 1")
        else:
            rule(self, stmt)

    def _applies_exiting(self, stmt: ir.Stmt) -> bool:
        part: object = stmt
        if isinstance(stmt, ir.If | ir.ForLoop):
            part = stmt.condition
        elif isinstance(stmt, ir.SwitchValue):
            part = stmt.subject
        elif isinstance(stmt, ir.SwitchAction):
            return stmt.table in self.exiting
        elif isinstance(stmt, ir.Block | ir.ForIn):
            return False
        applies = (n for n in walk.nodes(part) if isinstance(n, ir.TableApply))
        return any(n.want and n.table in self.exiting for n in applies)

    def _spill(self, text: str) -> str:
        """``text``, or where it nests too deep for Python, the call of a function that computes it."""
        if len(text) < 4 * _MAX_NESTING or self.addresses:
            return text
        depth = deepest = 0
        for char in text:
            if char in "([":
                depth += 1
                deepest = max(deepest, depth)
            elif char in ")]":
                depth -= 1
        if deepest < _MAX_NESTING:
            return text
        name = self.name("part")
        with self.function(name):
            self.line(f"return {text}")
        return f"{name}(m)"

    def reached(self, node: Place, values: Sequence[str] = ()) -> None:
        """Called where a packet reaches ``node``; ``values`` name those of a select. A tracing generator notes it."""

    def entry(self, block: walk.Block, run: Run) -> Run:
        """The function with which the architecture runs ``block``; a debugging generator's also observes errors."""
        del block
        return run

    # --- writing

    def line(self, text: str) -> None:
        """Write one line at the current indentation."""
        self._lines.append("    " * self._indent + text)

    def count(self, steps: int) -> None:
        """Write what takes steps of the packet's budget."""
        self.line(f"{self.bind(self.target.steps, 'steps')}.take({steps})")

    @contextmanager
    def indented(self, head: str) -> Iterator[None]:
        """Write ``head``, and what the block writes one level deeper."""
        self.line(head)
        self._indent += 1
        before = len(self._lines)
        yield
        if len(self._lines) == before:
            self.line("pass")
        self._indent -= 1

    def guarded(self, head: str, line: str) -> None:
        """Write ``line`` below ``head``; it joins the preceding lines if they are below the same head."""
        before = self._guard
        here = (head, len(self._lines), self._indent)
        if before is not None and before[0] is self._lines and before[1] == here:
            self._lines.append("    " * (self._indent + 1) + line)
        else:
            with self.indented(head):
                self.line(line)
        self._guard = (self._lines, (head, len(self._lines), self._indent))

    @contextmanager
    def function(self, name: str, params: str = "m", *, returns_code: bool = False) -> Iterator[None]:
        """Write a function at module level, whatever is being written now."""
        outer = self._lines, self._indent, self.loops, self.returns_code
        self._lines, self._indent, self.loops, self.returns_code = [], 0, [], returns_code
        with self.indented(f"def {name}({params}):"):
            yield
        self._functions.append("\n".join(self._lines))
        self._lines, self._indent, self.loops, self.returns_code = outer

    def inline(self, write: Callable[[], str]) -> str:
        """The text that ``write`` returns, as an expression: the lines it writes go into a function of their own."""
        outer = self._lines
        name = self.name("call")
        with self.function(name):
            result = write()
            plain = not self._lines[1:]
            self.line(f"return {result}")
        assert self._lines is outer
        if plain:
            self._functions.pop()
            return result
        return f"{name}(m)"

    # --- names

    def name(self, hint: str) -> str:
        """A unique name."""
        self._serial += 1
        return f"{hint}_{self._serial}"

    def bind(self, thing: object, hint: str) -> str:
        """A global name for a run-time object; the same name for the same object."""
        if id(thing) not in self._bound:
            self._bound[id(thing)] = self.name(hint)
            self._names[self._bound[id(thing)]] = thing
        return self._bound[id(thing)]

    def bind_late(self, table: dict[str, Any], key: str, function: str) -> None:
        """Have ``table[key]`` be a generated function once the module is loaded."""
        self._late.append((table, key, function))

    def temporary(self, text: str, hint: str = "t") -> str:
        """Write ``name = text`` and return the name."""
        name = self.name(hint)
        self.line(f"{name} = {text}")
        return name

    # --- the end

    @property
    def source(self) -> str:
        """The generated module."""
        return "\n\n\n".join(self._functions) + "\n"

    def load(self) -> dict[str, Any]:
        """Compile the module; returns its namespace."""
        self._names["VOID"] = self.layout.void
        namespace = dict(self._names)
        exec(compile(self.source, f"<{self.program.file}>", "exec"), namespace)  # noqa: S102
        for table, key, function in self._late:
            table[key] = namespace[function]
        return namespace


def zeros(slots: int) -> str:
    """Text of ``slots`` zeros as part of a longer tuple."""
    return f"*(0,) * {slots}" if slots > 8 else ", ".join(["0"] * slots)
