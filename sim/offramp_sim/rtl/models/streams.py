# SPDX-License-Identifier: Apache-2.0
"""AXI streams with idle cycles at the source and back-pressure at the sink, from a seed."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import Any

from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiStreamBus, AxiStreamSink, AxiStreamSource


def pauses(seed: int, share: float) -> Iterator[bool]:
    """Whether to pause in each cycle: runs of random length, ``share`` of all; a share of 0 never pauses."""
    dice = random.Random(seed)
    while True:
        paused = dice.random() < share
        yield from itertools.repeat(paused, dice.choice((1, 1, 1, 2, 3, 8)))


def source(dut: Any, prefix: str, *, idle: float = 0.0, seed: int = 1) -> AxiStreamSource:
    """Drives ``<prefix>_tdata`` and its companions, idle in so much of the time."""
    made = AxiStreamSource(AxiStreamBus.from_prefix(dut, prefix), dut.clk, dut.rst)
    made.log.setLevel("WARNING")
    if idle:
        made.set_pause_generator(pauses(seed, idle))
    return made


def sink(dut: Any, prefix: str, *, pause: float = 0.0, seed: int = 2) -> AxiStreamSink:
    """Takes ``<prefix>_tdata`` and its companions, not ready in so much of the time."""
    made = AxiStreamSink(AxiStreamBus.from_prefix(dut, prefix), dut.clk, dut.rst)
    made.log.setLevel("WARNING")
    if pause:
        made.set_pause_generator(pauses(seed, pause))
    return made


def registers(dut: Any, prefix: str = "s_axil") -> AxiLiteMaster:
    """Reads and writes an engine's registers."""
    made = AxiLiteMaster(AxiLiteBus.from_prefix(dut, prefix), dut.clk, dut.rst)
    for part in (made.write_if, made.read_if):
        part.log.setLevel("WARNING")
    return made
