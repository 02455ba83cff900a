# SPDX-License-Identifier: Apache-2.0
"""What p4c's back ends take of tables; what they refuse, and with which words, stands in ``tests/p4/errors/targets``.

Blind spot: p4c itself is run outside the repository.
"""

from __future__ import annotations

import pytest

from offramp_p4.frontend import load_text
from offramp_p4.source import P4Error
from p4_programs import program
from tna_programs import tna

pytestmark = pytest.mark.p4
TABLE = "table t {{ key = {{ {keys} }} actions = {{ NoAction; }} size = 8; }}"


def _table(*kinds: str) -> str:
    names = ("a", "b", "c")
    return TABLE.format(keys=" ".join(f"hdr.h.{n}: {kind};" for n, kind in zip(names, kinds, strict=False)))


@pytest.mark.parametrize("kinds", [("lpm", "ternary"), ("lpm", "range", "exact"), ("optional", "lpm"), ("lpm",)])
def test_one_prefix_goes_with_every_kind_on_bmv2(kinds: tuple[str, ...]) -> None:
    load_text(program("t.apply();", local=_table(*kinds)))


def test_a_table_that_is_never_applied_is_not_compiled() -> None:
    load_text(program(local=_table("lpm", "lpm")))
    with pytest.raises(P4Error, match="more than one lpm key"):
        load_text(program("t.apply();", local=_table("lpm", "lpm")))


@pytest.mark.parametrize(
    ("kinds", "words"),
    [
        (("lpm", "lpm"), "more than one lpm key"),
        (("lpm", "ternary"), "with lpm and ternary keys, on Tofino"),
        (("lpm", "range"), "with lpm and range keys, on Tofino"),
        (("lpm", "exact"), None),
        (("ternary", "range"), None),
    ],
)
def test_prefixes_on_tofino(kinds: tuple[str, ...], words: str | None) -> None:
    source = tna("t.apply();", local=_table(*kinds))
    if words is None:
        load_text(source)
        return
    with pytest.raises(P4Error, match=words):
        load_text(source)


def test_tables_share_a_selector_by_its_fields_whatever_a_control_calls_its_headers() -> None:
    tables = (
        "action_selector(HashAlgorithm.crc16, 32w8, 32w8) s;"
        "table t { key = { hdr.h.a: exact; hdr.h.b: selector; } actions = { NoAction; } implementation = s; }"
        "table u { key = { hdr.h.c: exact; hdr.h.b: selector; } actions = { NoAction; } implementation = s; }"
    )
    load_text(program("t.apply(); u.apply();", local=tables))
