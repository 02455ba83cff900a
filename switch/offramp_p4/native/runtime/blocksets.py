# SPDX-License-Identifier: Apache-2.0
"""Ternary match by sets of bits: which of some hundred entries match a key is the intersection of a few sets.

A block has a bit for each of its :data:`ENTRIES` entries. For every four bits of the key (a *nibble*) that an entry
looks at, it has sixteen sets: the entries that match where these bits have that value (the bit vectors of Lakshman
and Stiliadis: High-Speed Policy-based Packet Forwarding, SIGCOMM 1998). The nibbles that most entries look at come
first, so a set is mostly empty after a few of them. What is left is compared whole.

Blocks divide the scores among them as the leaves of a B-tree do: every entry of one has a higher score than every
entry of those behind it. So the first block where an entry matches decides, and what is inserted goes into a known
block, which is split when it is full. Ranges are in the sets as the bits that lowest and highest have in common.
"""

from __future__ import annotations

from typing import Final

from offramp_base.native.subset import Bytes, Words, clear, highest_bit, inlined, native
from offramp_p4.native.runtime.context import Patterns
from offramp_p4.native.runtime.entries import PLACE, SCORE, VALUE, matches, record_words

ENTRIES: Final = 512
SET: Final = 8
"""Words of a set."""

# Words of a block: what a search reads first comes first.
TOP: Final = 0  # no entry has a higher score
USED: Final = 1  # nibbles that entries look at
ALIVE: Final = 2  # the set of its entries
LOW: Final = ALIVE + SET  # no entry has a lower score
COUNT: Final = LOW + 1
HEAD: Final = COUNT + 1  # then the nibbles in the order of the search and where each stands in it plus 1, in bytes


@inlined
def _head_words(nibbles: int) -> int:
    return (HEAD + 2 * ((nibbles + 7) // 8) + 7) // 8 * 8


@inlined
def block_words(nibbles: int) -> int:
    """Words of a block: head and nibbles, numbers of its entries, sets. All begin at lines of the cache."""
    return _head_words(nibbles) + ENTRIES + nibbles * 16 * SET


@inlined
def _numbers(block: Words, nibbles: int) -> Words:
    """The number of the entry of each bit."""
    return block + _head_words(nibbles)


@inlined
def _sets(block: Words, nibbles: int, nibble: int) -> Words:
    """The sixteen sets of a nibble."""
    return block + (_head_words(nibbles) + ENTRIES + nibble * 16 * SET)


@inlined
def _order_of(block: Words) -> Bytes:
    """The nibbles that entries look at, in the order of the search."""
    return Bytes(block + HEAD)


@inlined
def _is_used(block: Words, nibbles: int) -> Bytes:
    """Flags of a block, one for each nibble: whether entries match on it."""
    return Bytes(block + (HEAD + (nibbles + 7) // 8))


@inlined
def _nibble(words: Words, nibble: int) -> int:
    return (words[nibble >> 4] >> ((nibble & 15) << 2)) & 15


@native
def find_in_blocks(
    patterns: Patterns,
    key: Words,
    values: Words,
    scratch: Words,
    best: int,
    best_score: int,
) -> int:
    """The entry with the highest score that matches; ``best`` if none of the blocks has one above ``best_score``.

    One function: the set of a block is in eight variables, so that it stays in registers.
    """
    if patterns.block_count == 1 and _is_small(patterns) != 0:
        return _find_in_word(patterns, key, values, best, best_score)
    order = patterns.order
    nibbles = patterns.nibbles
    words = patterns.key_words
    ranges = patterns.ranges
    for i in range(patterns.block_count):
        block = patterns.blocks + order[i] * block_words(nibbles)
        if block[TOP] <= best_score:
            break
        s0 = block[ALIVE]
        s1 = block[ALIVE + 1]
        s2 = block[ALIVE + 2]
        s3 = block[ALIVE + 3]
        s4 = block[ALIVE + 4]
        s5 = block[ALIVE + 5]
        s6 = block[ALIVE + 6]
        s7 = block[ALIVE + 7]
        nibbles_used = _order_of(block)
        left = -1
        at = 0
        while at < block[USED] and left != 0:
            nibble = nibbles_used[at]
            row = _sets(block, nibbles, nibble) + _nibble(key, nibble) * SET
            s0 = s0 & row[0]
            s1 = s1 & row[1]
            s2 = s2 & row[2]
            s3 = s3 & row[3]
            s4 = s4 & row[4]
            s5 = s5 & row[5]
            s6 = s6 & row[6]
            s7 = s7 & row[7]
            left = s0 | s1 | s2 | s3 | s4 | s5 | s6 | s7
            at += 1
        if left != 0:
            scratch[0] = s0
            scratch[1] = s1
            scratch[2] = s2
            scratch[3] = s3
            scratch[4] = s4
            scratch[5] = s5
            scratch[6] = s6
            scratch[7] = s7
            for word in range(SET):
                bits = scratch[word]
                while bits != 0:
                    bit = highest_bit(bits)
                    bits = bits ^ (1 << bit)
                    number = _numbers(block, nibbles)[64 * word + bit]
                    entry = patterns.entries + (number - 1) * record_words(words, ranges)
                    if entry[SCORE] > best_score and matches(entry, key, values, words, ranges) != 0:
                        best = number
                        best_score = entry[SCORE]
    return best


@inlined
def _is_small(patterns: Patterns) -> int:
    """Whether the entries of the only block are in the first word of its set."""
    block = patterns.blocks + patterns.order[0] * block_words(patterns.nibbles)
    others = 0
    for i in range(1, SET):
        others = others | block[ALIVE + i]
    return 1 if others == 0 else 0


@native
def _find_in_word(patterns: Patterns, key: Words, values: Words, best: int, best_score: int) -> int:
    """The best entry in a block of few entries, which are compared whole once only one is left."""
    nibbles = patterns.nibbles
    words = patterns.key_words
    ranges = patterns.ranges
    block = patterns.blocks + patterns.order[0] * block_words(nibbles)
    nibbles_used = _order_of(block)
    bits = block[ALIVE]
    at = 0
    while at < block[USED] and bits & (bits - 1) != 0:
        nibble = nibbles_used[at]
        bits = bits & _sets(block, nibbles, nibble)[_nibble(key, nibble) * SET]
        at += 1
    while bits != 0:
        bit = highest_bit(bits)
        bits = bits ^ (1 << bit)
        number = _numbers(block, nibbles)[bit]
        entry = patterns.entries + (number - 1) * record_words(words, ranges)
        if entry[SCORE] > best_score and matches(entry, key, values, words, ranges) != 0:
            best = number
            best_score = entry[SCORE]
    return best


# --- changes


@native
def put_into_blocks(patterns: Patterns, number: int) -> int:
    """Enter an entry into the block for its score; 0: a block is needed, and there is none left."""
    nibbles = patterns.nibbles
    size = block_words(nibbles)
    score = (patterns.entries + (number - 1) * record_words(patterns.key_words, patterns.ranges))[SCORE]
    order = patterns.order
    while True:
        at = 0
        end = patterns.block_count
        while at < end:
            middle = (at + end) >> 1
            if (patterns.blocks + order[middle] * size)[LOW] < score:
                end = middle
            else:
                at = middle + 1
        # The entry belongs into block AT or, above all of its entries, between that and the one before.
        there = 0
        if at < patterns.block_count:
            block = patterns.blocks + order[at] * size
            if block[TOP] > score:
                if block[COUNT] < ENTRIES:
                    _put(patterns, order[at], number)
                    return 1
                if patterns.blocks_taken == patterns.blocks_there:
                    return 0
                _split(patterns, at)
                continue
            there = ENTRIES - block[COUNT]
        if at > 0 and (patterns.blocks + order[at - 1] * size)[COUNT] < ENTRIES:
            _put(patterns, order[at - 1], number)
            return 1
        if there > 0:
            _put(patterns, order[at], number)
            return 1
        if patterns.blocks_taken == patterns.blocks_there:
            return 0
        patterns.scratch[0] = number
        fill_block(patterns, _new_block(patterns, at), patterns.scratch, 1)
        return 1


@native
def take_from_block(patterns: Patterns, place: int) -> None:
    """Remove an entry; its sets stay until another entry takes its bit."""
    block = patterns.blocks + place // ENTRIES * block_words(patterns.nibbles)
    word = block + (ALIVE + ((place % ENTRIES) >> 6))
    word[0] = word[0] ^ (1 << (place & 63))
    block[COUNT] = block[COUNT] - 1


@native
def fill_block(patterns: Patterns, block_number: int, numbers: Words, count: int) -> int:
    """Make a block of entries, the highest score first."""
    nibbles = patterns.nibbles
    size = record_words(patterns.key_words, patterns.ranges)
    block = patterns.blocks + block_number * block_words(nibbles)
    clear(block, 8 * _head_words(nibbles))
    block[TOP] = (patterns.entries + (numbers[0] - 1) * size)[SCORE]
    block[LOW] = (patterns.entries + (numbers[count - 1] - 1) * size)[SCORE]
    _order_nibbles(patterns, block, numbers, count)
    for i in range(count):
        _put(patterns, block_number, numbers[i])
    return 0


@native
def _new_block(patterns: Patterns, at: int) -> int:
    """Put the next free block at this place of the order; returns its number."""
    order = patterns.order
    i = patterns.block_count
    while i > at:
        order[i] = order[i - 1]
        i -= 1
    order[at] = patterns.blocks_taken
    patterns.block_count = patterns.block_count + 1
    patterns.blocks_taken = patterns.blocks_taken + 1
    return order[at]


@native
def _split(patterns: Patterns, at: int) -> None:
    """Move the lower half of the full block at this place of the order to a new one behind it."""
    nibbles = patterns.nibbles
    size = record_words(patterns.key_words, patterns.ranges)
    number = patterns.order[at]
    numbers = _numbers(patterns.blocks + number * block_words(nibbles), nibbles)
    falling = patterns.scratch
    for i in range(ENTRIES):
        score = (patterns.entries + (numbers[i] - 1) * size)[SCORE]
        j = i
        while j > 0 and (patterns.entries + (falling[j - 1] - 1) * size)[SCORE] < score:
            falling[j] = falling[j - 1]
            j -= 1
        falling[j] = numbers[i]
    fill_block(patterns, number, falling, ENTRIES // 2)
    fill_block(patterns, _new_block(patterns, at + 1), falling + ENTRIES // 2, ENTRIES // 2)


@native
def _put(patterns: Patterns, block_number: int, number: int) -> None:
    """Enter an entry into a block that has room."""
    nibbles = patterns.nibbles
    block = patterns.blocks + block_number * block_words(nibbles)
    entry = patterns.entries + (number - 1) * record_words(patterns.key_words, patterns.ranges)
    word = 0
    while block[ALIVE + word] == -1:
        word += 1
    bit = 64 * word + highest_bit(block[ALIVE + word] ^ -1)
    block[ALIVE + word] = block[ALIVE + word] | (1 << (bit & 63))
    _numbers(block, nibbles)[bit] = number
    entry[PLACE] = block_number * ENTRIES + bit
    block[COUNT] = block[COUNT] + 1
    block[TOP] = max(block[TOP], entry[SCORE])
    block[LOW] = min(block[LOW], entry[SCORE])
    used = _is_used(block, nibbles)
    mask = entry + (VALUE + patterns.key_words)
    one = 1 << (bit & 63)
    for nibble in range(nibbles):
        looked_at = _nibble(mask, nibble)
        if looked_at != 0 and used[nibble] == 0:
            _use(block, nibbles, nibble, -1)
        if used[nibble] != 0:
            wanted = _nibble(entry + VALUE, nibble)
            sets = _sets(block, nibbles, nibble) + word
            for x in range(16):
                if (x ^ wanted) & looked_at == 0:
                    sets[x * SET] = sets[x * SET] | one
                else:
                    sets[x * SET] = sets[x * SET] & (one ^ -1)


@native
def _use(block: Words, nibbles: int, nibble: int, filled: int) -> None:
    """Have a search look at one more nibble, about which no entry has cared (-1) or is in the block yet (0)."""
    _order_of(block)[block[USED]] = nibble
    _is_used(block, nibbles)[nibble] = 1
    block[USED] = block[USED] + 1
    sets = _sets(block, nibbles, nibble)
    for i in range(16 * SET):
        sets[i] = filled


@native
def _order_nibbles(patterns: Patterns, block: Words, numbers: Words, count: int) -> None:
    """Use first the nibbles at whose bits most of the entries look."""
    nibbles = patterns.nibbles
    size = record_words(patterns.key_words, patterns.ranges)
    weights = patterns.scratch + ENTRIES
    for nibble in range(nibbles):
        weights[nibble] = 0
        for i in range(count):
            looked_at = _nibble(patterns.entries + ((numbers[i] - 1) * size + VALUE + patterns.key_words), nibble)
            bits = (looked_at & 1) + ((looked_at >> 1) & 1) + ((looked_at >> 2) & 1) + (looked_at >> 3)
            weights[nibble] = weights[nibble] + bits
    while True:
        heaviest = 0
        for nibble in range(nibbles):
            if weights[nibble] > weights[heaviest]:
                heaviest = nibble
        if weights[heaviest] == 0:
            break
        weights[heaviest] = 0
        _use(block, nibbles, heaviest, 0)
