# SPDX-License-Identifier: Apache-2.0
"""Each format that C++, P4 and SystemVerilog share with Python has one description; blind to formats of only one."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from offramp.p4src import p4_source
from offramp_base.errors import OfframpError
from offramp_base.wire import ethernet
from offramp_base.wire.fields import HeaderFormat
from offramp_base.wire.structures import StructFormat

ROOT = Path(__file__).resolve().parents[2]


def load(name: str) -> ModuleType:
    """A module of ``ci/formats``, which is not a package."""
    sys.path.insert(0, str(ROOT / "ci/formats"))
    try:
        spec = importlib.util.spec_from_file_location(f"formats_{name}", ROOT / f"ci/formats/{name}.py")
        assert spec
        assert spec.loader
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    finally:
        sys.path.pop(0)


FILES = load("table").FILES


@pytest.mark.parametrize("name", FILES)
def test_generated_files_are_as_described(name: str) -> None:
    assert (ROOT / name).read_text() == FILES[name](), "stale: run make formats"


def test_headers_in_cpp_have_width_first_byte_and_the_bits_behind() -> None:
    header = HeaderFormat("mix", {"a": 3, "b": 13, "c": 32, "d": 1, "e": 7})
    fields = [line for line in load("cpp").header(header) if "Field" in line]
    assert [re.findall(r"Field<(.*)> (\w)", line)[0] for line in fields] == [
        ("3, 0, 5", "a"),
        ("13, 0", "b"),
        ("32, 2", "c"),
        ("1, 6, 7", "d"),
        ("7, 6", "e"),
    ]


def test_a_structure_packs_as_cpp_lays_it_out() -> None:
    layout = StructFormat("Mix", "A test.", a="u32", b="byte[4]", c="u64", d="f64", e="u16[4]")
    assert layout.pack(1, b"abcd", 2, 0.5, 3, 4, 5, 6)[:8] == b"\x01\0\0\0abcd"
    assert layout.size == 32
    text = "\n".join(load("cpp").structure(layout))
    assert "std::array<std::byte, 4> b;" in text
    assert "std::uint16_t e[4]" in text


@pytest.mark.parametrize(
    ("members", "problem"),
    [
        ({"a": "u16", "b": "u32"}, "member b at byte 2: expected a multiple of 4"),
        ({"a": "u24"}, "member 'u24'"),
        ({"a": "u64", "b": "u8"}, "9 bytes: expected a multiple of 8"),
    ],
)
def test_structures_without_gaps_or_unknown_types(members: dict[str, str], problem: str) -> None:
    with pytest.raises(OfframpError, match=problem):
        StructFormat("Bad", "A test.", **members)


def test_the_constants_that_only_p4_writes_by_hand() -> None:
    constants = re.findall(r"const bit<\d+> (\w+) = (\w+);", p4_source("include/ipv6.p4").read_text())
    assert {name: int(value, 0) for name, value in constants} == {"ETHER_TYPE_IPV6": ethernet.ETHER_TYPE_IPV6}
