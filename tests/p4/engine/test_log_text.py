# SPDX-License-Identifier: Apache-2.0
"""Messages whose holes are spread over headers, tuples and stacks, as bmv2 prints them."""

from __future__ import annotations

import pytest

from offramp_p4 import ir
from offramp_p4.source import Pos, Unsupported
from offramp_p4.types import STRING, Bits, Header, Stack, Struct, StructField, Tuple, Type, Varbit
from offramp_p4.v1model.log_text import message_of, spread

pytestmark = pytest.mark.p4

BYTE, WORD = Bits(8), Bits(16)
HEADER = Header("h_t", fields=[StructField("a", BYTE), StructField("b", WORD)])
PAIR = Tuple((BYTE, WORD))
STRUCT = Struct("s_t", fields=[StructField("h", HEADER), StructField("n", WORD)])


def _variable(t: Type) -> ir.VarRef:
    return ir.VarRef(ir.Var("v", t), type=t, pos=Pos("x.p4", 3, 1))


def _number(value: int) -> ir.Const:
    return ir.Const(value, type=BYTE)


def _path(e: ir.Expr) -> tuple[int, ...]:
    """Numbers of members and elements from the variable on."""
    if isinstance(e, ir.Member):
        return (*_path(e.base), e.index)
    if isinstance(e, ir.Element):
        assert isinstance(e.index, ir.Const)
        assert e.index.type == Bits(32)
        return (*_path(e.base), int(e.index.value))
    assert isinstance(e, ir.VarRef)
    return ()


@pytest.mark.parametrize(
    ("t", "message", "text", "paths", "types"),
    [
        (BYTE, "a {} b", "a {} b", [()], [BYTE]),
        (HEADER, "{} and {}", "{} and {}", [(0,), (1,)], [BYTE, WORD]),
        (PAIR, "{} and {}", "{} and {}", [(0,), (1,)], [BYTE, WORD]),
        (STRUCT, "{}, {:x}", "(a:{},b:{}), {}", [(0, 0), (0, 1), (1,)], [BYTE, WORD, WORD]),
        (Stack(BYTE, 2), "{} {} {}", "{} {} {}", [(0,), (1,)], [BYTE, BYTE]),
        (Tuple((PAIR, BYTE)), "{}{}", "({},{}){}", [(0, 0), (0, 1), (1,)], [BYTE, WORD, BYTE]),
        (Tuple((Stack(HEADER, 1),)), "{}", "((a:{},b:{}))", [(0, 0, 0), (0, 0, 1)], [BYTE, WORD]),
        (Tuple((Varbit(16), BYTE)), "{} {}", "? {}", [(1,)], [BYTE]),
    ],
)  # fmt: skip
def test_holes_are_filled_in_order(
    t: Type, message: str, text: str, paths: list[tuple[int, ...]], types: list[Type]
) -> None:
    spread_text, scalars = spread(message, _variable(t))
    assert spread_text == text
    assert [_path(scalar) for scalar in scalars] == paths
    assert [scalar.type for scalar in scalars] == types


def test_values_that_are_composed_need_no_variable() -> None:
    one, two, three = map(_number, (1, 2, 3))
    header = ir.Compose([one, two], type=HEADER)
    pair = ir.Compose([two, three], type=PAIR)
    data = ir.Compose([header, pair], type=Tuple((HEADER, PAIR)))
    assert spread("{} {} {}", data) == ("(a:{},b:{}) ({},{}) {}", [one, two, two, three])


def test_a_message_without_data_stays_as_it_is() -> None:
    assert spread("a {} b", None) == ("a {} b", [])


@pytest.mark.parametrize("t", [HEADER, PAIR, Stack(BYTE, 2)])
def test_a_value_of_a_call_is_refused(t: Type) -> None:
    value = ir.InvalidHeader(type=t, pos=Pos("x.p4", 3, 1))
    with pytest.raises(Unsupported, match=r"log_msg of a .* that is not stored; assign it to a variable first"):
        spread("{}", ir.Compose([value], type=Tuple((t,))))


def test_a_message_is_a_constant_text() -> None:
    def call(message: ir.Expr) -> ir.ExternCall:
        return ir.ExternCall(
            "", "log_msg", None, [], [ir.Arg("in", message)], ["msg"], type=STRING, pos=Pos("x.p4", 3, 1)
        )

    assert message_of(call(ir.Const("a", type=STRING))) == "a"
    for other in (_number(1), _variable(STRING)):
        with pytest.raises(Unsupported, match="log_msg of a text that is not a constant"):
            message_of(call(other))
