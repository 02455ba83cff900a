# SPDX-License-Identifier: Apache-2.0
"""Claims of DGS's reproductions."""

from __future__ import annotations

from typing import Final

from offramp_sim.reproduce.claims.claim import Claim

_PAGE: Final = "docs/dgs.md"

_FEWER: Final = "On communities shuffled masks do as well: they send 0.98 to 1.08 times the bytes"
_FAN_OUT: Final = {"fanout": ((3, 3),)}

CLAIMS: Final = (
    Claim(
        "dgs/controls",
        "communities: bytes by random over by explanations",
        _PAGE,
        "With a fan-out of 3 random sampling sends 2.3 to 4.0 times as many bytes as explained masks",
        least=1.5,
        where=_FAN_OUT,
    ),
    Claim(
        "dgs/controls",
        "hubs: bytes by random over by explanations",
        _PAGE,
        "With a fan-out of 3 random sampling sends 2.3 to 4.0 times as many bytes as explained masks",
        least=1.5,
        where=_FAN_OUT,
    ),
    Claim("dgs/controls", "communities: bytes by shuffled over by explanations", _PAGE, _FEWER, least=0.9, most=1.2),
    Claim("dgs/controls", "communities: explained less shuffled, points", _PAGE, _FEWER, least=-1.5, most=1.5),
    Claim(
        "dgs/controls",
        "hubs: bytes by shuffled over by explanations",
        _PAGE,
        "On hubs explained masks send 3 to 18 % fewer bytes than shuffled ones",
        least=1.0,
    ),
    Claim(
        "dgs/controls",
        "hubs: explained less shuffled, points",
        _PAGE,
        "with a fan-out of 3 they are 1.1 to 9.5 points ahead of them",
        least=0.0,
        where=_FAN_OUT,
    ),
)
