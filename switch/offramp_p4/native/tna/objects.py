# SPDX-License-Identifier: Apache-2.0
"""The state of a TNA program's objects where machine code finds it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from offramp_base.native.records import offset
from offramp_p4 import ir
from offramp_p4.native.architecture import SwitchProperties
from offramp_p4.native.plan import ContextPlan
from offramp_p4.native.runtime import context as at
from offramp_p4.native.runtime.tna.filters import Filter
from offramp_p4.native.shape import container
from offramp_p4.native.state.context import SwitchContext, Words
from offramp_p4.native.state.numbers import Numbers, signed_word
from offramp_p4.native.state.objects import NativeState
from offramp_p4.native.state.profile import NativeProfile
from offramp_p4.native.state.replication import WatchedDict, watched
from offramp_p4.native.state.tables import NativeTable
from offramp_p4.native.tna.plan import TnaPlan
from offramp_p4.native.tna.trees import NativeTrees
from offramp_p4.source import Unsupported
from offramp_p4.state import ActionProfileState
from offramp_p4.tna.blocks import pipes
from offramp_p4.tna.filter_state import DIRECT_FILTERS, FilterState
from offramp_p4.tna.hashing import Hash, hash_of
from offramp_p4.tna.objects import TofinoObjects, TofinoRegister
from offramp_p4.tna.ports import PORTS_PER_PIPE, RECIRCULATION_PORT, no_port, port_metadata_bytes


class NativeTofinoRegister(TofinoRegister):
    """A register array whose cells are a column of rows that it shares with other registers."""

    def __init__(self, like: TofinoRegister) -> None:
        super().__init__(like.name, like.width, like.size, initial=like.initial, pair=like.pair)

    def __post_init__(self) -> None:
        self.attach(np.zeros((self.size, container(self.width.width)), np.uint8))

    def attach(self, column: npt.NDArray[np.uint8]) -> None:
        """Use these bytes, one row for each cell."""
        self._numbers = Numbers(column, self.width)
        self.values = self._numbers  # type: ignore[assignment]
        self.reset()

    def reset(self) -> None:
        """All values as the program gives them."""
        self._numbers.fill(self.initial)


class NativeFilters(FilterState):
    """Filters in rows of words."""

    def __post_init__(self) -> None:
        self.rows: Words = np.zeros((self.size, Filter.WORDS), np.int64)
        self.cells = self.rows  # type: ignore[assignment]
        self.reset()


class NativeTofino(NativeState, TofinoObjects):
    """The state of a TNA program's objects."""

    pre: NativeTrees

    def __init__(self, program: ir.Program) -> None:
        self._program = program
        self._patterns: list[tuple[int, int, int]] = []
        super().__init__(program)
        self.port_metadata: dict[int, bytes] = WatchedDict()

    def make(self, i: ir.ExternInstance) -> Any:
        """The state of an extern instance; None if it has none."""
        if i.extern in DIRECT_FILTERS:
            raise Unsupported(i.pos, f"a filter for each entry of a table ({i.extern}) in machine code")
        state = super().make(i)
        if isinstance(state, TofinoRegister):
            return NativeTofinoRegister(state)
        if isinstance(state, FilterState):
            return NativeFilters(state.name, state.size)
        return state

    def make_profile(self, name: str, size: int) -> ActionProfileState:
        """A selector that is its own profile."""
        return NativeProfile(name, size, selector=True)

    def make_bits(self, name: str, size: int) -> TofinoRegister:
        """The memory of a selector that its actions change."""
        return NativeTofinoRegister(super().make_bits(name, size))

    def make_replication(self) -> NativeTrees:
        """The packet replication engine."""
        self._trees = NativeTrees()
        return self._trees

    def attach(self, context: SwitchContext, plan: ContextPlan, chip: SwitchProperties) -> None:
        """Put everything where ``plan`` says."""
        assert isinstance(plan, TnaPlan)
        super().attach(context, plan, chip)
        self._logs = list(plan.logs.values())
        for (instance, bits, pairs), word in plan.hashes.items():
            context.hold(word, hash_table(hash_of(instance, bits, chip.seed, pairs), bits))
        for instance, word in plan.filters.items():
            context.hold(word, self.of[instance].rows)
        for instance, column in plan.single.items():
            rows = np.zeros((1, column.stride), np.uint8)
            context.hold(column.word, rows)
            self.of[instance].attach(rows)
        for instance, table in self.table_of.items():
            state, owner = self.of.get(instance), self.tables[table]
            if isinstance(state, TofinoRegister):
                assert isinstance(owner, NativeTable)
                owner.set_register(state.width, state.initial)
        self._trees.attach(context)
        self._attach_ports(chip)

    def check_ports(self, ports: npt.NDArray[np.int32]) -> None:
        """Check the ports that packets come in at."""
        fields = at.SwitchMemory(self._context.words)
        known = (ports >= 0) & (ports < fields.chip_ports)
        if not known.all() and not (known := known | ((ports == fields.cpu_port) & (ports >= 0))).all():
            raise no_port(int(ports[~known][0]), fields.chip_ports)

    def check_port(self, port: int) -> None:
        """Check the port at which one packet comes in."""
        self.check_ports(np.array([port], np.int32))

    def _attach_ports(self, chip: SwitchProperties) -> None:
        count = len(pipes(self._program))
        words, own = self._context.words, {PORTS_PER_PIPE * i + RECIRCULATION_PORT for i in range(count)}
        loops = own | set(chip.recirculation_ports)
        flags = np.zeros(max(loops) + 1, np.uint8)
        flags[list(loops)] = 1
        self._context.hold(offset(at.SwitchMemory.loops), flags)
        words[at.SwitchMemory.loop_count] = len(flags)
        words[at.SwitchMemory.chip_ports] = PORTS_PER_PIPE * count
        words[at.SwitchMemory.cpu_port] = -1 if chip.cpu_port is None else chip.cpu_port

    def sync(self) -> None:
        """Show machine code all changes since the last call; no packet runs meanwhile."""
        super().sync()
        self._trees.sync()
        self._show_patterns()
        self.port_metadata = data = watched(self.port_metadata)
        if data.changed:
            data.changed = False
            size = port_metadata_bytes(self._program)
            rows = [data.get(port, b"").ljust(size, b"\0")[:size] for port in range(max(data, default=-1) + 1)]
            self._context.hold(offset(at.SwitchMemory.port_data), np.frombuffer(b"".join(rows) or bytes(1), np.uint8))
            self._context.words[at.SwitchMemory.port_data_count] = len(rows)

    def collect(self) -> None:
        """Tell the packet generator also what has woken it."""
        super().collect()
        if self.generator is not None and self._context.words[at.SwitchMemory.triggers.used]:
            triggers = self._context.buffer(at.SwitchMemory.triggers).view(np.int64).reshape(-1, 3).tolist()
            self._context.empty(at.SwitchMemory.triggers)
            for port, head, now_us in triggers:
                self.generator.recirculated(port, head, now_us)

    def _show_patterns(self) -> None:
        patterns = [] if self.generator is None else self.generator.patterns
        if patterns != self._patterns:
            self._patterns = patterns
            self._context.hold(offset(at.SwitchMemory.patterns), np.array(patterns or [(0, 0, 0)], np.int64))
            self._context.words[at.SwitchMemory.pattern_count] = len(patterns)

    def reset(self) -> None:
        """Everything as it was when the program was loaded."""
        super().reset()
        self._context.words[self._logs] = 0


def hash_table(function: Hash, bits: int) -> Words:
    """A hash, which is linear over GF(2) but for what it makes of zeros, as a table.

    The value of zeros comes first, then for each half of each byte of the data, the highest first, what its 16 values
    change. The data has ``bits`` bits, which are the last of its bytes.
    """
    zero = function(0)
    columns = [function(1 << i) ^ zero for i in range(bits)]
    hashes = [zero]
    for low in range((bits + 7) // 8 * 8 - 4, -4, -4):
        hashes += _combinations(columns[low : low + 4])
    return np.array([signed_word(value) for value in hashes], np.int64)


def _combinations(columns: Sequence[int]) -> list[int]:
    """The exclusive or of the columns that each number of four bits picks."""
    sums = [0]
    for i in range(4):
        column = columns[i] if i < len(columns) else 0
        sums += [value ^ column for value in sums]
    return sums
