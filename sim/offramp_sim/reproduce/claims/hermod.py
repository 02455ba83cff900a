# SPDX-License-Identifier: Apache-2.0
"""Claims of Hermod's reproductions."""

from __future__ import annotations

from typing import Final

from offramp_sim.reproduce.claims.claim import Claim

_PAGE: Final = "docs/hermod.md"

CLAIMS: Final = (
    Claim("hermod/table5.2", "dp-first over fifo, ecmp", _PAGE, "DP-first has 0.80 to 0.84 of FIFO's speed", most=0.9),
    Claim(
        "hermod/table5.2",
        "pp-first over fifo, ecmp",
        _PAGE,
        "PP-first gains 1.67 to 2.61 over FIFO and 1.01 to 1.09 over fair sharing",
        least=1.5,
    ),
    Claim(
        "hermod/table5.2",
        "pp-first over fair, ecmp",
        _PAGE,
        "PP-first gains 1.67 to 2.61 over FIFO and 1.01 to 1.09 over fair sharing",
        least=1.0,
        most=1.1,
    ),
    Claim("hermod/table5.2", "ep-first over fifo, ecmp", _PAGE, "EP-first 1.66 to 2.55 over FIFO", least=1.5),
    Claim(
        "hermod/table5.2",
        "ep-first over fair, ecmp",
        _PAGE,
        "Over fair sharing EP-first turns (0.83 to 1.04)",
        least=0.8,
        most=1.1,
    ),
    Claim(
        "hermod/fig5.8", "Hermod, up to", _PAGE, "figure 5.8's largest gain is 1.06 to 1.37", least=1.0, headline=True
    ),
    Claim(
        "hermod/fig5.9",
        "GPT-3 13B over Megatron, 100 Gb/s",
        _PAGE,
        "GPT-3 13B at 100 Gb/s gains 1.14 to 1.72 over Megatron with FIFO",
        least=1.1,
        headline=True,
    ),
    Claim("hermod/fig5.9", "GPT-3 13B over fair sharing", _PAGE, "and 1.05 to 1.13 with fair sharing", least=1.0),
    Claim(
        "hermod/fig5.9",
        "Qwen-MoE-12L over Lina, 100 Gb/s",
        _PAGE,
        "Qwen over Lina is a tie (0.96 to 1.01)",
        least=0.95,
        most=1.05,
    ),
    Claim(
        "hermod/fig5.9",
        "smallest gain of all",
        _PAGE,
        "The smallest gain of all models and rates of figure 5.9 is below 1 in every setting (0.94 to 0.97)",
        most=1.0,
    ),
    Claim(
        "hermod/fig5.10",
        "over Megatron, up to",
        _PAGE,
        "the interleaved schedule up to 100 Gb/s 1.15 to 1.59 and 1.05 to 1.14 (at 400 Gb/s nothing)",
        least=1.1,
        where={"nic_gbps": (100.0, 40.0)},
    ),
    Claim(
        "hermod/fig5.10",
        "over Megatron with fair sharing, up to",
        _PAGE,
        "the interleaved schedule up to 100 Gb/s 1.15 to 1.59 and 1.05 to 1.14 (at 400 Gb/s nothing)",
        least=1.0,
        where={"nic_gbps": (100.0, 40.0)},
    ),
    Claim(
        "hermod/fig5.9",
        "GPT-3 13B over Megatron, 100 Gb/s",
        "docs/when-what-pays.md",
        "| several coflows of a step compete | one collective at a time |",
        least=1.0,
    ),
)
