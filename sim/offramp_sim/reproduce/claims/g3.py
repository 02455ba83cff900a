# SPDX-License-Identifier: Apache-2.0
"""Claims of g3."""

from offramp_sim.reproduce.claims.claim import Claim

CLAIMS: tuple[Claim, ...] = ()
