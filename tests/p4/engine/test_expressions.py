# SPDX-License-Identifier: Apache-2.0
"""Random expressions on the engine against a tree-walking evaluator (which shares no code with it).

The evaluator computes on unbounded integers and reduces modulo 2^width at every node; it cannot see mistakes in
the reading of the specification that it shares with the engine (bmv2, through the STF tests, can).
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offramp_base.errors import OfframpError
from offramp_p4 import ir
from offramp_p4.types import BOOL, Bits
from p4_ir import BIT8, BIT16, compile_body, const, ref, var

Env = dict[ir.Var, int]


def signed(value: int, t: Bits) -> int:
    value %= 1 << t.width
    return value - (1 << t.width) if t.signed and value >= 1 << (t.width - 1) else value


def evaluate(e: ir.Expr, env: Env) -> int:
    """The value of ``e``."""
    if isinstance(e, ir.Const):
        return int(e.value)
    if isinstance(e, ir.VarRef):
        return env[e.var]
    if isinstance(e, ir.Mux):
        return evaluate(e.then if evaluate(e.condition, env) else e.otherwise, env)
    if isinstance(e, ir.Unary):
        operand = evaluate(e.operand, env)
        if e.op == "!":
            return 1 - operand
        assert isinstance(e.type, Bits)
        return signed(-operand if e.op == "-" else -operand - 1, e.type)
    if isinstance(e, ir.Slice):
        return evaluate(e.base, env) // (1 << e.low) % (1 << (e.high - e.low + 1))
    if isinstance(e, ir.Cast):
        return signed(evaluate(e.operand, env), e.type) if isinstance(e.type, Bits) else evaluate(e.operand, env)
    assert isinstance(e, ir.Binary)
    return binary(e, env)


def binary(e: ir.Binary, env: Env) -> int:
    if e.op == "&&":
        return evaluate(e.left, env) and evaluate(e.right, env)
    if e.op == "||":
        return evaluate(e.left, env) or evaluate(e.right, env)
    left, right = evaluate(e.left, env), evaluate(e.right, env)
    comparisons = {
        "==": left == right,
        "!=": left != right,
        "<": left < right,
        "<=": left <= right,
        ">": left > right,
        ">=": left >= right,
    }
    if e.op in comparisons:
        return int(comparisons[e.op])
    t = e.type
    assert isinstance(t, Bits)
    low, high = (-(1 << (t.width - 1)), (1 << (t.width - 1)) - 1) if t.signed else (0, (1 << t.width) - 1)
    if e.op in {"|+|", "|-|"}:
        return max(low, min(high, left + right if e.op == "|+|" else left - right))
    if e.op == "++":
        assert isinstance(e.right.type, Bits)
        return signed(left * (1 << e.right.type.width) + right % (1 << e.right.type.width), t)
    if e.op == "<<":
        return signed(left * 2**right, t)
    if e.op == ">>":
        return left // 2**right
    if e.op in {"/", "%"}:
        return left // right if e.op == "/" else left % right
    bitwise = {"&": left & right, "|": left | right, "^": left ^ right}
    arithmetic = {"+": left + right, "-": left - right, "*": left * right}
    return signed({**bitwise, **arithmetic}[e.op], t)


WIDTHS = [1, 3, 8, 13, 32, 64, 65, 128]
types = st.builds(Bits, st.sampled_from(WIDTHS), st.booleans())


@st.composite
def expressions(draw: st.DrawFn, t: Bits, variables: list[ir.Var], depth: int) -> ir.Expr:
    """An expression of type ``t``."""
    own = [v for v in variables if v.type == t]
    if depth == 0:
        if own and draw(st.booleans()):
            return ref(draw(st.sampled_from(own)))
        return const(signed(draw(st.integers(0, (1 << t.width) - 1)), t), t)

    def sub(u: Bits) -> ir.Expr:
        return draw(expressions(u, variables, depth - 1))

    kind = draw(st.sampled_from(["binary", "unary", "shift", "cast", "slice", "concat", "mux", "leaf"]))
    if kind == "binary":
        op = draw(st.sampled_from(["+", "-", "*", "|+|", "|-|", "&", "|", "^"]))
        return ir.Binary(op, sub(t), sub(t), type=t)
    if kind == "unary":
        return ir.Unary(draw(st.sampled_from(["-", "~"])), sub(t), type=t)
    if kind == "shift":
        amount = const(draw(st.integers(0, 140)), BIT8) if draw(st.booleans()) else sub(BIT8)
        return ir.Binary(draw(st.sampled_from(["<<", ">>"])), sub(t), amount, type=t)
    if kind == "cast":
        return ir.Cast(sub(draw(types)), type=t)
    if kind == "slice" and not t.signed:
        low = draw(st.integers(0, 5))
        return ir.Slice(sub(Bits(low + t.width + draw(st.integers(0, 3)))), low + t.width - 1, low, type=t)
    if kind == "concat" and t.width > 1:
        right = draw(st.integers(1, t.width - 1))
        parts = sub(Bits(t.width - right, t.signed)), sub(Bits(right, draw(st.booleans())))
        return ir.Binary("++", *parts, type=t)
    if kind == "mux":
        u = draw(types)
        compare = ir.Binary(draw(st.sampled_from(["==", "!=", "<", "<=", ">", ">="])), sub(u), sub(u), type=BOOL)
        other = ir.Unary("!", ir.Cast(sub(Bits(1)), type=BOOL), type=BOOL)
        op = draw(st.sampled_from(["&&", "||"]))
        return ir.Mux(ir.Binary(op, compare, other, type=BOOL), sub(t), sub(t), type=t)
    return draw(expressions(t, variables, 0))


@pytest.mark.full
@settings(max_examples=400, deadline=None, derandomize=True)
@given(st.data())
def test_expressions_agree_with_the_evaluator(data: st.DataObject) -> None:
    t = data.draw(types)
    variables = [var(f"v{i}", data.draw(types)) for i in range(3)] + [var("own", t), var("amount", BIT8)]
    e = data.draw(expressions(t, variables, data.draw(st.integers(1, 4))))
    result = var("result", t)
    runnable = compile_body([ir.Assign(ref(result), e)], [*variables, result])
    for _ in range(3):
        env = {v: signed(data.draw(st.integers(0, (1 << v.type.width) - 1)), v.type) for v in variables}
        m = runnable.run(env)
        assert runnable.cells(m, result) == [evaluate(e, env)]


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.data())
def test_assigning_a_slice_changes_only_its_bits(data: st.DataObject) -> None:
    t = data.draw(types)
    low = data.draw(st.integers(0, t.width - 1))
    high = data.draw(st.integers(low, t.width - 1))
    part = Bits(high - low + 1)
    whole, value = var("whole", t), var("value", part)
    place = ir.Slice(ref(whole), high, low, type=part)
    runnable = compile_body([ir.Assign(place, ref(value))], [whole, value])
    before = signed(data.draw(st.integers(0, (1 << t.width) - 1)), t)
    bits = data.draw(st.integers(0, part.mask))
    digits = list(f"{before % (1 << t.width):0{t.width}b}")
    digits[t.width - 1 - high : t.width - low] = f"{bits:0{part.width}b}"
    m = runnable.run({whole: before, value: bits})
    assert runnable.cells(m, whole) == [signed(int("".join(digits), 2), t)]


def test_a_slice_of_a_slice_is_a_place() -> None:
    whole, nibble = var("whole", BIT16), Bits(4)
    inner = ir.Slice(ref(whole), 11, 4, type=BIT8)
    runnable = compile_body([ir.Assign(ir.Slice(inner, 5, 2, type=nibble), const(0xF, nibble))], [whole])
    assert runnable.cells(runnable.run({whole: 0}), whole) == [0b1111 << 6]


def test_division() -> None:
    a, b, q, r = (var(n, BIT8) for n in "abqr")
    body: list[ir.Stmt] = [
        ir.Assign(ref(q), ir.Binary("/", ref(a), ref(b), type=BIT8)),
        ir.Assign(ref(r), ir.Binary("%", ref(a), ref(b), type=BIT8)),
    ]
    runnable = compile_body(body, [a, b, q, r])
    for left, right, quotient, remainder in [(200, 7, 28, 4), (5, 9, 0, 5), (5, 0, 0, 5)]:
        m = runnable.run({a: left, b: right})
        assert [m[runnable.layout.base(q)], m[runnable.layout.base(r)]] == [quotient, remainder]


def nested(depth: int, leaf: ir.Expr) -> ir.Expr:
    """``depth`` additions, each within the other."""
    for i in range(depth):
        leaf = ir.Binary("+", const(i, BIT16), leaf, type=BIT16)
    return leaf


def test_expressions_nested_deeper_than_python_parses() -> None:
    a, result = var("a", BIT16), var("result", BIT16)
    runnable = compile_body([ir.Assign(ref(result), nested(250, ref(a)))], [a, result])
    assert runnable.cells(runnable.run({a: 1}), result) == [1 + sum(range(250))]


def test_nesting_beyond_the_stack_is_refused() -> None:
    result = var("result", BIT16)
    with pytest.raises(OfframpError, match=r"^test: the program nests"):
        compile_body([ir.Assign(ref(result), nested(5000, ref(result)))], [result])


def test_logical_operators_stop_early() -> None:
    x, result = var("x", BIT8), var("result", BIT8)
    count = ir.UserFunction("count", [ir.Var("n", BIT8, "inout")], BOOL, ir.Block([]))
    n = count.params[0]
    count.body.body = [
        ir.Assign(ref(n), ir.Binary("+", ref(n), const(1, BIT8), type=BIT8)),
        ir.Return(const(1, BOOL)),
    ]
    call = ir.FunctionCall(count, [ir.Arg("inout", ref(x))], type=BOOL)
    false = ir.Binary("==", ref(result), const(99, BIT8), type=BOOL)
    stops = ir.Binary("&&", false, call, type=BOOL)
    goes_on = ir.Binary("||", false, call, type=BOOL)
    either = ir.Binary("||", stops, goes_on, type=BOOL)
    runnable = compile_body([ir.Assign(ref(result), ir.Cast(either, type=BIT8))], [x, result])
    m = runnable.run({x: 0, result: 0})
    assert (m[runnable.layout.base(x)], m[runnable.layout.base(result)]) == (1, 1)
