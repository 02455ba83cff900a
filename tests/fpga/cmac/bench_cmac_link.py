# SPDX-License-Identifier: Apache-2.0
"""``cmac_link``: when the card leaves its reset, when something may be sent, and when what comes is nothing."""

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge

from rtl.cmac import USER_PS

WAIT = 8
"""Cycles of the build that is simulated: two to this power, less one."""


async def cycles_in_reset(dut):
    """Cycles of the card's clock until it leaves its reset."""
    count = 0
    while dut.rst.value == 1:
        await FallingEdge(dut.clk)
        count += 1
        assert count < 1000
    return count


@cocotb.test()
async def bring_up(dut):
    for name in ("usr_rx_reset", "stat_rx_aligned"):
        getattr(dut, name).value = 0
    dut.usr_tx_reset.value = dut.start.value = 1
    Clock(dut.clk, 10_000, unit="ps").start()
    await ClockCycles(dut.clk, 20)
    dut.start.value = 0
    await ClockCycles(dut.clk, 1000)
    assert dut.rst.value == 1  # the user clock stands still
    dut.usr_rx_reset.value = 1
    Clock(dut.usr_clk, USER_PS, unit="ps").start()
    await ClockCycles(dut.usr_clk, 50)
    assert (dut.rst.value, dut.ctl_tx_enable.value, dut.ctl_tx_send_rfi.value, dut.rx_cut.value) == (1, 0, 1, 1)

    dut.usr_tx_reset.value = 0
    await FallingEdge(dut.clk)
    assert (1 << WAIT) - 2 <= await cycles_in_reset(dut) <= (1 << WAIT) + 4
    assert (dut.ctl_tx_enable.value, dut.ctl_tx_send_rfi.value, dut.rx_cut.value) == (0, 1, 1)
    for reset, aligned in ((0, 0), (0, 1), (1, 1), (0, 1), (1, 0), (0, 1)):
        dut.usr_rx_reset.value, dut.stat_rx_aligned.value = reset, aligned
        await FallingEdge(dut.usr_clk)
        await FallingEdge(dut.usr_clk)
        assert (dut.ctl_tx_enable.value, dut.ctl_tx_send_rfi.value) == (aligned, 1 - aligned)
        assert dut.rx_cut.value == int(reset or not aligned)
        await ClockCycles(dut.clk, 20)
        assert dut.rst.value == 0  # the card outlives its link

    dut.usr_tx_reset.value = 1  # the user clock goes: the card begins anew
    await ClockCycles(dut.clk, 5)
    assert (dut.rst.value, dut.ctl_tx_enable.value) == (1, 0)
    dut.usr_tx_reset.value = 0
    await FallingEdge(dut.clk)
    assert await cycles_in_reset(dut) >= (1 << WAIT) - 2
