# SPDX-License-Identifier: Apache-2.0
"""The frame of code generation: one LLVM module for a program, its functions and the registered rules.

P4 maps onto LLVM as it maps onto Python in the engine, rule by rule: an action, a function, a parser or a control
becomes an LLVM function of the context and the packet's memory that returns how it ended (``DONE``, ``EXITED``,
``FAULTED``, ``CHECK_FAILED``). ``bit<N>`` is ``iN``.

Rules are functions registered for a class of IR nodes. The rule of a scalar expression returns an SSA value, the
rule of any other expression writes its value to an address, the rule of a statement writes instructions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from offramp_base.dispatch import handles
from offramp_base.native.llvm import I1, I8, I32, I64, PTR, AliasTags, Value, const, i64, ll
from offramp_base.native.lowering import RuntimeLibrary
from offramp_p4 import ir
from offramp_p4.engine.placement import Span
from offramp_p4.engine.work import StatementBound
from offramp_p4.native.runtime.context import SwitchMemory
from offramp_p4.native.runtime.program import CHECK_FAILED, DONE
from offramp_p4.native.shape import bits_of, container, is_scalar, number_type, shape, value_type
from offramp_p4.source import Unsupported
from offramp_p4.types import Type

if TYPE_CHECKING:
    from offramp_p4.native.actions import Actions
    from offramp_p4.native.layout import ByteLayout
    from offramp_p4.native.log import PacketNotes
    from offramp_p4.native.next_pass import Reach
    from offramp_p4.native.table_plan import TablePlan

Builder = Callable[["Emitter", ir.ExternCall], Value]
"""Writes an extern call and returns its result (None where it has none)."""
AggregateBuilder = Callable[["Emitter", ir.ExternCall, Value], None]
"""Writes an extern call whose result, not a scalar, goes to an address."""

_Rule = TypeVar("_Rule", bound=Callable[..., Any])
_VALUES: dict[type, Callable[[Emitter, Any], Value]] = {}
_AGGREGATES: dict[type, Callable[[Emitter, Any, Value], None]] = {}
_STATEMENTS: dict[type, Callable[[Emitter, Any], None]] = {}


def value(*kinds: type) -> Callable[[_Rule], _Rule]:
    """Register the rule for the value of these nodes where they are scalars."""
    return handles(_VALUES, *kinds)


def aggregate(*kinds: type) -> Callable[[_Rule], _Rule]:
    """Register the rule that writes the value of these nodes, where they are no scalars, to an address."""
    return handles(_AGGREGATES, *kinds)


def statement(*kinds: type) -> Callable[[_Rule], _Rule]:
    """Register the rule for these statements."""
    return handles(_STATEMENTS, *kinds)


class EmitterTarget(Protocol):
    """An architecture as the emitter needs it: its externs, and where the context has its tables."""

    externs: Mapping[tuple[str, str], Builder]
    """Builders by (extern type or "", method or function name)."""
    aggregates: Mapping[tuple[str, str], AggregateBuilder]
    actions: Actions
    faults: frozenset[tuple[str, str]]
    """Those of the externs that may end the parser with an error."""

    @property
    def clears_headers(self) -> bool:
        """Whether a header that becomes valid has all fields 0, or those that were written before."""

    def table(self, table: ir.MatchTable) -> TablePlan:
        """The plan by which a table is found in the context."""

    def value_set(self, value_set: ir.ValueSet) -> TablePlan:
        """The plan by which a value set is found in the context."""

    def on_miss(self, g: Emitter, table: ir.MatchTable, key: Value) -> None:
        """Write what a miss does to the direct counter of the default entry; ``key`` is the address of its words."""

    def on_hit(self, g: Emitter, table: ir.MatchTable, entry: Value) -> None:
        """Write what happens when ``entry``, counted from 1, has matched."""

    def selector_hash(self, g: Emitter, table: ir.MatchTable) -> Value:
        """The hash that picks a member of a group, as a word."""


@dataclass(slots=True)
class _FunctionState:
    """State of the LLVM function that is being written."""

    llvm: Value
    builder: Any
    entry: Any
    may_exit: bool = False
    result: int | None = None  # offset of what ``return`` sets
    loops: list[tuple[Any, Any]] = field(default_factory=list)  # where ``continue`` and ``break`` go
    addresses: dict[ir.Expr, Any] = field(default_factory=dict)  # of places computed by a compound assignment


@dataclass(frozen=True, slots=True)
class WriteWatch:
    """Memory of a packet, and where a word of it stands that says whether something may have been written there."""

    span: Span
    flag: int


class Emitter:
    """Turns the nodes of one program into LLVM functions.

    Blocks whose packets have memory of their own layout, such as those of a pipe, have an emitter of their own, with
    a ``name`` of its own, in the same module.

    Attributes:
        memo: what has been written, by whatever it was written from.
        library: the run-time system.
        watched: headers, where somebody wants to know whether they are written.
        log: notes what packets do; None: nobody wants to know.
        counted: tables that a packet which comes again looks up with keys one after the other, and what each entry of
            them leads to.
        work: number of steps that the statements in a loop take.
    """

    def __init__(
        self,
        program: ir.Program,
        module: Any,
        layout: ByteLayout,
        target: EmitterTarget,
        library: RuntimeLibrary,
        name: str = "p4",
    ) -> None:
        self.program, self.module, self.layout, self.target = program, module, layout, target
        self.library, self._name = library, name
        self.tags: AliasTags = library.tags
        self.memo: dict[object, Any] = {}
        self.counted: Mapping[ir.MatchTable, tuple[Reach, ...]] = {}
        self.watched: WriteWatch | None = None
        self.log: PacketNotes | None = None
        self.work = StatementBound()
        self._function: _FunctionState | None = None
        self._serial = 0

    # --- expressions and statements

    def value(self, expr: ir.Expr) -> Value:
        """The value of a scalar expression."""
        rule = _VALUES.get(type(expr))
        if rule is None or not is_scalar(expr.type):
            raise Unsupported(expr.pos, f"{type(expr).__name__} of type {expr.type} as a value")
        return rule(self, expr)

    def into(self, expr: ir.Expr, address: Value) -> None:
        """Write the value of ``expr``, of any type, to ``address``."""
        if is_scalar(expr.type):
            self.store(self.value(expr), address, expr.type)
            return
        rule = _AGGREGATES.get(type(expr))
        if rule is None:
            raise Unsupported(expr.pos, f"{type(expr).__name__} of type {expr.type} as a value")
        rule(self, expr, address)

    def temporary(self, expr: ir.Expr) -> Value:
        """The address of a copy of the value of ``expr``."""
        at = self.room(expr.type)
        self.into(expr, at)
        return at

    def statement(self, stmt: ir.Stmt) -> None:
        """Write ``stmt``."""
        rule = _STATEMENTS.get(type(stmt))
        if rule is None:
            raise Unsupported(stmt.pos, f"{type(stmt).__name__} as a statement")
        rule(self, stmt)

    # --- the current function

    @property
    def f(self) -> _FunctionState:
        """The function being written."""
        assert self._function is not None
        return self._function

    @property
    def b(self) -> Any:
        """The builder of the function."""
        return self.f.builder

    @property
    def context(self) -> Value:
        """The function's first argument."""
        return self.f.llvm.args[0]

    @property
    def memory(self) -> Value:
        """The function's second argument."""
        return self.f.llvm.args[1]

    @contextmanager
    def function(self, hint: str, *, exits: bool = False, params: int = 2) -> Iterator[Value]:
        """Write a function of the context and the packet's memory; at its end it returns ``DONE``."""
        self._serial += 1
        name = "".join(c if c.isascii() and c.isalnum() else "_" for c in hint)
        with self.plain_function(f"{name}.{self._serial}", ll.FunctionType(I32, [PTR] * params)) as llvm:
            for arg in llvm.args[:2]:
                arg.add_attribute("noalias")
            self.f.may_exit = exits
            yield llvm
            if not self.b.block.is_terminated:
                self.leave(DONE)

    @contextmanager
    def plain_function(self, name: str, kind: Any) -> Iterator[Value]:
        """Write a function of any type, while another one is being written."""
        function = ll.Function(self.module, kind, f"{self._name}.{name}")
        function.linkage = "internal"
        entry, start = function.append_basic_block("entry"), function.append_basic_block("start")
        ll.IRBuilder(entry).branch(start)
        outer, self._function = self._function, _FunctionState(function, ll.IRBuilder(start), entry)
        yield function
        if not self.b.block.is_terminated:
            self.b.ret_void()
        self._function = outer

    def leave(self, code: int) -> None:
        """End the current function with a code; what follows is not reached."""
        self.b.ret(const(I32, code))

    def leave_if(self, condition: Value, code: Value | int) -> None:
        """End the current function with a code if ``condition`` holds."""
        with self.when(condition, likely=False):
            self.b.ret(const(I32, code) if isinstance(code, int) else code)

    def count(self, steps: int) -> None:
        """Take steps of the packet's budget; end the packet when it has used them up."""
        left = self.b.sub(self.word(SwitchMemory.steps), i64(steps))
        self.tags.mark(self.b.store(left, self.word_address(SwitchMemory.steps)), "Words")
        self.leave_if(self.b.icmp_signed("<", left, i64(0)), CHECK_FAILED)

    # --- control flow

    def block(self, hint: str) -> Any:
        """A new basic block of the current function."""
        return self.f.llvm.append_basic_block(hint)

    def jump(self, block: Any) -> None:
        """Go to ``block`` unless what was just written has left already."""
        if not self.b.block.is_terminated:
            self.b.branch(block)

    @contextmanager
    def when(self, condition: Value, *, likely: bool | None = None) -> Iterator[None]:
        """Code within the context runs only if ``condition`` holds."""
        then, end = self.block("then"), self.block("end")
        branch = self.b.cbranch(condition, then, end)
        if likely is not None:
            branch.set_weights([99, 1] if likely else [1, 99])
        self.b.position_at_end(then)
        yield
        self.jump(end)
        self.b.position_at_end(end)

    def choose(self, condition: Value, then: Callable[[], None], otherwise: Callable[[], None]) -> None:
        """Write an ``if`` with both branches."""
        left, right, end = self.block("then"), self.block("else"), self.block("end")
        self.b.cbranch(condition, left, right)
        for block, write in ((left, then), (right, otherwise)):
            self.b.position_at_end(block)
            write()
            self.jump(end)
        self.b.position_at_end(end)

    def pick(self, condition: Value, then: Callable[[], Value], otherwise: Callable[[], Value], t: Any) -> Value:
        """The value of the branch that runs."""
        slot = self.allocate(t)
        self.choose(condition, lambda: self.b.store(then(), slot), lambda: self.b.store(otherwise(), slot))
        return self.b.load(slot, typ=t)

    # --- memory

    def allocate(self, t: Any, align: int | None = None) -> Value:
        """Room on the stack of the current function for an LLVM type."""
        builder = ll.IRBuilder(self.f.entry)
        builder.position_before(self.f.entry.terminator)
        slot = builder.alloca(t)
        slot.align = align
        slot.type = PTR  # llvmlite makes it a typed pointer
        return slot

    def room(self, t: Type) -> Value:
        """Room on the stack for a value of ``t``."""
        s = shape(t)
        return self.allocate(ll.ArrayType(I8, max(s.size, 1)), s.align)

    def at(self, base: Value, offset: int | Value) -> Value:
        """The address ``offset`` bytes behind ``base``."""
        if isinstance(offset, int):
            if not offset:
                return base
            offset = i64(offset)
        return self.b.gep(base, [offset], source_etype=I8)

    def cell(self, offset: int) -> Value:
        """The address of a place in the packet's memory."""
        return self.at(self.memory, offset)

    def load(self, address: Value, t: Type) -> Value:
        """A scalar from its container."""
        bits = bits_of(t)
        assert bits is not None
        return self.load_number(address, bits.width)

    def load_number(self, address: Value, width: int, kind: str = "Memory") -> Value:
        """A number of ``width`` bits from its container."""
        size = container(width)
        loaded = self.b.load(address, typ=ll.IntType(8 * size), align=min(size, 8))
        self.tags.mark(loaded, kind)
        t = number_type(width)
        if width == 0:
            return const(t, 0)
        return loaded if t.width == 8 * size else self.b.trunc(loaded, t)

    def store(self, number: Value, address: Value, t: Type) -> None:
        """A scalar into its container."""
        bits = bits_of(t)
        assert bits is not None
        self.store_number(number, address, bits.width)

    def store_number(self, number: Value, address: Value, width: int, kind: str = "Memory") -> None:
        """A number of ``width`` bits into its container."""
        size = container(width)
        stored = self.resize(const(number.type, 0) if width == 0 else number, 8 * size)
        self.tags.mark(self.b.store(stored, address, align=min(size, 8)), kind)

    def copy(self, into: Value, source: Value, size: int | Value) -> None:
        """Copy bytes between places that may overlap."""
        f = self.module.declare_intrinsic(
            "llvm.memmove.p0.p0.i64", [], ll.FunctionType(ll.VoidType(), [PTR, PTR, I64, I1])
        )
        self.b.call(f, [into, source, i64(size) if isinstance(size, int) else size, const(I1, 0)])

    def copy_value(self, into: Value, source: Value, t: Type) -> None:
        """Copy a value of any type between places."""
        if is_scalar(t):
            self.store(self.load(source, t), into, t)
        else:
            self.copy(into, source, shape(t).size)

    def note_write(self, var: ir.Var) -> None:
        """Say that a variable, or something in it, is to be written."""
        if self.watched is not None:
            (start, end), flag = self.watched.span, self.cell(self.watched.flag)
            if start <= self.layout.base(var) < end:
                self.store_number(const(I64, 1), flag, 64)

    def clear(self, address: Value, size: int) -> None:
        """Set bytes to 0."""
        if size:
            f = self.module.declare_intrinsic(
                "llvm.memset.p0.i64", [], ll.FunctionType(ll.VoidType(), [PTR, I8, I64, I1])
            )
            self.b.call(f, [address, const(I8, 0), i64(size), const(I1, 0)])

    def word_address(self, index: int) -> Value:
        """The address of a word of the context."""
        return self.at(self.context, 8 * index)

    def word(self, index: int) -> Value:
        """A word of the context."""
        return self.tags.mark(self.b.load(self.word_address(index), typ=I64), "Words")

    def pointer(self, index: int) -> Value:
        """An address that the context holds."""
        return self.tags.mark(self.b.load(self.word_address(index), typ=PTR), "Words")

    def call(self, python: Callable[..., Any], *args: Value | int) -> Value:
        """Call a function of the run-time system."""
        return self.library.call(self.b, python, *args)

    # --- numbers

    def resize(self, number: Value, width: int, *, signed: bool = False) -> Value:
        """``number`` with ``width`` bits: cut, or extended by its sign or by zeros."""
        t = number_type(width)
        if isinstance(number.type, ll.VectorType) and 64 * number.type.count == width:
            return number
        number = self.integer(number)
        if number.type.width == t.width:
            return number
        if number.type.width > t.width:
            return self.b.trunc(number, t)
        return self.b.sext(number, t) if signed else self.b.zext(number, t)

    def integer(self, number: Value) -> Value:
        """A number as an integer, also if it is a vector of words (:mod:`offramp_p4.native.wide`)."""
        if isinstance(number.type, ll.VectorType):
            return self.b.bitcast(number, ll.IntType(64 * number.type.count))
        return number

    def word_of(self, expr: ir.Expr) -> Value:
        """The value of a scalar of at most 64 bits as a word."""
        if isinstance(expr, ir.Const) and isinstance(expr.value, int) and 0 <= expr.value < 1 << 63:
            return i64(expr.value)
        bits = bits_of(expr.type)
        if bits is None or bits.width > 64:
            raise Unsupported(expr.pos, f"a number of type {expr.type} here, of more than 64 bits,")
        return self.resize(self.value(expr), 64, signed=bits.signed)

    def zero(self, t: Type) -> Value:
        """Zero of a scalar type."""
        return const(value_type(t), 0)


BOOL_FALSE: Final = const(I1, 0)
BOOL_TRUE: Final = const(I1, 1)
