# SPDX-License-Identifier: Apache-2.0
"""Scopes of names in a P4 source: which meaning a name has, and which ones are seen."""

from __future__ import annotations

import pytest

from offramp_p4.source import NOWHERE
from offramp_p4_tools.language.symbols import Symbol, SymbolScope

pytestmark = pytest.mark.p4


def symbol(name: str, kind: str) -> Symbol:
    return Symbol(name, kind, NOWHERE, f"{kind} {name}")


def test_the_innermost_meaning_is_found_and_the_first_of_several() -> None:
    outer, outer_again, inner, inner_again, other = (
        symbol(name, kind)
        for name, kind in (("f", "header"), ("f", "table"), ("f", "action"), ("f", "function"), ("g", "struct"))
    )
    file = SymbolScope()
    block = SymbolScope(SymbolScope(file))
    for each in (outer, outer_again, other):
        file.add(each)
    for each in (inner, inner_again):
        block.add(each)
    assert block.find("f") is inner
    assert block.find("f", absolute=True) is outer
    assert (block.find_all("f"), file.find_all("f")) == ([inner, inner_again], [outer, outer_again])
    assert (block.find("g"), block.find("g", absolute=True), block.find("h")) == (other, other, None)
    assert block.find_all("h") == []
    assert [*block.visible()] == [inner, other]
    assert [*file.visible()] == [outer, other]
