# SPDX-License-Identifier: Apache-2.0
"""All claims, by system."""

from __future__ import annotations

from typing import Final

from offramp_sim.reproduce.claims import dgs, dgtp, g3, hermod, leo, switchgnn, sylvie, themis, unitg
from offramp_sim.reproduce.claims.claim import Claim

CLAIMS: Final[tuple[Claim, ...]] = (
    *switchgnn.CLAIMS,
    *dgs.CLAIMS,
    *g3.CLAIMS,
    *hermod.CLAIMS,
    *leo.CLAIMS,
    *sylvie.CLAIMS,
    *unitg.CLAIMS,
    *themis.CLAIMS,
    *dgtp.CLAIMS,
)


def claims_of(item: str) -> tuple[Claim, ...]:
    """The claims that rest on an item."""
    return tuple(claim for claim in CLAIMS if claim.item == item)
