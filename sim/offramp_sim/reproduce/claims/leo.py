# SPDX-License-Identifier: Apache-2.0
"""Claims of LEO's reproductions."""

from __future__ import annotations

from typing import Final

from offramp_sim.reproduce.claims.claim import Claim

_PAGE: Final = "docs/leo.md"

CLAIMS: Final = (
    Claim(
        "leo/fig6.14",
        "heuristic over the greedy rules",
        _PAGE,
        "the default rule sustains 1.06 to 1.83 times what the better greedy rule does",
        least=1.0,
        headline=True,
    ),
    Claim(
        "leo/fig6.14",
        "heuristic over weighted choice",
        _PAGE,
        "Over drawing paths by their rates it is worth -1 to +12 %",
        least=0.95,
        most=1.15,
    ),
    Claim(
        "leo/fig6.14",
        "heuristic over outstanding",
        _PAGE,
        "over fewest outstanding -2 to +1 %: it is no worse, and no more can be said",
        least=0.95,
        most=1.05,
    ),
    Claim(
        "leo/fig6.11",
        "LEO over DOCA and CPU",
        _PAGE,
        "On the file system (`leo/fig6.11`) its least gain over either path alone, with eight cores, is 1.04 to 1.06",
        least=1.0,
        most=1.1,
    ),
    Claim(
        "leo/fig6.14",
        "heuristic over the greedy rules",
        "docs/when-what-pays.md",
        "| two paths of a host are within a small factor of each other | one path is faster and never full |",
        least=1.0,
    ),
)
