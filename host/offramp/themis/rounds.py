# SPDX-License-Identifier: Apache-2.0
"""Bruck's rounds (Bruck et al., IEEE TPDS 8(11), 1997): halving and doubling for any number of NPUs.

Before a round of an all-gather, every NPU has the blocks of as many NPUs as the round's distance: its own and those
that follow. It gets the next ones from the NPU at this distance, as many again or what is left. A reduce-scatter runs
the rounds backwards, with partial sums in place of blocks.
"""

from __future__ import annotations


def rounds(peers: int) -> list[tuple[int, int]]:
    """The rounds of an all-gather among ``peers`` NPUs: distance of the sender, and number of blocks that it sends.

    >>> rounds(6)
    [(1, 1), (2, 2), (4, 2)]
    """
    distances = [1 << k for k in range((peers - 1).bit_length())]
    return [(distance, min(distance, peers - distance)) for distance in distances]
