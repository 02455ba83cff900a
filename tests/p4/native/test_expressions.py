# SPDX-License-Identifier: Apache-2.0
"""Random expressions over all operators, narrow and wide, on both engines."""

from __future__ import annotations

import random

import pytest

from offramp_p4.frontend import load_text
from p4_expressions import WIDE, WIDTHS, random_program
from p4_programs import program
from twins import Twins

pytestmark = [pytest.mark.p4, pytest.mark.full]


@pytest.mark.parametrize(
    ("seed", "widths"), [*((seed, WIDTHS) for seed in range(25)), *((seed, WIDE) for seed in range(8))]
)
def test_random_expressions(seed: int, widths: list[int]) -> None:
    text, size = random_program(seed, widths=widths)
    twins = Twins(load_text(text))
    rng = random.Random(seed)
    frames = [rng.randbytes(size) for _ in range(20)]
    frames += [bytes([rng.choice([0, 0, 0xFF, 0x80, 1]) for _ in range(size)]) for _ in range(20)]
    assert len(twins.send([(0, frame) for frame in frames])) == len(frames)


def test_wide_registers() -> None:
    """Into variables, slices and headers, also from beyond the last cell."""
    top = "header w_t { bit<8> at; bit<512> x; bit<1024> y; } struct headers { w_t w; }"
    body = """
        bit<512> kept = 0; bit<1024> both = 0;
        narrow.read(kept, (bit<32>)hdr.w.at);
        wide.read(both, (bit<32>)hdr.w.at);
        narrow.write((bit<32>)hdr.w.at, kept ^ hdr.w.x);
        wide.write((bit<32>)hdr.w.at, both | ~hdr.w.y);
        narrow.read(hdr.w.y[767:256], 1);
        hdr.w.x = kept & hdr.w.y[511:0];
        hdr.w.y[1023:512] = hdr.w.x;
        sm.egress_spec = 1;"""
    text = program(body, top=top, local="register<bit<512>>(4) narrow; register<bit<1024>>(4) wide;")
    text = text.replace("struct headers { h_t h; h_t[3] s; }", "").replace("pkt.extract(hdr.h);", "pkt.extract(hdr.w);")
    rng = random.Random(0)
    frames = [bytes([rng.randrange(6)]) + rng.randbytes(192 + rng.randrange(3)) for _ in range(60)]
    assert len(Twins(load_text(text)).send([(0, frame) for frame in frames])) == len(frames)
