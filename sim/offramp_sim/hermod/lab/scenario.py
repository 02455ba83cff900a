# SPDX-License-Identifier: Apache-2.0
"""Coflows of one moment in training: gradients on their way when activations and tokens come."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from offramp.hermod.factors import CType, Factors
from offramp.hermod.queues import MOST_QUEUES
from offramp_base.errors import OfframpError

MOST_RANKS: Final = 16
LAYERS: Final = 32
MICRO_BATCHES: Final = 8
KINDS: Final = ("EP", "PP", "DP-0", "DP-1")


@dataclass(frozen=True, slots=True)
class Scenario:
    """Four coflows among some ranks, each started while those before it are on their way.

    Two buckets of gradients (DP, all ranks) come first, then activations from each rank of the lower half to one of
    the upper half (PP), then an uneven all-to-all (EP).

    Attributes:
        ranks: an even number.
        rate_bps: of each port of the switch.
        busy_s: how long the activations keep a port busy; the tokens do so a quarter of it, each bucket two fifths.
        priorities: whether hosts and switch keep to them; else first come, first served, in one queue.
        queues: of each port, one of them for control.
        congestion: TCP's congestion control.
        seed: of the contents and of the all-to-all's sizes.

    Raises:
        OfframpError: a number out of range.
    """

    ranks: int = 4
    rate_bps: int = 10_000_000
    busy_s: float = 0.6
    priorities: bool = True
    queues: int = 8
    congestion: str = "cubic"
    seed: int = 0

    def __post_init__(self) -> None:
        if self.ranks % 2 or not 2 <= self.ranks <= MOST_RANKS:
            raise OfframpError(f"ranks {self.ranks}: expected an even number of 2 to {MOST_RANKS}")
        if not 1_000_000 <= self.rate_bps <= 10**12:
            raise OfframpError(f"rate {self.rate_bps} bit/s: expected 1 Mbit/s to 1 Tbit/s")
        if not 0.01 <= self.busy_s <= 60:
            raise OfframpError(f"busy {self.busy_s} s: expected 0.01 to 60")
        if not 2 <= self.queues <= MOST_QUEUES:
            raise OfframpError(f"queues {self.queues}: expected 2 to {MOST_QUEUES}")

    @property
    def unit(self) -> int:
        """Bytes that a port carries in ``busy_s``, headers aside."""
        return int(self.rate_bps * self.busy_s / 8 * 0.93)

    def factors(self, kind: str) -> Factors:
        """What the priorities are made of; the gradients are those of the last microbatch."""
        return {
            "EP": Factors(1, CType.EP, 4),
            "PP": Factors(2, CType.PP, 4),
            "DP-0": Factors(MICRO_BATCHES - 1, CType.DP, 0),
            "DP-1": Factors(MICRO_BATCHES - 1, CType.DP, LAYERS - 1),
        }[kind]

    def start_s(self, kind: str) -> float:
        """When a coflow starts; the gradients of the last layers come first."""
        return {"DP-1": 0.0, "DP-0": 0.1, "PP": 0.2, "EP": 0.3}[kind] * self.busy_s
