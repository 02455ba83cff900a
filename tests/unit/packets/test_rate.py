# SPDX-License-Identifier: Apache-2.0
"""Rate control, called by itself in machine code: the worked sequence of section 14.7."""

from __future__ import annotations

import ctypes

from offramp_base.native.compiler import MachineCode
from offramp_base.native.llvm import AliasTags, ll
from offramp_base.native.lowering import RuntimeLibrary
from offramp_sim.packets import ExchangeProtocol, LinkProperties, layout, star
from offramp_sim.packets.hosts import cut_rate, recover_rate
from offramp_sim.packets.machine import SimulationMemory
from offramp_sim.packets.simulate import Framing, prepare_network


def test_marks_halve_the_rate_and_quiet_raises_it():
    module = ll.Module("rate")
    library = RuntimeLibrary(module, AliasTags(module))
    for function in (cut_rate, recover_rate):
        library.function(function, exported=True)
    code = MachineCode(str(module))
    cut = code.function("rt.cut_rate", None, ctypes.c_void_p, ctypes.c_int64)
    recover = code.function("rt.recover_rate", None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
    machine = SimulationMemory()
    prepare_network(machine, star(1, LinkProperties()), Framing(), 0)
    context = machine.contexts[0]
    address = machine.partitions[0].address
    context.guard_ps, context.raise_ps = ExchangeProtocol().guard_ps, ExchangeProtocol().raise_ps
    host = machine[layout.PartitionState.hosts]
    rates = []
    for kind, now_us in zip("iiMiMMi", (55, 110, 115, 170, 171, 221, 276), strict=True):
        context.now = now_us * 10**6
        if kind == "M":
            cut(address, 0)
        else:
            recover(address, host.ctypes.data, now_us * 10**6)
        rates.append(int(host[0, layout.HostRecord.rate_mbps]) / 1000)
    assert rates == [100, 100, 50, 55, 27.5, 13.75, 18.75]
    context.now = 277 * 10**6
    cut(address, 0)
    guarded = int(host[0, layout.HostRecord.rate_mbps])
    cut(address, 0)
    assert host[0, layout.HostRecord.rate_mbps] == guarded
