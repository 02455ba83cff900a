# SPDX-License-Identifier: Apache-2.0
"""Adder, multiplier and divider against NumPy's float32, bit for bit, a result a cycle."""

import random

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

from offramp.leo.functions.reduce import NAN
from offramp_sim.rtl.bench import settings

UNITS = {
    "fp32_add": (np.add, "sum", 7),
    "fp32_mul": (np.multiply, "product", 6),
    "fp32_div": (np.divide, "quotient", 31),
}
EDGES = np.array(
    [
        *(0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007FFFFF, 0x807FFFFF, 0x00800000, 0x80800000, 0x00800001),
        *(0x3F800000, 0xBF800000, 0x3F7FFFFF, 0x33800000, 0x34000000, 0x33800001, 0xB3800000, 0x4B800000, 0x4B7FFFFF),
        *(0x7F7FFFFF, 0xFF7FFFFF, 0x73000000, 0x72FFFFFF, 0xF3000000, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00001),
        *(0x7F800001, 0x01000000, 0x81000000, 0x00FFFFFF, 0x0C800000, 0x7E800000, 0x7F000000),
    ],
    np.uint32,
)


def operands(count, seed):
    """Pairs: every edge with every edge, then random bits, near exponents, cancellation, subnormal numbers."""
    dice = np.random.default_rng(seed)
    bits = dice.integers(0, 1 << 32, (count, 2), dtype=np.uint64).astype(np.uint32)
    near = dice.random(count) < 0.6
    shift = dice.integers(-28, 29, count)
    exponent = np.clip((bits[:, 0] >> 23 & 0xFF).astype(np.int64) + shift, 0, 254).astype(np.uint32)
    bits[near, 1] = bits[near, 1] & np.uint32(0x807FFFFF) | exponent[near] << np.uint32(23)
    close = dice.random(count) < 0.2
    bits[close, 1] = bits[close, 0] ^ np.uint32(0x80000000) ^ dice.integers(0, 64, int(close.sum()), dtype=np.uint32)
    tiny = dice.random(count) < 0.1
    bits[tiny] &= np.uint32(0x80FFFFFF)
    edges = np.stack(np.meshgrid(EDGES, EDGES), axis=-1).reshape(-1, 2)
    return np.concatenate([edges, bits])


@cocotb.test()
async def equals_numpy(dut):
    function, port, latency = UNITS[settings()["unit"]]
    pairs = operands(settings()["count"], random.randrange(1 << 30))
    pairs[:, 1] &= np.uint32(settings().get("divisor", 0xFFFFFFFF))
    with np.errstate(all="ignore"):
        results = function(*(pairs[:, place].copy().view(np.float32) for place in range(2)))
    expected = np.where(np.isnan(results), np.uint32(NAN), results.view(np.uint32)).tolist()
    result = getattr(dut, port)
    cocotb.start_soon(Clock(dut.clk, 4, unit="ns").start())
    for cycle in range(len(pairs) + latency):
        await FallingEdge(dut.clk)
        done = cycle - latency
        if done >= 0:
            got = int(result.value)
            assert got == expected[done], f"{function.__name__} {pairs[done, 0]:08x} {pairs[done, 1]:08x}: {got:08x}"
        if cycle < len(pairs):
            dut.a.value, dut.b.value = int(pairs[cycle, 0]), int(pairs[cycle, 1])
