# SPDX-License-Identifier: Apache-2.0
"""Expressions of the run-time system (:mod:`offramp_base.native.subset`) in LLVM."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

from offramp_base.native import records, subset
from offramp_base.native.llvm import F64, I1, I8, I32, I64, PTR, Value, const, i64, ll
from offramp_base.native.records import FieldPlace, Record

if TYPE_CHECKING:
    from offramp_base.native.lowering import RuntimeLibrary

ELEMENTS: Final[dict[str, tuple[Any, int, bool]]] = {  # LLVM type, bytes, signed
    "Bytes": (I8, 1, False),
    "Ints": (I32, 4, True),
    "Words": (I64, 8, True),
    "Doubles": (F64, 8, True),
    "Memory": (I8, 1, False),
}
_SCALARS: Final = {"int": I64, "float": F64, "bool": I1, "None": ll.VoidType()}
_ARITHMETIC: Final[dict[type, str]] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.FloorDiv: "udiv",
    ast.Mod: "urem",
    ast.BitAnd: "and_",
    ast.BitOr: "or_",
    ast.BitXor: "xor",
    ast.LShift: "shl",
    ast.RShift: "lshr",
}
_FLOATING: Final[dict[type, str]] = {ast.Add: "fadd", ast.Sub: "fsub", ast.Mult: "fmul", ast.Div: "fdiv"}
_COMPARISONS: Final[dict[type, str]] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}

Kind = str | type[Record]
"""A type of the subset: the name of a scalar or pointer, or a record for its address."""
Typed = tuple[Value, Kind]


def kind_of(annotation: str, names: Mapping[str, Any]) -> Kind:
    """The type that an annotation names in a module with these names."""
    record = names.get(annotation)
    return record if isinstance(record, type) and issubclass(record, Record) else annotation


def llvm_type(kind: Kind) -> Any:
    """The LLVM type of values of a type."""
    return PTR if _is_pointer(kind) else _SCALARS[str(kind)]


def _is_pointer(kind: Kind) -> bool:
    return not isinstance(kind, str) or kind in ELEMENTS


class NativeExpressions:
    """Places and values within one function.

    Attributes:
        llvm: the LLVM function.
        b: writes into it.
        variables: address and type by name.
    """

    def __init__(self, library: RuntimeLibrary, python: Callable[..., object], function: Value) -> None:
        self.library, self.llvm = library, function
        self.globals: dict[str, Any] = python.__globals__
        self.entry = function.append_basic_block("entry")
        start = function.append_basic_block("start")
        self.allocate = ll.IRBuilder(self.entry)
        self.allocate.branch(start)
        self.allocate.position_before(self.entry.terminator)
        self.b = ll.IRBuilder(start)
        self.variables: dict[str, Typed] = {}

    # --- places

    def _assign(self, name: str, typed: Typed) -> None:
        value, kind = typed
        if name not in self.variables:
            self.variables[name] = (self.allocate.alloca(llvm_type(kind), name=name), kind)
        slot, declared = self.variables[name]
        assert declared == kind, f"{name} is {declared}, then {kind}"
        self.b.store(value, slot)

    def _load(self, name: str) -> Typed:
        slot, kind = self.variables[name]
        return self.b.load(slot, typ=llvm_type(kind)), kind

    def _store(self, target: ast.expr, typed: Typed) -> None:
        if isinstance(target, ast.Name):
            self._assign(target.id, typed)
            return
        if isinstance(target, ast.Attribute):
            self._store_field(target, typed)
            return
        assert isinstance(target, ast.Subscript)
        pointer, element, kind = self._element(target)
        value = typed[0]
        if isinstance(element, ll.IntType) and element.width < 64:
            value = self.b.trunc(value, element)
        self.library.tags.mark(self.b.store(value, pointer, align=1 if kind == "Memory" else None), kind)

    def _store_field(self, target: ast.Attribute, typed: Typed) -> None:
        base, place = self._field(target)
        address = self.b.gep(base, [i64(place.offset)], source_etype=I64)
        value, kind = typed
        if place.via == "address":
            assert _is_pointer(kind), ast.unparse(target)
            value = self.b.ptrtoint(value, I64)
        else:
            assert kind == place.kind, f"{ast.unparse(target)} is {place.kind}, not {kind}"
        self.library.tags.mark(self.b.store(value, address), "Doubles" if kind == "float" else "Words")

    def _field(self, e: ast.Attribute) -> tuple[Value, FieldPlace]:
        """The record, and the place of the field in it."""
        base, kind = self.value(e.value)
        assert not isinstance(kind, str), f"{ast.unparse(e)}: {kind} has no fields"
        assert e.attr in kind.PLACES, f"{ast.unparse(e)}: {kind.__name__} has no field {e.attr}"
        return base, kind.PLACES[e.attr]

    def _records_on(self, base: Typed, records: Typed) -> Typed:
        """The record ``records`` places behind another."""
        assert not isinstance(base[1], str)
        words = self.b.mul(records[0], i64(base[1].WORDS))
        return self.b.gep(base[0], [words], source_etype=I64), base[1]

    def _element(self, e: ast.Subscript, known: Typed | None = None) -> tuple[Value, Any, str]:
        base, kind = known or self.value(e.value)
        assert isinstance(kind, str), f"{ast.unparse(e)}: a record is not a place"
        if kind == "Memory":
            assert isinstance(e.slice, ast.Name)
            offset, size = self.library.fields[self.globals[e.slice.id].name]
            return self.b.gep(base, [i64(offset)], source_etype=I8), ll.IntType(8 * size), kind
        element = ELEMENTS[kind][0]
        return self.b.gep(base, [self.value(e.slice)[0]], source_etype=element), element, kind

    # --- expressions

    def _condition(self, e: ast.expr) -> Value:
        value, kind = self.value(e)
        return value if kind == "bool" else self.b.icmp_unsigned("!=", value, const(value.type, 0))

    def value(self, e: ast.expr) -> Typed:
        """The value of an expression."""
        rule = getattr(self, f"_on_{type(e).__name__.lower()}")
        typed: Typed = rule(e)
        return typed

    def _on_constant(self, e: ast.Constant) -> Typed:
        return self._literal(e.value)

    def _literal(self, value: object) -> Typed:
        if isinstance(value, bool):
            return const(I1, int(value)), "bool"
        if isinstance(value, float):
            return ll.Constant(F64, value), "float"
        assert isinstance(value, int), value
        return i64(value), "int"

    def _constant(self, e: ast.expr) -> Typed:
        """The value of an expression without variables, as Python evaluates it."""
        return self._literal(eval(compile(ast.Expression(e), "<constant>", "eval"), self.globals))  # noqa: S307

    def _on_attribute(self, e: ast.Attribute) -> Typed:
        root: ast.expr = e
        while isinstance(root, ast.Attribute):
            root = root.value
        if isinstance(root, ast.Name) and root.id not in self.variables:
            return self._constant(e)
        base, place = self._field(e)
        if place.via == "" and place.kind not in {"int", "float"}:
            return self.b.gep(base, [i64(place.offset)], source_etype=I64), place.kind
        word = self._word(base, place)
        if place.via == "address":
            word = self.b.inttoptr(word, PTR)
        elif place.via == "within":
            word = self.b.gep(base, [word], source_etype=I64)
        return word, place.kind

    def _word(self, base: Value, place: FieldPlace) -> Value:
        double = place.kind == "float"
        address = self.b.gep(base, [i64(place.offset)], source_etype=I64)
        return self.library.tags.mark(
            self.b.load(address, typ=F64 if double else I64), "Doubles" if double else "Words"
        )

    def _on_name(self, e: ast.Name) -> Typed:
        return self._load(e.id) if e.id in self.variables else self._literal(self.globals[e.id])

    def _on_subscript(self, e: ast.Subscript) -> Typed:
        base = self.value(e.value)
        if not isinstance(base[1], str):
            return self._records_on(base, self.value(e.slice))
        pointer, element, kind = self._element(e, base)
        loaded = self.b.load(pointer, typ=element, align=1 if kind == "Memory" else None)
        self.library.tags.mark(loaded, kind)
        if kind == "Doubles":
            return loaded, "float"
        if element.width < 64:
            loaded = self.b.sext(loaded, I64) if ELEMENTS[kind][2] else self.b.zext(loaded, I64)
        return loaded, "int"

    def _on_unaryop(self, e: ast.UnaryOp) -> Typed:
        if isinstance(e.op, ast.Not):
            return self.b.not_(self._condition(e.operand)), "bool"
        if isinstance(e.op, ast.USub) and isinstance(e.operand, ast.Constant):
            return self._literal(-e.operand.value)  # type: ignore[operator]
        value, kind = self.value(e.operand)
        return (self.b.neg(value) if isinstance(e.op, ast.USub) else self.b.not_(value)), kind

    def _on_binop(self, e: ast.BinOp) -> Typed:
        return self._binary(e.op, self.value(e.left), self.value(e.right))

    def _binary(self, op: ast.operator, left: Typed, right: Typed) -> Typed:
        if not isinstance(left[1], str):
            assert isinstance(op, ast.Add)
            return self._records_on(left, right)
        if left[1] in ELEMENTS:
            assert isinstance(op, ast.Add)
            return self.b.gep(left[0], [right[0]], source_etype=ELEMENTS[left[1]][0]), left[1]
        assert left[1] == right[1], ast.dump(op)
        operations = _FLOATING if left[1] == "float" else _ARITHMETIC
        return getattr(self.b, operations[type(op)])(left[0], right[0]), left[1]

    def _on_compare(self, e: ast.Compare) -> Typed:
        (op,), (second,) = e.ops, e.comparators
        left = self.value(e.left)
        if isinstance(op, ast.In):
            assert isinstance(second, ast.Tuple)
            equal = [self.b.icmp_signed("==", left[0], self.value(each)[0]) for each in second.elts]
            return reduce(self.b.or_, equal), "bool"
        right = self.value(second)
        compare = self.b.fcmp_ordered if left[1] == "float" else self.b.icmp_signed
        return compare(_COMPARISONS[type(op)], left[0], right[0]), "bool"

    def _on_boolop(self, e: ast.BoolOp) -> Typed:
        end = self.llvm.append_basic_block("end")
        stop = const(I1, 0 if isinstance(e.op, ast.And) else 1)
        arrivals = []
        for operand in e.values[:-1]:
            value = self._condition(operand)
            more = self.llvm.append_basic_block("more")
            arrivals.append((stop, self.b.block))
            self.b.cbranch(value, *((more, end) if isinstance(e.op, ast.And) else (end, more)))
            self.b.position_at_end(more)
        arrivals.append((self._condition(e.values[-1]), self.b.block))
        self.b.branch(end)
        self.b.position_at_end(end)
        result = self.b.phi(I1)
        for value, block in arrivals:
            result.add_incoming(value, block)
        return result, "bool"

    def _on_ifexp(self, e: ast.IfExp) -> Typed:
        then, otherwise, end = (self.llvm.append_basic_block(n) for n in ("then", "else", "end"))
        self.b.cbranch(self._condition(e.test), then, otherwise)
        arrivals = []
        for block, branch in ((then, e.body), (otherwise, e.orelse)):
            self.b.position_at_end(block)
            value, kind = self.value(branch)
            arrivals.append((value, self.b.block))
            self.b.branch(end)
        self.b.position_at_end(end)
        result = self.b.phi(arrivals[0][0].type)
        for value, block in arrivals:
            result.add_incoming(value, block)
        return result, kind

    def _on_call(self, e: ast.Call) -> Typed:
        assert isinstance(e.func, ast.Name)
        name = e.func.id
        if self.globals.get(name) is records.offset:
            return self._constant(e)
        args = [self.value(a) for a in e.args]
        target = kind_of(name, self.globals)
        if _is_pointer(target):
            value, kind = args[0]
            return (self.b.inttoptr(value, PTR) if kind == "int" else value), target
        if name in _SCALARS:
            return self._convert(name, args[0])
        if name in {"min", "max"}:
            (left, kind), (right, _) = args
            compare = self.b.fcmp_ordered if kind == "float" else self.b.icmp_signed
            return self.b.select(compare("<" if name == "min" else ">", right, left), right, left), kind
        function = self.globals[name]
        if function.__module__ == subset.__name__:
            return getattr(self, f"_call_{name}")(*[a[0] for a in args])  # type: ignore[no-any-return]
        callee = self.library.function(function)
        result = self.b.call(callee, [a[0] for a in args])
        if isinstance(result.type, ll.IntType) and result.type.width == 32:  # how a block has ended
            result = self.b.zext(result, I64)
        return result, kind_of(str(inspect.get_annotations(function)["return"]), function.__globals__)

    def _convert(self, name: str, typed: Typed) -> Typed:
        value, kind = typed
        if _is_pointer(kind):
            return self.b.ptrtoint(value, I64), "int"
        if (kind, name) == ("int", "float"):
            return self.b.sitofp(value, F64), "float"
        if (kind, name) == ("float", "int"):
            return self.b.fptosi(value, I64), "int"
        assert (kind, name) == ("bool", "int")
        return self.b.zext(value, I64), "int"

    # --- the functions of the subset

    def _intrinsic(self, name: str, result: Any, *params: Any) -> Value:
        return self.library.module.declare_intrinsic(name, [], ll.FunctionType(result, params))

    def _call_copy(self, into: Value, source: Value, size: Value) -> Typed:
        f = self._intrinsic("llvm.memcpy.p0.p0.i64", ll.VoidType(), PTR, PTR, I64, I1)
        return self.b.call(f, [into, source, size, const(I1, 0)]), "None"

    def _call_clear(self, into: Value, size: Value) -> Typed:
        f = self._intrinsic("llvm.memset.p0.i64", ll.VoidType(), PTR, I8, I64, I1)
        return self.b.call(f, [into, const(I8, 0), size, const(I1, 0)]), "None"

    def _call_below(self, left: Value, right: Value) -> Typed:
        return self.b.icmp_unsigned("<", left, right), "bool"

    def _call_highest_bit(self, word: Value) -> Typed:
        return self.b.sub(i64(63), self.b.ctlz(word, const(I1, 1))), "int"

    def _call_high_product(self, left: Value, right: Value) -> Typed:
        wide = ll.IntType(128)
        product = self.b.mul(self.b.zext(left, wide), self.b.zext(right, wide))
        return self.b.trunc(self.b.lshr(product, const(wide, 64)), I64), "int"

    def _call_observe(self, place: Value) -> Typed:
        return self.b.load_atomic(place, "acquire", 8, typ=I64), "int"

    def _call_publish(self, place: Value, word: Value) -> Typed:
        self.b.fence("release")  # llvmlite writes no atomic stores through opaque pointers
        return self.b.store(word, place, align=8), "None"

    def _call_fence(self) -> Typed:
        return self.b.fence("seq_cst"), "None"

    def _call_prefetch(self, place: Value) -> Typed:
        f = self._intrinsic("llvm.prefetch.p0", ll.VoidType(), PTR, I32, I32, I32)
        return self.b.call(f, [place, const(I32, 0), const(I32, 3), const(I32, 1)]), "None"

    def _call_call_word(self, function: Value, argument: Value) -> Typed:
        kind = ll.FunctionType(I32, [PTR])
        return self.b.zext(self._call_pointer(kind, function, [self.b.inttoptr(argument, PTR)]), I64), "int"

    def _call_call_foreign(self, function: Value, *words: Value) -> Typed:
        return self._call_pointer(ll.FunctionType(I64, [I64] * len(words)), function, list(words)), "int"

    def _call_call_back(self, function: Value, buffer: Value, size: Value) -> Typed:
        return self._call_pointer(ll.FunctionType(ll.VoidType(), [I64, I64]), function, [buffer, size]), "None"

    def _call_pointer(self, kind: Any, address: Value, args: list[Value]) -> Value:
        # llvmlite calls through values of a function's pointer type only.
        return self.b.call(self.b.inttoptr(address, kind.as_pointer()), args)
