# SPDX-License-Identifier: Apache-2.0
"""Memory blocks of tables, registers, counters and meters, packed as well as they can be."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log2
from typing import TYPE_CHECKING, Final

from offramp_p4 import ir
from offramp_p4.constructor import number
from offramp_p4.state.match import key_width
from offramp_p4.state.member_status import LINE_BITS, bits_needed
from offramp_p4.state.table import DEFAULT_SIZE
from offramp_p4.tna.objects import group_limits, word_width
from offramp_p4.tna.resources.chip import SRAM_BITS, SRAM_ROWS, TCAM_BITS, TCAM_ROWS
from offramp_p4.types import Struct, strip

if TYPE_CHECKING:
    from offramp_p4.tna.resources.graph import LogicalTable

_VERSION_BITS: Final = 4  # that mark an entry as valid
_IMMEDIATE_BITS: Final = 32  # of action data that an entry can hold itself
_HASHED_BITS: Final = 10  # of an exact key that its row implies
_WIDE: Final = 3  # blocks side by side whose rows entries share
_COUNTERS_A_ROW: Final = 2
_RANGE_FACTOR: Final = 2  # a range key is matched as an encoding of its nibbles


@dataclass(frozen=True, slots=True)
class MemoryBlocks:
    """Memory blocks; ``tied`` ones, of indexed arrays, cannot be spread over several stages."""

    srams: int = 0
    tcams: int = 0
    map_rams: int = 0
    tied: bool = False

    def __add__(self, other: MemoryBlocks) -> MemoryBlocks:
        return MemoryBlocks(
            self.srams + other.srams,
            self.tcams + other.tcams,
            self.map_rams + other.map_rams,
            self.tied or other.tied,
        )


def blocks(node: LogicalTable) -> MemoryBlocks:
    """All memory of a logical table."""
    total = MemoryBlocks()
    if node.table is not None and node.table.keys:
        total += _entries(node.table)
    for register in node.registers:
        total += _array(register, register_rows(register, node.table))
    for counter in node.counters:
        total += _array(counter, ceil(_size(counter, node.table) / _COUNTERS_A_ROW))
    for meter in node.meters:
        total += _array(meter, _size(meter, node.table))
    return total


def register_rows(register: ir.ExternInstance, table: ir.MatchTable | None = None) -> int:
    """Rows of 128 bits of a register array, whose words are packed in them."""
    if register.extern == "ActionSelector":
        largest, groups = group_limits(register)
        return bits_needed(largest, groups) // LINE_BITS
    element = strip(register.type_args[0])
    words = [f.type for f in element.fields] if isinstance(element, Struct) else [element]
    width = sum(word_width(w) for w in words)
    return ceil(_size(register, table) * width / SRAM_BITS)


def _array(i: ir.ExternInstance, rows: int) -> MemoryBlocks:
    """An array with a spare block, for the write of the packet before. Direct ones spread with their entries."""
    count = ceil(rows / SRAM_ROWS) + 1
    return MemoryBlocks(srams=count, map_rams=count, tied="size" in i.params)


def _size(instance: ir.ExternInstance, table: ir.MatchTable | None) -> int:
    if "size" in instance.params:
        return number(instance, "size")
    return _table_size(table) if table is not None else 1


def _table_size(table: ir.MatchTable) -> int:
    if table.const_entries:
        return len(table.entries)
    return table.size if table.size is not None else DEFAULT_SIZE


def _entries(table: ir.MatchTable) -> MemoryBlocks:
    size = _table_size(table)
    data = max((sum(key_width(p.type) for p in a.data_params) for a in table.actions), default=0)
    if isinstance(table.properties.get("implementation"), ir.ExternInstance):
        data = 0  # it is in the action profile, which is not counted
    code = ceil(log2(len(table.actions))) if len(table.actions) > 1 else 0
    key = sum(key_width(k.expr.type) for k in table.keys if k.match_kind != "selector")
    if any(k.match_kind in ("ternary", "lpm", "range") for k in table.keys):
        ranges = sum(key_width(k.expr.type) for k in table.keys if k.match_kind == "range")
        width = ceil((key + (_RANGE_FACTOR - 1) * ranges + _VERSION_BITS) / TCAM_BITS)
        return MemoryBlocks(_with_data(size, code, data, floor=8), width * ceil(size / TCAM_ROWS))
    if table.const_entries and size <= 8 and key <= 12:
        return MemoryBlocks(
            _with_data(size, 0, data, floor=0) if data > _IMMEDIATE_BITS else 0
        )  # a gateway can hold them
    return MemoryBlocks(_with_data(size, key - min(_HASHED_BITS, key) + _VERSION_BITS + code, data, floor=0))


def _with_data(size: int, bits: int, data: int, floor: int) -> int:
    """Blocks of entries of ``bits`` and their action data, in the entries or at the same address of other blocks.

    What is in other blocks takes a power of two of bits; the split is the one that takes fewest blocks.
    """
    splits = [(data, 0)]
    rest = 8
    while rest < 2 * data:
        splits.append((max(0, data - rest), rest))
        rest *= 2
    return min(
        _packed(size, max(floor, bits + own)) + (_packed(size, rest) if own < data else 0)
        for own, rest in splits
        if own <= _IMMEDIATE_BITS
    )


def _packed(count: int, bits: int) -> int:
    """Blocks for ``count`` entries of ``bits`` bits: some in a row of one block, or of a few side by side."""
    if not bits or not count:
        return 0
    least = ceil(bits / SRAM_BITS)
    return min(
        wide * ceil(count / (SRAM_BITS * wide // bits) / SRAM_ROWS) for wide in range(least, max(least, _WIDE) + 1)
    )
