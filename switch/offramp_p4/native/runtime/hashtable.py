# SPDX-License-Identifier: Apache-2.0
"""Hash tables with open addressing: a slot holds the words of a key and then the number it stands for.

Number 0 marks a slot that was never used, -1 one whose key has been removed.
"""

from __future__ import annotations

from typing import Final

from offramp_base.native.subset import Words, inlined, native
from offramp_p4.native.runtime.context import TableRecord

FREE: Final = 0
REMOVED: Final = -1
_SEED: Final = 0x9E3779B97F4A7C15
_FACTOR: Final = 0xFF51AFD7ED558CCD
BESIDE: Final = 3
"""Bits of a key that choose among neighbouring slots: four slots of one-word keys share a cache line. Programs look up
consecutive keys, such as the hops of a packet that recirculates."""
STEP: Final = BESIDE + 2
"""Distance between the slots of a search; odd, so that a search meets all slots. A key whose line is taken goes to the
next line at once and not to a neighbouring slot, since neighbours are mostly taken together."""


@inlined
def mixed(word: int) -> int:
    """A hash of the first word of a key without its lowest bits."""
    h = (_SEED ^ (word & ~BESIDE)) * _FACTOR
    return h ^ (h >> 32)


@inlined
def home(key: Words, words: int) -> int:
    """The slot at which the search for a key begins: keys that differ in their lowest bits lie side by side."""
    h = mixed(key[0])
    for i in range(1, words):
        h = (h ^ key[i]) * _FACTOR
        h = h ^ (h >> 32)
    return (h & ~BESIDE) | (key[0] & BESIDE)


@inlined
def find(slots: Words, mask: int, key: Words, words: int) -> int:
    """The number of a key; 0 if there is none."""
    at = home(key, words) & mask
    while True:
        slot = slots + at * (words + 1)
        number = slot[words]
        if number == FREE:
            return 0
        if number > 0:
            different = 0
            for i in range(words):
                different = different | (slot[i] ^ key[i])
            if different == 0:
                return number
        at = (at + STEP) & mask


@native
def insert(slots: Words, mask: int, key: Words, words: int, number: int) -> int:
    """Set the number of a key; returns the change in slots that are not free. There must be a free one."""
    at = home(key, words) & mask
    reuse = -1
    while True:
        slot = slots + at * (words + 1)
        held = slot[words]
        if held == FREE:
            break
        if held == REMOVED:
            if reuse < 0:
                reuse = at
        else:
            different = 0
            for i in range(words):
                different = different | (slot[i] ^ key[i])
            if different == 0:
                slot[words] = number
                return 0
        at = (at + STEP) & mask
    fresh = 1
    if reuse >= 0:
        at = reuse
        fresh = 0
    slot = slots + at * (words + 1)
    for i in range(words):
        slot[i] = key[i]
    slot[words] = number
    return fresh


@native
def remove(slots: Words, mask: int, key: Words, words: int) -> int:
    """Forget a key; returns its number, 0 if it had none."""
    at = home(key, words) & mask
    while True:
        slot = slots + at * (words + 1)
        held = slot[words]
        if held == FREE:
            return 0
        if held > 0:
            different = 0
            for i in range(words):
                different = different | (slot[i] ^ key[i])
            if different == 0:
                slot[words] = REMOVED
                return held
        at = (at + STEP) & mask


@native
def insert_all(slots: Words, mask: int, keys: Words, words: int, numbers: Words, count: int) -> int:
    """Set the numbers of ``count`` keys; returns the change in slots that are not free."""
    taken = 0
    for i in range(count):
        taken += insert(slots, mask, keys + i * words, words, numbers[i])
    return taken


@native
def insert_new(table: TableRecord, keys: Words, words: int, numbers: Words, count: int) -> int:
    """Set the numbers of keys until one is there already; returns the number of keys set."""
    for i in range(count):
        key = keys + i * words
        if find(table.slots, table.mask, key, words) != 0:
            return i
        table.taken = table.taken + insert(table.slots, table.mask, key, words, numbers[i])
    return count


@native
def remove_all(slots: Words, mask: int, keys: Words, words: int, count: int) -> int:
    """Forget ``count`` keys; returns how many were present."""
    removed = 0
    for i in range(count):
        if remove(slots, mask, keys + i * words, words) != 0:
            removed += 1
    return removed


@native
def count_keys(slots: Words, size: int, words: int) -> int:
    """Keys in ``size`` slots."""
    keys = 0
    for at in range(size):
        if slots[at * (words + 1) + words] > 0:
            keys += 1
    return keys


@native
def rehash(into: Words, mask: int, slots: Words, size: int, words: int) -> int:
    """Insert the keys of ``size`` slots into an empty table; returns their number."""
    taken = 0
    for at in range(size):
        slot = slots + at * (words + 1)
        if slot[words] > 0:
            taken += insert(into, mask, slot, words, slot[words])
    return taken


@native
def lookup(slots: Words, mask: int, key: Words, words: int) -> int:
    """The number of a key, for the control plane."""
    return find(slots, mask, key, words)
