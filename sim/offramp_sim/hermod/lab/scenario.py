# SPDX-License-Identifier: Apache-2.0
"""Coflows of one moment in training: activations and tokens that start while gradients are in flight."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final

from offramp.hermod.factors import CType, Factors
from offramp.hermod.queues import MOST_QUEUES
from offramp_base.settings.check import check
from offramp_base.settings.error import SettingsError
from offramp_base.settings.field import Field
from offramp_base.settings.units import BITS_PER_SECOND

MOST_RANKS: Final = 16
LAYERS: Final = 32
MICRO_BATCHES: Final = 8
KINDS: Final = ("EP", "PP", "DP-0", "DP-1")


@dataclass(frozen=True, slots=True)
class Abuse:
    """A sender that pretends to belong to the job.

    Attributes:
        dscp: DSCP of its frames.
        lasts_s: how long, unless the coflows end before.
        member: whether it is behind the port of rank 0, one of the job's, rather than behind a port of its own.
        guarded: whether the switch knows the job's ports, polices control traffic and keeps the lowest queue's share.
        load: bit rate to each rank, as a multiple of a port's rate.
        burst: frames to each rank that it sends at once.
        flows: UDP ports and sources that it pretends, for each rank.
        lowest_percent: percent of a guarded port that is reserved for traffic outside the job.
    """

    dscp: int
    lasts_s: float
    member: bool = False
    guarded: bool = True
    load: float = 1.5
    burst: int = 32
    flows: int = 64
    lowest_percent: int = 5

    @property
    def title(self) -> str:
        """Title of a run with it."""
        where = "a port of the job" if self.member else "another port"
        return f"DSCP {self.dscp} from {where}, {'protected' if self.guarded else 'unprotected'}"

    @property
    def spared(self) -> tuple[int, ...]:
        """Ranks that it does not send to: a switch never sends a frame back to its ingress port."""
        return (0,) if self.member else ()


@dataclass(frozen=True, slots=True)
class LabScenario:
    """Four coflows among some ranks, each started while those before it are in flight.

    Two buckets of gradients (DP, all ranks) come first, then activations from each rank of the lower half to one of
    the upper half (PP), then an uneven all-to-all (EP).

    The tokens keep a port busy a quarter of ``busy_s``, each bucket two fifths. With ``priorities``, hosts and switch
    obey them; else one queue serves first come, first served. ``apart`` leaves the lowest queue to others, one of
    which may be ``abuse``.
    """

    ranks: Annotated[
        int,
        Field(
            "Processes, each in a network namespace of its own; an even number", least=2, most=MOST_RANKS, group="Lab"
        ),
    ] = 4
    rate_bps: Annotated[
        int,
        Field("Rate of each port of the switch, as for tc", key="rate", least=10**6, most=10**12, unit=BITS_PER_SECOND),
    ] = 10**7
    busy_s: Annotated[
        float, Field("Seconds that the activations keep a port busy", key="busy", least=0.01, most=60)
    ] = 0.6
    priorities: bool = True
    queues: Annotated[int, Field("Queues of each port, the highest for control", least=2, most=MOST_QUEUES)] = 8
    congestion: Annotated[str, Field("TCP's congestion control")] = "cubic"
    apart: bool = False
    abuse: Abuse | None = None
    rounds: Annotated[int, Field("How often all coflows are sent, one round after the other", least=1, most=100)] = 1
    seed: Annotated[int, Field("Random seed for the sizes of the all-to-all", least=0)] = 0

    def __post_init__(self) -> None:
        check(self)
        if self.ranks % 2:
            raise SettingsError("ranks", f"expected an even number of 2 to {MOST_RANKS}", self.ranks)

    @property
    def unit(self) -> int:
        """Bytes that a port carries in ``busy_s``, without headers."""
        return int(self.rate_bps * self.busy_s / 8 * 0.93)

    @property
    def title(self) -> str:
        """Title of a run."""
        if self.abuse is not None:
            return self.abuse.title
        if self.apart:
            return "alone"
        return "by priority" if self.priorities else "one queue"

    def factors(self, kind: str) -> Factors:
        """Factors of the priorities; the gradients are those of the last microbatch."""
        return {
            "EP": Factors(1, CType.EP, 4),
            "PP": Factors(2, CType.PP, 4),
            "DP-0": Factors(MICRO_BATCHES - 1, CType.DP, 0),
            "DP-1": Factors(MICRO_BATCHES - 1, CType.DP, LAYERS - 1),
        }[kind]

    def start_s(self, kind: str) -> float:
        """Seconds at which a coflow starts; the gradients of the last layers come first."""
        return {"DP-1": 0.0, "DP-0": 0.1, "PP": 0.2, "EP": 0.3}[kind] * self.busy_s
