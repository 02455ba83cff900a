# SPDX-License-Identifier: Apache-2.0
"""Claims of DGS's reproductions."""

from __future__ import annotations

from typing import Final

from offramp_sim.reproduce.claims.claim import Claim

CLAIMS: Final[tuple[Claim, ...]] = ()
