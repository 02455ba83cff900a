# SPDX-License-Identifier: Apache-2.0
"""AXI streams with idle cycles at the source and back-pressure at the sink, from a seed.

Fields of a channel that is not valid have no value: X with Icarus, random bits with Verilator.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import Any, Final

import cocotb
from cocotb.triggers import FallingEdge
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiStreamBus, AxiStreamSink, AxiStreamSource

_FIELDS: Final = ("data", "keep", "strb", "last", "id", "dest", "user", "resp", "addr", "prot")


_ANY: Final = random.Random(1)


def pauses(seed: int, share: float) -> Iterator[bool]:
    """Cycles in which to pause: runs of random length, ``share`` of all; None never pauses."""
    dice = random.Random(seed)
    while True:
        paused = dice.random() < share
        yield from itertools.repeat(paused, dice.choice((1, 1, 1, 2, 3, 8)))


def forget_while_idle(dut: Any, channel: str) -> None:
    """Take the values of a channel's fields away whenever it is not valid; ``channel`` begins its signals' names.

    Their driver has to write at rising edges of ``dut.clk``.
    """
    names = [f"{channel}{field}" for field in _FIELDS]
    signals = [getattr(dut, name) for name in names if hasattr(dut, name)]
    cocotb.start_soon(_forget(dut.clk, getattr(dut, f"{channel}valid"), signals))


async def _forget(clock: Any, valid: Any, signals: list[Any]) -> None:
    while True:
        await FallingEdge(clock)
        if valid.value != 1:
            forget(*signals)
        await FallingEdge(valid)


def forget(*signals: Any) -> None:
    """Give signals no value, as long as nobody writes another."""
    for signal in signals:
        signal.value = _ANY.getrandbits(len(signal)) if cocotb.SIM_NAME.startswith("Verilator") else "X" * len(signal)


def source(dut: Any, prefix: str, *, idle: float = 0.0, seed: int = 1) -> AxiStreamSource:
    """Driver of ``<prefix>_tdata`` and its companions, idle for a share of the time."""
    driver = AxiStreamSource(AxiStreamBus.from_prefix(dut, prefix), dut.clk, dut.rst)
    forget_while_idle(dut, f"{prefix}_t")
    driver.log.setLevel("WARNING")
    if idle:
        driver.set_pause_generator(pauses(seed, idle))
    return driver


def sink(dut: Any, prefix: str, *, pause: float = 0.0, seed: int = 2) -> AxiStreamSink:
    """Receiver of ``<prefix>_tdata`` and its companions, not ready for a share of the time."""
    driver = AxiStreamSink(AxiStreamBus.from_prefix(dut, prefix), dut.clk, dut.rst)
    driver.log.setLevel("WARNING")
    if pause:
        driver.set_pause_generator(pauses(seed, pause))
    return driver


def registers(dut: Any, prefix: str = "s_axil") -> AxiLiteMaster:
    """Master that reads and writes an engine's registers."""
    driver = AxiLiteMaster(AxiLiteBus.from_prefix(dut, prefix), dut.clk, dut.rst)
    for channel in ("aw", "w", "ar"):
        forget_while_idle(dut, f"{prefix}_{channel}")
    for part in (driver.write_if, driver.read_if):
        part.log.setLevel("WARNING")
    return driver
