# SPDX-License-Identifier: Apache-2.0
"""Claims of DGTP's reproductions."""

from __future__ import annotations

from typing import Final

from offramp_sim.reproduce.claims.claim import Claim

_PAGE: Final = "docs/placement.md"
_FIFO: Final = "DGTP saves 17 to 32 % against DistDGL with FIFO queues on the testbed"
_PASSING: Final = "1 to 18 % against a FIFO that passes blocked flows"
_ALONE: Final = "placement alone, both with OES, is worth -0.8 to +3.8 %: no sign"

CLAIMS: Final = (
    *(
        Claim(
            "dgtp/table3",
            f"{job}: against DistDGL with FIFO queues",
            _PAGE,
            _FIFO,
            least=15,
            headline=job == "ps, products",
        )
        for job in ("ps, products", "ps, reddit", "ring, products", "ring, reddit")
    ),
    *(
        Claim("dgtp/table3", f"{job}: against FIFO that passes blocked flows", _PAGE, _PASSING, least=0.0)
        for job in ("ps, products", "ring, reddit")
    ),
    *(
        Claim("dgtp/table3", f"{job}: against OES (placement alone)", _PAGE, _ALONE, least=-2, most=5)
        for job in ("ps, products", "ring, products")
    ),
)
