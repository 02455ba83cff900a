# SPDX-License-Identifier: Apache-2.0
"""Programs that the native engine refuses, its messages, and the time that it takes to load a program."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from offramp.p4src import p4_source
from offramp_base.errors import OfframpError
from offramp_p4 import ir
from offramp_p4.frontend import load, load_text
from offramp_p4.native import NativeSwitch
from offramp_p4.native.architecture import PacketMode
from offramp_p4.source import Unsupported
from p4_expressions import random_program
from p4_programs import program
from twins import Twins

pytestmark = pytest.mark.p4

REFUSED = {
    "random numbers of 64 bits": (program("bit<64> r; random(r, 64w0, 64w1);"), "random numbers of 64 bits"),
    "a range of 65 bits": (
        program("t.apply();", local="table t { key = { (bit<65>)meta.w: range; } actions = { NoAction; } }"),
        "a range key of more than 64 bits",
    ),
    "an extern function": (
        program("f(hdr.h.a);", top="extern void f(in bit<8> x);"),
        "extern f",
    ),
    "a header of odd size": (
        program(
            top="header odd_t { bit<7> a; } struct more_t { odd_t o; }",
            pbody="odd_t o; pkt.extract(o); transition accept;",
        ),
        "header odd_t of 7 bits, not a multiple of 8",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_name_the_construct_and_its_place(name: str) -> None:
    text, construct = REFUSED[name]
    with pytest.raises(Unsupported, match="not supported") as caught:
        NativeSwitch(load_text(text, "x.p4"))
    assert caught.value.construct == construct
    assert caught.value.pos.file == "x.p4"
    assert caught.value.pos.line > 0


def test_deep_nesting_is_refused() -> None:
    parsed = load_text(program("hdr.h.c = hdr.h.c + 1;"), "x.p4")
    ingress = parsed.main.args["ig"]
    assert isinstance(ingress, ir.ControlInstance)
    (assign,) = ingress.body.body
    assert isinstance(assign, ir.Assign)
    for _ in range(5000):
        assign.value = ir.Binary("+", assign.value, assign.place, type=assign.place.type)
    with pytest.raises(OfframpError, match=r"^x\.p4: the program nests"):
        NativeSwitch(parsed)


def test_numbers_of_hundreds_of_bits() -> None:
    text = program(
        """
        bit<700> x = (bit<700>)hdr.h.c << hdr.h.a; int<519> y = (int<519>)(int<16>)hdr.h.c * 519s12345678901234567890;
        x = x |-| (700w77 << 300); y = (int<519>)(((bit<519>)y)[517:6] ++ 7w3) |+| y;
        hdr.h.c = (bit<16>)(x >> hdr.h.b) ^ ((bit<519>)(y >> hdr.h.b))[99:84];
        if (x / (bit<700>)(hdr.h.a ++ hdr.h.b ++ 1w1) > 700w1 << 699) { hdr.h.a = 1; }
        sm.egress_spec = 1;
        """
    )
    twins = Twins(load_text(text))
    twins.send([(0, bytes([a, b, 0xA5, c])) for a in (0, 3, 255) for b in (0, 100, 255) for c in (0, 1, 0x80)])


@pytest.mark.slow
@pytest.mark.full
@pytest.mark.parametrize("source", ["v1model", "strawman_v1model"])
def test_compile_time(source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    parsed = load(p4_source(f"switchgnn/{source}.p4"))
    start = time.process_time()
    first = NativeSwitch(parsed)
    compiled = time.process_time()
    second = NativeSwitch(parsed)
    assert (first.code(PacketMode.BATCH).cached, second.code(PacketMode.BATCH).cached) == (False, True)
    # Time of this process, which others do not slow down; the promise is 2 s on an idle machine.
    assert compiled - start < 4
    assert time.process_time() - compiled < 2


def test_two_switches_share_nothing() -> None:
    text = program(
        "bit<8> v; r.read(v, 0); v = v + 1; r.write(0, v); hdr.h.a = v; sm.egress_spec = 1;",
        local="register<bit<8>>(1) r;",
    )
    one, two = (NativeSwitch(load_text(text)) for _ in range(2))
    for switch, times in ((one, 3), (two, 1), (one, 1)):
        for _ in range(times):
            out = switch.process_one(0, bytes(4))
    assert (one.registers["I.r"].read(0), two.registers["I.r"].read(0), out[0][1][0]) == (4, 1, 4)


@pytest.mark.full
def test_source_is_llvm_assembly() -> None:
    text, _ = random_program(0)
    assert "define" in NativeSwitch(load_text(text)).source
