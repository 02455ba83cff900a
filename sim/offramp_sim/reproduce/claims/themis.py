# SPDX-License-Identifier: Apache-2.0
"""Claims of Themis's reproductions."""

from __future__ import annotations

from typing import Final

from offramp_sim.reproduce.claims.claim import Claim

_PAGE: Final = "docs/themis.md"

CLAIMS: Final = (
    Claim(
        "themis/fig8",
        "Themis+SCF: mean speed-up",
        _PAGE,
        "Themis+SCF is 1.49 to 2.58 times as fast as the baseline on average",
        least=1.4,
        headline=True,
    ),
    Claim("themis/fig8", "Themis+SCF: largest speed-up", _PAGE, "2.15 to 4.60 at most", least=2.0),
    Claim(
        "themis/fig8",
        "balanced: share of the linear bound, mean",
        _PAGE,
        "`balanced` stays within 0.8 % of the linear bound",
        least=99.2,
        where={"packets": ("none",)},
    ),
    Claim(
        "themis/fig8",
        "Themis+SCF: mean speed-up",
        "docs/when-what-pays.md",
        "| the network has dimensions of unequal speed | one dimension |",
        least=1.4,
    ),
    Claim(
        "themis/fig11",
        "themis+scf: mean utilisation",
        _PAGE,
        "Themis+SCF's mean utilisation is 87 to 99 %, the baseline's 41 to 67 %",
        least=85,
    ),
    Claim(
        "themis/fig11",
        "baseline: mean utilisation",
        _PAGE,
        "Themis+SCF's mean utilisation is 87 to 99 %, the baseline's 41 to 67 %",
        most=70,
    ),
    Claim(
        "themis/fig10",
        "balanced: mean utilisation with 4 chunks",
        _PAGE,
        "With 4 chunks it reaches 49 to 60 %, `balanced` 75 to 80 %",
        least=70,
    ),
    Claim(
        "themis/fig10",
        "themis+scf: mean utilisation with 4 chunks",
        _PAGE,
        "With 4 chunks it reaches 49 to 60 %, `balanced` 75 to 80 %",
        most=65,
    ),
    Claim(
        "themis/controls",
        "Themis+SCF over orders at random, mean",
        _PAGE,
        "Themis+SCF is 1.35 to 6.42 times as fast as chunks with random orders",
        least=1.2,
    ),
    Claim(
        "themis/controls",
        "Themis+SCF over the best single order, least",
        _PAGE,
        "and of the best single order on every topology",
        least=1.0,
        where={"chunks": (64, 16, 256)},
    ),
    Claim(
        "themis/controls",
        "Themis+SCF over all orders in turn, mean",
        _PAGE,
        "with 16 chunks or more it is ahead of all orders in turn",
        least=1.0,
        where={"chunks": (64, 16, 256)},
    ),
    Claim(
        "themis/controls",
        "Themis+SCF over all orders in turn, mean",
        _PAGE,
        "With 4 chunks all orders in turn are faster than Themis",
        most=1.0,
        where={"chunks": (4,)},
    ),
)
