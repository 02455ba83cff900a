"""Translation of the functions marked in the run-time system (:mod:`offramp_sim.p4.native.subset`) to LLVM."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Mapping
from functools import cache, reduce
from typing import Any, Final

from offramp_sim.p4.native import subset
from offramp_sim.p4.native.llvm import F64, I1, I8, I32, I64, PTR, AliasTags, Value, const, i64, ll

_ELEMENTS: Final[dict[str, tuple[Any, int, bool]]] = {  # LLVM type, bytes, signed
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

Typed = tuple[Value, str]
"""A value and the name of its type in the subset."""


def llvm_type(name: str) -> Any:
    """The LLVM type of an annotation."""
    return PTR if name in _ELEMENTS else _SCALARS[name]


@cache
def _definition(function: Callable[..., object]) -> ast.FunctionDef:
    (node,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    assert isinstance(node, ast.FunctionDef)
    return node


class Library:
    """The run-time system in one module: functions are translated when they are first asked for.

    Args:
        module: where the functions go.
        fields: offset and bytes of each :class:`subset.Field`, by name.
        supplied: functions of the compiled program, by name; or marked functions that take their place.
    """

    def __init__(
        self,
        module: Any,
        tags: AliasTags,
        fields: Mapping[str, tuple[int, int]] | None = None,
        supplied: Mapping[str, Value | Callable[..., Any]] | None = None,
    ) -> None:
        self.module, self.tags = module, tags
        self.fields = {} if fields is None else fields
        self.supplied = {} if supplied is None else supplied
        self._functions: dict[Callable[..., object], Value] = {}

    def function(self, python: Callable[..., Any], *, exported: bool = False) -> Value:
        """The LLVM function of a marked function."""
        mark = python.__dict__.get("native")
        if mark == "supplied":
            given = self.supplied[python.__name__]
            return given if isinstance(given, ll.Function) else self.function(given)
        if python not in self._functions:
            node = _definition(python)
            params = [llvm_type(_annotation(a.annotation)) for a in node.args.args]
            kind = ll.FunctionType(llvm_type(_annotation(node.returns)), params)
            made = self._functions[python] = ll.Function(self.module, kind, f"rt.{python.__name__}")
            made.linkage = "internal"
            if mark == "inlined":
                made.attributes.add("alwaysinline")
            _Body(self, python, node, made).write()
        made = self._functions[python]
        if exported:
            made.linkage = "external"
        return made

    def call(self, builder: Any, python: Callable[..., Any], *args: Value | int) -> Value:
        """Call a marked function from elsewhere; ints become constant words."""
        values = [i64(a) if isinstance(a, int) else a for a in args]
        return builder.call(self.function(python), values)


def _annotation(node: ast.expr | None) -> str:
    if isinstance(node, ast.Name):
        return node.id
    assert isinstance(node, ast.Constant), node
    return str(node.value)


class _Body:
    """The translation of one function."""

    def __init__(self, library: Library, python: Callable[..., object], node: ast.FunctionDef, made: Value) -> None:
        self.library, self.node, self.made = library, node, made
        self.globals: dict[str, Any] = python.__globals__
        self.entry = made.append_basic_block("entry")
        start = made.append_basic_block("start")
        self.allocate = ll.IRBuilder(self.entry)
        self.allocate.branch(start)
        self.allocate.position_before(self.entry.terminator)
        self.b = ll.IRBuilder(start)
        self.variables: dict[str, Typed] = {}
        self.loops: list[tuple[Any, Any]] = []

    def write(self) -> None:
        for arg, value in zip(self.node.args.args, self.made.args, strict=True):
            self._assign(arg.arg, (value, _annotation(arg.annotation)))
        self._statements(self.node.body)
        if not self.b.block.is_terminated:
            if isinstance(self.made.function_type.return_type, ll.VoidType):
                self.b.ret_void()
            else:
                self.b.unreachable()

    # --- statements

    def _statements(self, body: list[ast.stmt]) -> None:
        for statement in body:
            if self.b.block.is_terminated:
                return
            rule = getattr(self, f"_do_{type(statement).__name__.lower()}")
            rule(statement)

    def _do_expr(self, s: ast.Expr) -> None:
        if not isinstance(s.value, ast.Constant):  # a docstring
            self.value(s.value)

    def _do_assign(self, s: ast.Assign) -> None:
        (target,) = s.targets
        self._store(target, self.value(s.value))

    def _do_annassign(self, s: ast.AnnAssign) -> None:
        assert s.value is not None
        self._store(s.target, self.value(s.value))

    def _do_augassign(self, s: ast.AugAssign) -> None:
        as_value = ast.copy_location(ast.parse(ast.unparse(s.target), mode="eval").body, s.target)
        self._store(s.target, self._binary(s.op, self.value(as_value), self.value(s.value)))

    def _do_return(self, s: ast.Return) -> None:
        if s.value is None:
            self.b.ret_void()
        else:
            self.b.ret(self.value(s.value)[0])

    def _do_if(self, s: ast.If) -> None:
        then, otherwise, end = (self.made.append_basic_block(n) for n in ("then", "else", "end"))
        self.b.cbranch(self._condition(s.test), then, otherwise)
        for block, body in ((then, s.body), (otherwise, s.orelse)):
            self.b.position_at_end(block)
            self._statements(body)
            if not self.b.block.is_terminated:
                self.b.branch(end)
        self.b.position_at_end(end)

    def _do_while(self, s: ast.While) -> None:
        test, body, end = (self.made.append_basic_block(n) for n in ("test", "body", "end"))
        self.b.branch(test)
        self.b.position_at_end(test)
        self.b.cbranch(self._condition(s.test), body, end)
        self._loop(body, s.body, test, end)

    def _do_for(self, s: ast.For) -> None:
        assert isinstance(s.target, ast.Name)
        assert isinstance(s.iter, ast.Call)
        bounds = [self.value(a)[0] for a in s.iter.args]
        start, stop = (i64(0), bounds[0]) if len(bounds) == 1 else (bounds[0], bounds[1])
        step = bounds[2] if len(bounds) == 3 else i64(1)
        test, body, more, end = (self.made.append_basic_block(n) for n in ("test", "body", "more", "end"))
        self._assign(s.target.id, (start, "int"))
        self.b.branch(test)
        self.b.position_at_end(test)
        counter = self._load(s.target.id)[0]
        descending = isinstance(step, ll.Constant) and step.constant >> 63
        self.b.cbranch(self.b.icmp_signed(">" if descending else "<", counter, stop), body, end)
        self._loop(body, s.body, more, end)
        self.b.position_at_end(more)
        self._assign(s.target.id, (self.b.add(self._load(s.target.id)[0], step), "int"))
        self.b.branch(test)
        self.b.position_at_end(end)

    def _loop(self, block: Any, body: list[ast.stmt], again: Any, end: Any) -> None:
        self.loops.append((again, end))
        self.b.position_at_end(block)
        self._statements(body)
        if not self.b.block.is_terminated:
            self.b.branch(again)
        self.loops.pop()
        self.b.position_at_end(end)

    def _do_break(self, s: ast.Break) -> None:
        del s
        self.b.branch(self.loops[-1][1])

    def _do_continue(self, s: ast.Continue) -> None:
        del s
        self.b.branch(self.loops[-1][0])

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
        assert isinstance(target, ast.Subscript)
        pointer, element, kind = self._element(target)
        value = typed[0]
        if isinstance(element, ll.IntType) and element.width < 64:
            value = self.b.trunc(value, element)
        self.library.tags.mark(self.b.store(value, pointer, align=1 if kind == "Memory" else None), kind)

    def _element(self, e: ast.Subscript) -> tuple[Value, Any, str]:
        base, kind = self.value(e.value)
        if kind == "Memory":
            assert isinstance(e.slice, ast.Name)
            offset, size = self.library.fields[self.globals[e.slice.id].name]
            return self.b.gep(base, [i64(offset)], source_etype=I8), ll.IntType(8 * size), kind
        element = _ELEMENTS[kind][0]
        return self.b.gep(base, [self.value(e.slice)[0]], source_etype=element), element, kind

    # --- expressions

    def _condition(self, e: ast.expr) -> Value:
        value, kind = self.value(e)
        return value if kind == "bool" else self.b.icmp_unsigned("!=", value, const(value.type, 0))

    def value(self, e: ast.expr) -> Typed:
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

    def _on_name(self, e: ast.Name) -> Typed:
        return self._load(e.id) if e.id in self.variables else self._literal(self.globals[e.id])

    def _on_subscript(self, e: ast.Subscript) -> Typed:
        pointer, element, kind = self._element(e)
        loaded = self.b.load(pointer, typ=element, align=1 if kind == "Memory" else None)
        self.library.tags.mark(loaded, kind)
        if kind == "Doubles":
            return loaded, "float"
        if element.width < 64:
            loaded = self.b.sext(loaded, I64) if _ELEMENTS[kind][2] else self.b.zext(loaded, I64)
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
        if left[1] in _ELEMENTS:
            assert isinstance(op, ast.Add)
            return self.b.gep(left[0], [right[0]], source_etype=_ELEMENTS[left[1]][0]), left[1]
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
        end = self.made.append_basic_block("end")
        stop = const(I1, 0 if isinstance(e.op, ast.And) else 1)
        arrivals = []
        for operand in e.values[:-1]:
            value = self._condition(operand)
            more = self.made.append_basic_block("more")
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
        then, otherwise, end = (self.made.append_basic_block(n) for n in ("then", "else", "end"))
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
        args = [self.value(a) for a in e.args]
        if name in _ELEMENTS:
            value, kind = args[0]
            return (self.b.inttoptr(value, PTR) if kind == "int" else value), name
        if name in _SCALARS:
            return self._convert(name, args[0])
        if name in {"min", "max"}:
            (left, kind), (right, _) = args
            compare = self.b.fcmp_ordered if kind == "float" else self.b.icmp_signed
            return self.b.select(compare("<" if name == "min" else ">", right, left), right, left), kind
        function = self.globals[name]
        if function.__module__ == subset.__name__:
            return getattr(self, f"_call_{name}")(*[a[0] for a in args])  # type: ignore[no-any-return]
        made = self.library.function(function)
        result = self.b.call(made, [a[0] for a in args])
        if isinstance(result.type, ll.IntType) and result.type.width == 32:  # how a block has ended
            result = self.b.zext(result, I64)
        return result, str(inspect.get_annotations(function)["return"])

    def _convert(self, name: str, typed: Typed) -> Typed:
        value, kind = typed
        if kind in _ELEMENTS:
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

    def _call_call_word(self, function: Value, argument: Value) -> Typed:
        kind = ll.FunctionType(I32, [PTR])
        return self.b.zext(self._call_pointer(kind, function, [self.b.inttoptr(argument, PTR)]), I64), "int"

    def _call_call_back(self, function: Value, buffer: Value, size: Value) -> Typed:
        return self._call_pointer(ll.FunctionType(ll.VoidType(), [I64, I64]), function, [buffer, size]), "None"

    def _call_pointer(self, kind: Any, address: Value, args: list[Value]) -> Value:
        # llvmlite calls through values of a function's pointer type only.
        return self.b.call(self.b.inttoptr(address, kind.as_pointer()), args)
