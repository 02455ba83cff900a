# SPDX-License-Identifier: Apache-2.0
"""Both engines side by side: the same program, the same control plane, the same packets, the same results."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from offramp_base.wire.batch import PacketBatch
from offramp_p4 import ir
from offramp_p4.native import NativeSwitch
from offramp_p4.optimising import OptimiseWhen
from offramp_p4.switch import Digest, Switch

AnySwitch = Switch | NativeSwitch


class Twins:
    """The engine and the native engine, with optimised code or baseline code, on one program; all is compared."""

    def __init__(
        self,
        program: ir.Program,
        *,
        seed: int = 0,
        max_passes: int = 200,
        optimise: OptimiseWhen = OptimiseWhen.AT_ONCE,
    ) -> None:
        self.engine = Switch(program, seed=seed, max_passes=max_passes)
        self.native = NativeSwitch(program, seed=seed, max_passes=max_passes, optimise=optimise)
        self.digests: list[list[Digest]] = [[], []]
        for switch, received in zip(self.engines, self.digests, strict=True):
            switch.on_digest = received.append

    @property
    def engines(self) -> tuple[Switch, NativeSwitch]:
        return self.engine, self.native

    def each(self, change: Callable[[AnySwitch], object]) -> None:
        """Have the control plane do the same to both."""
        for switch in self.engines:
            change(switch)

    def at(self, now_us: int) -> None:
        """Move the time of both."""
        for switch in self.engines:
            switch.now_us = now_us

    def send(self, packets: Sequence[tuple[int, bytes]]) -> list[tuple[int, bytes]]:
        """Run packets, as one batch; what leaves both."""
        return list(self.process(PacketBatch.of(packets)))

    def process(self, batch: PacketBatch) -> PacketBatch:
        want, got = (switch.process(batch) for switch in self.engines)
        assert list(got) == list(want)
        assert got.data.shape == want.data.shape
        assert np.array_equal(got.data, want.data)
        assert (got.ports.dtype, got.lengths.dtype, got.data.dtype) == (np.int32, np.int32, np.uint8)
        self.check()
        return got

    def check(self) -> None:
        """All state is the same."""
        engine, native = self.engines
        assert native.stats == engine.stats
        assert self.digests[1] == self.digests[0]
        for name, register in engine.registers.items():
            assert list(native.registers[name].values) == list(register.values), name
        for name, counter in engine.counters.items():
            other = native.counters[name]
            assert (list(other.packets), list(other.bytes)) == (list(counter.packets), list(counter.bytes)), name
        for name, meter in engine.meters.items():
            for mine, yours in zip(meter.cells, native.meters[name].cells, strict=True):
                assert meter_state(yours) == meter_state(mine), name
        for name, table in engine.tables.items():
            other_table = native.tables[name]
            assert (other_table.hits, other_table.misses) == (table.hits, table.misses), name
            for a, b in zip(table.entries, other_table.entries, strict=True):
                assert (b.keys, b.action, b.priority) == (a.keys, a.action, a.priority)
                assert (b.packets, b.bytes) == (a.packets, a.bytes), (name, a.keys)
                if a.meter is not None:
                    assert meter_state(b.meter) == meter_state(a.meter), (name, a.keys)


def meter_state(cell) -> tuple[object, ...]:  # type: ignore[no-untyped-def]
    return cell.rates, [float(level) for level in cell.levels], cell.last_us
