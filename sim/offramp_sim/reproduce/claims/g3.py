# SPDX-License-Identifier: Apache-2.0
"""Claims of G3's reproductions."""

from __future__ import annotations

from typing import Final

from offramp_sim.reproduce.claims.claim import Claim

_PAGE: Final = "docs/full-graph.md"

CLAIMS: Final = (
    *(
        Claim(
            "g3/fig4.16",
            f"{name}: G3's over random, at most",
            _PAGE,
            "G3's partitions are 1.17 to 1.75 times as fast as random ones at best",
            least=1.0,
        )
        for name in ("products", "amazon")
    ),
    *(
        Claim(
            "g3/fig4.16",
            f"{name}: G3's over METIS's, 16 workers",
            _PAGE,
            "Beside METIS's they have no sign: 0.87 to 1.23",
            least=0.8,
            most=1.3,
        )
        for name in ("products", "amazon")
    ),
)
