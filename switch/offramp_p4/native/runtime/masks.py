# SPDX-License-Identifier: Apache-2.0
"""The bits that a hash table of a ternary table hashes: chosen by what a look-up would cost.

More bits make chains shorter, but leave the entries that do not look at them to other tables. As long as chains are
long, the bit is added that shortens them most for the square of what it leaves; halving the chains may cost three
entries in ten. Then a bit must make the expected look-up cheaper. The costs are nanoseconds, as measured.
"""

from __future__ import annotations

from typing import Final

from offramp_base.native.subset import Words, inlined, native
from offramp_p4.native.runtime.context import Patterns
from offramp_p4.native.runtime.entries import LONGEST, VALUE, record_words

_LONG: Final = 2.0  # entries of a chain
_ENTRY_NS: Final = 60.0  # to compare an entry of a chain
_ELSEWHERE_NS: Final = 60.0  # to look elsewhere, too


@native
def choose_mask(
    patterns: Patterns, sample: Words, count: int, scale: float, left_ns: float, scratch: Words, mask: Words
) -> int:
    """Write the mask for a tuple; returns how many entries of the sample can be in it, 0: chains would be too long.

    Each stands for ``scale`` entries, and each of these that cannot adds ``left_ns`` to the cost of a look-up.
    ``scratch`` has room for four words for each of the sample.
    """
    words = patterns.key_words
    size = record_words(words, patterns.ranges)
    groups = scratch  # of each entry the number of those with the same value under the mask, less 1; below 0: none
    sizes = scratch + count  # by number of the group, twice, for a further bit of 0 and of 1; then new numbers
    for i in range(count):
        groups[i] = 0
    for i in range(2 * count):
        sizes[i] = 0
    for i in range(words):
        mask[i] = 0
    covered = count
    chain = 1.0 + float(count - 1) * scale
    lowest = chain
    while True:
        if chain <= _LONG:
            lowest = _cost(chain, count - covered, scale, left_ns)
        long = chain > _LONG
        best = -1
        best_covered = 0
        for bit in range(4 * patterns.nibbles):
            word = bit >> 6
            if (mask[word] >> (bit & 63)) & 1 == 0:
                within = 0
                pairs = 0
                for i in range(count):
                    entry = patterns.entries + ((sample[i] - 1) * size + VALUE + word)
                    if groups[i] >= 0 and (entry[words] >> (bit & 63)) & 1 != 0:
                        group = 2 * groups[i] + ((entry[0] >> (bit & 63)) & 1)
                        pairs += 2 * sizes[group]
                        sizes[group] = sizes[group] + 1
                        within += 1
                for i in range(2 * count):
                    sizes[i] = 0
                if within != 0:
                    # What few of a sample do not show may still be: as if there were one pair more than was seen.
                    length = 1.0 + (float(pairs) * scale + scale - 1.0) / float(within)
                    share = float(count) / float(within)
                    cost = length * share * share
                    if not long:
                        cost = _cost(length, count - within, scale, left_ns)
                    if cost < lowest:
                        lowest = cost
                        chain = length
                        best = bit
                        best_covered = within
        if best < 0:
            return covered if chain <= float(LONGEST) else 0
        covered = best_covered
        mask[best >> 6] = mask[best >> 6] | (1 << (best & 63))
        _divide(patterns, sample, count, best, groups, sizes)


@inlined
def _cost(chain: float, left: int, scale: float, left_ns: float) -> float:
    """Nanoseconds of a look-up with chains of this length."""
    if left == 0:
        return _ENTRY_NS * chain
    return _ENTRY_NS * chain + _ELSEWHERE_NS + left_ns * float(left) * scale


@native
def _divide(patterns: Patterns, sample: Words, count: int, bit: int, groups: Words, numbers: Words) -> None:
    """Divide the groups by a bit; the new ones are numbered as they come. ``numbers`` is 0 before and after."""
    words = patterns.key_words
    size = record_words(words, patterns.ranges)
    used = 0
    for i in range(count):
        entry = patterns.entries + ((sample[i] - 1) * size + VALUE + (bit >> 6))
        if groups[i] >= 0:
            if (entry[words] >> (bit & 63)) & 1 == 0:
                groups[i] = -1
            else:
                group = 2 * groups[i] + ((entry[0] >> (bit & 63)) & 1)
                if numbers[group] == 0:
                    used += 1
                    numbers[group] = used
                groups[i] = numbers[group] - 1
    for i in range(2 * count):
        numbers[i] = 0
