# SPDX-License-Identifier: Apache-2.0
"""Uses of names in expressions: in an index, as a named argument, behind the result of a generic function."""

from __future__ import annotations

from pathlib import Path

import pytest

from offramp_p4_tools.language.document import Analysis, Sources, analyse

pytestmark = pytest.mark.p4

PROGRAM = """\
header h_t { bit<8> a; bit<8> b; }
struct pair_t { bit<8> first; bit<8> second; h_t[4] rest; }
extern T same<T>(in T value);
bit<8> pick(in bit<8> left, in bit<8> right) { return right; }
control C(inout pair_t p, in bit<8> left) {
    bit<8> at = 1;
    apply {
        p.rest[at].a = p.rest[at + 1].b;
        p.second = pick(right = left, left = p.first);
        p.second = pick(at, same<pair_t>(p).first);
    }
}
"""


@pytest.fixture(scope="module")
def analysis() -> Analysis:
    return analyse(Path("uses.p4"), PROGRAM, Sources())


def uses(analysis: Analysis, name: str, kind: str) -> list[list[tuple[int, str]]]:
    """The uses of each symbol of this name and kind: the line, and the text from there on."""
    lines = PROGRAM.splitlines()
    assert analysis.resolver is not None
    return [
        [(pos.line, lines[pos.line - 1][pos.column - 1 :].partition(";")[0]) for pos in symbol.uses]
        for symbol in analysis.resolver.symbols
        if (symbol.name, symbol.kind) == (name, kind)
    ]


def test_an_index_uses_what_it_names(analysis: Analysis) -> None:
    assert [[line for line, _ in each] for each in uses(analysis, "at", "variable")] == [[8, 8, 10]]
    assert [len(each) for name in ("a", "b") for each in uses(analysis, name, "field")] == [1, 1]


def test_a_named_argument_uses_the_parameter_and_its_value_what_is_seen_here(analysis: Analysis) -> None:
    (of_pick, of_control) = uses(analysis, "left", "parameter")
    assert of_pick == [(9, "left = p.first)")]
    assert of_control == [(9, "left, left = p.first)")]
    assert uses(analysis, "right", "parameter") == [[(4, "right"), (9, "right = left, left = p.first)")]]


def test_the_result_of_a_generic_function_has_the_type_that_is_given(analysis: Analysis) -> None:
    assert [[line for line, _ in each] for each in uses(analysis, "first", "field")] == [[9, 10]]
