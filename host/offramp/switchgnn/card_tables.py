# SPDX-License-Identifier: Apache-2.0
"""A job's tables on a card (``fpga/rtl/switchgnn``), of vertices and of contributions, as arrays of entries.

An entry of a vertex is at the place that its key hashes to, or at the next one that was free. Workers take the place of
ports.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from offramp.graph.csr import IntArray
from offramp.switchgnn import guard, pull
from offramp.switchgnn.fanout import contributions
from offramp.switchgnn.plan import Plan
from offramp.switchgnn.rows import require_room
from offramp.switchgnn.target import FPGA

Entries = npt.NDArray[np.uint32]
"""``(n, 4)`` words of entries, little-endian when they are sent."""

_SENDS, _OWNER, _VALID = 1 << 29, 1 << 30, 1 << 31
_LAST: Final = 1 << 8


def edge_entries(plans: Sequence[Plan], places: int) -> Entries:
    """One entry per contribution; those of an upload are consecutive.

    Raises:
        OfframpError: more than ``places``.
    """
    terms = contributions(plans, FPGA)
    require_room("contributions", len(terms.dst_id), places)
    entries = np.zeros((len(terms.dst_id), 4), np.int64)
    entries[:, 0] = terms.dst_id
    entries[:, 1] = terms.need << 16 | terms.base * (terms.need > 1)
    entries[:, 2] = terms.last * _LAST | terms.dst_owner
    return entries.astype(np.uint32)


def vertex_entries(plans: Sequence[Plan], places: int) -> Entries:
    """``(places, 4)`` entries of each vertex of each block, and of each vertex's owner, where look-ups find them.

    Raises:
        OfframpError: more than ``places``, of which one stays empty.
    """
    workers = range(max((plan.workers for plan in plans), default=0))
    slots, owners = guard.slot_rows(plans, workers, FPGA), pull.owner_rows(plans, workers, FPGA)
    require_room("vertices of blocks, and their owners", len(slots) + len(owners), places - 1)
    block, vertex = slots.keys["block_id"], slots.keys["src_id"]
    fan_out = np.concatenate([np.zeros(0, np.int64), *(b.fan_out for plan in plans for b in plan.blocks)])
    first = np.cumsum(fan_out) - fan_out
    word = slots.params["port"] << 24 | slots.params["chunks"] << 16 | _VALID | _SENDS * (fan_out > 0)
    of_slots = np.column_stack([vertex, slots.params["base"] << 16 | block, word | first * (fan_out > 0)])
    numbers = owners.keys["vertex"]
    of_owners = np.column_stack([numbers, np.zeros_like(numbers), owners.params["port"] << 24 | _VALID | _OWNER])
    entries = np.zeros((places, 4), np.uint32)
    hashes = np.concatenate([hashed(block, vertex, places), hashed(0 * numbers, numbers, places) ^ (places - 1)])
    entries[_placed(hashes, places), :3] = np.concatenate([of_slots, of_owners])
    return entries


def hashed(block: IntArray, vertex: IntArray, places: int) -> IntArray:
    """First place of a look-up of a block's vertex, among a power of two of places; an owner's is the complement."""
    bits = places.bit_length() - 1
    turned = sum((block >> bit & 1) << (bits - 1 - bit) for bit in range(bits))
    place: IntArray = (vertex ^ vertex >> bits ^ turned) & (places - 1)
    return place


def _placed(hashes: IntArray, places: int) -> list[int]:
    """The place of each entry: where its hash points, or the next free one."""
    taken = np.zeros(places, np.bool_)
    assigned = []
    for at in hashes.tolist():
        while taken[at]:
            at = (at + 1) % places
        taken[at] = True
        assigned.append(at)
    return assigned
