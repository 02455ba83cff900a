# SPDX-License-Identifier: Apache-2.0
"""Several cores that run the packets of one switch: a context for each, over tables that they share.

The first core has the switch's own context. Each further one has buffers, packet memories and counts of its own, and a
copy of every other word, renewed when the switch settles. What it has counted is added to the switch's then, so that
sums are exact. Programs whose packets change what other packets read have one core.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from offramp_base.native.records import offset
from offramp_p4.native.architecture import BURST, RUN, PacketMode, architecture, build
from offramp_p4.native.runtime import context as at
from offramp_p4.native.state.arrays import NativeCounter
from offramp_p4.native.state.context import SwitchContext
from offramp_p4.native.state.tables import NativeTable

if TYPE_CHECKING:
    from offramp_p4.native.switch import NativeSwitch

_SHARED: Final = (
    (at.SwitchMemory.drop_port, at.SwitchMemory.logging + 1),
    (offset(at.SwitchMemory.crc16), offset(at.SwitchMemory.crc32) + 1),
    (offset(at.SwitchMemory.groups), at.SwitchMemory.now_ps),
    (at.SwitchMemory.max_steps, at.SwitchMemory.max_steps + 1),
    (at.SwitchMemory.chip_ports, at.SwitchMemory.loop_count + 1),
    (offset(at.SwitchMemory.port_data), at.SwitchMemory.port_data_count + 1),
    (offset(at.SwitchMemory.pruned), offset(at.SwitchMemory.pruned) + at.TableRecord.WORDS),
    (offset(at.SwitchMemory.rss_key), offset(at.SwitchMemory.rss_key) + 1),
    (offset(at.SwitchMemory.hosts), offset(at.SwitchMemory.hosts) + at.TableRecord.WORDS),
    (offset(at.SwitchMemory.lives_us), at.SwitchMemory.learn + 1),
    (offset(at.SwitchMemory.crcs), at.SwitchMemory.crc_count + 1),
)
"""Words before those of a program's objects, from the first to the one behind the last, that cores have in common."""
_OWN: Final = (
    at.TableRecord.hits,
    at.TableRecord.misses,
    offset(at.TableRecord.counts),
    offset(at.TableRecord.touched),
    at.TableRecord.touches,
)
"""Words of a table that each core has for itself."""


def one_core(switch: NativeSwitch) -> str:
    """The reason that packets of the switch's program cannot run on several cores at once; empty if they can."""
    for kind, states in (
        ("register", switch.registers),
        ("meter", switch.meters),
        ("filter", switch.filters),
    ):
        if states:
            return f"its packets share the {kind} {next(iter(states))}"
    for name, table in switch.tables.items():
        if isinstance(table, NativeTable) and table.changed_by_packets:
            return f"its packets change entries of the table {name}"
    return switch._objects.one_core


class Cores:
    """The contexts of a switch on ``count`` cores, and the machine code that runs a burst of packets.

    Attributes:
        switch: the switch.
        contexts: contexts of each core.
        run: the address of ``run_burst``; of ``run_batch`` where the architecture has no bursts.
        whole: whether it is the latter.
    """

    def __init__(self, switch: NativeSwitch, count: int) -> None:
        self.switch = switch
        self.whole = PacketMode.BURST not in architecture(switch.program).ways
        way, entry = (PacketMode.BATCH, RUN) if self.whole else (PacketMode.BURST, BURST)
        switch.optimise()  # threads that are not Python's keep the address
        module = build(switch.program, switch._objects, way)
        self.run = switch.code(way).address(entry)
        size, first = module.plan.size, switch._context
        self.contexts = [first]
        self._tables = [t for t in switch._objects.tables.values() if isinstance(t, NativeTable)]
        bases = np.array([plan.words for plan in module.plan.tables.values()], np.int64)
        shared = np.zeros(size, np.bool_)
        for start, stop in (*_SHARED, (at.SwitchMemory.WORDS, size)):
            shared[start:stop] = True
        self._counters = {
            word: switch._objects.of[instance]
            for instance, word in module.plan.arrays.items()
            if isinstance(switch._objects.of[instance], NativeCounter)
        }
        own = [*(int(base) + word for base in bases for word in _OWN), *self._counters]
        shared[own] = False
        self._shared = np.flatnonzero(shared)
        self._sums = np.array([*range(*at.STATS), *(int(b) + w for b in bases for w in _OWN[:2])], np.int64)
        for number in range(1, count):
            context = SwitchContext(
                size,
                module.memory_size,
                seed=number,
                drop_port=int(first.words[at.SwitchMemory.drop_port]),
                max_passes=int(first.words[at.SwitchMemory.max_passes]),
            )
            self.contexts.append(context)
            for word, counter in self._counters.items():
                context.hold(word, np.zeros_like(counter.rows))

    def show(self) -> None:
        """Give all cores the state in the switch's context; no packet runs meanwhile."""
        for context in self.contexts[1:]:
            context.words[self._shared] = self.contexts[0].words[self._shared]
            for table in self._tables:
                table.count_in(context)

    def collect(self) -> None:
        """Add the other cores' counts to the switch's; no packet runs meanwhile."""
        first = self.contexts[0]
        for context in self.contexts[1:]:
            first.words[self._sums] += context.words[self._sums]
            context.words[self._sums] = 0
            for table in self._tables:
                table.absorb(context)
            for word, counter in self._counters.items():
                rows = context.held(word)
                counter.rows += rows
                rows[:] = 0
