# SPDX-License-Identifier: Apache-2.0
"""64 code points onto the strict-priority queues of a switch (specification section 4)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from offramp.hermod.dscp import CODES, Codec, Meaning, dscp_of
from offramp.hermod.factors import CType, Factors
from offramp_base.errors import OfframpError

CONTROL: Final = frozenset({48})
"""DSCP of congestion notifications (CNP) in common RoCEv2 set-ups."""
MOST_QUEUES: Final = 8


@dataclass(frozen=True, slots=True)
class QueuePlan:
    """The DSCP of each code, and the queue of each DSCP; higher queues go first.

    Attributes:
        dscp: by code, for the codes in use.
        queue: by DSCP, all 64; what the job does not use goes into queue 0, control into the highest.
        classes: queues for data.
        control: DSCPs kept free.
        lowest: the lowest queue for data; 1 where queue 0 is left to everybody else.
    """

    dscp: dict[int, int]
    queue: tuple[int, ...]
    classes: int
    control: frozenset[int]
    lowest: int = 0

    def queue_of(self, codec: Codec, factors: Factors) -> int:
        """The queue of a coflow."""
        return self.queue[self.dscp[codec.code(factors)]]


def plan_queues(
    codec: Codec,
    queues: int = MOST_QUEUES,
    classes: int | None = None,
    control: Collection[int] = CONTROL,
    scheme: str = "split",
    *,
    apart: bool = False,
) -> QueuePlan:
    """The map for a switch with ``queues`` queues.

    ``split`` gives the lowest queues to DP (two of them from three on) and shares the others among the microbatches:
    the order of the thesis survives. ``msb`` takes the upper bits of the DSCP as usual defaults do: DP shares a queue
    with the last microbatch and the gain of case II is lost.

    ``apart`` leaves queue 0 and DSCP 0 to everybody else: best effort then waits behind all of the job, and does not
    share a queue with its lowest class.

    Raises:
        OfframpError: more classes than queues, a DSCP outside 0 to 63, too few free DSCPs.
    """
    kept = frozenset(control)
    for value in sorted(kept):
        if not 0 <= value < CODES:
            raise OfframpError(f"control DSCP {value}: expected 0 to {CODES - 1}")
    if not 1 <= queues <= MOST_QUEUES:
        raise OfframpError(f"queues {queues}: expected 1 to {MOST_QUEUES}")
    for_control = 1 if kept and queues > 1 else 0
    room = queues - for_control - apart
    wanted = room if classes is None else classes
    if not 1 <= wanted <= room:
        own = ", one of them for control" if for_control else ""
        own += ", one for everybody else" if apart else ""
        if room < 1:
            raise OfframpError(f"queues {queues}{own}: none is left for the job")
        raise OfframpError(f"classes {wanted}: the switch has {queues} queues{own}, expected 1 to {room}")
    if scheme not in _SCHEMES:
        raise OfframpError(f"scheme {scheme}: expected one of {', '.join(_SCHEMES)}")
    dscp = _free(list(codec.meanings), kept | {0} if apart else kept)
    levels = _SCHEMES[scheme](codec, dscp, wanted)
    queue = [0] * CODES
    for code, value in dscp.items():
        queue[value] = levels[code] + apart
    for value in kept:
        queue[value] = queues - 1
    return QueuePlan(dscp, tuple(queue), wanted, kept, int(apart))


def _free(codes: list[int], kept: frozenset[int]) -> dict[int, int]:
    """DSCPs for ascending codes, descending, as near to 63 - code as those that are kept free allow."""
    free = [value for value in range(CODES - 1, -1, -1) if value not in kept]
    if len(codes) > len(free):
        raise OfframpError(f"{len(codes)} priorities and {len(kept)} DSCPs for control: there are {CODES} DSCPs")
    chosen: list[int] = []
    at = 0
    for done, code in enumerate(codes):
        last = len(free) - (len(codes) - done)  # leaves one for each code that follows
        while at < last and free[at] > dscp_of(code):
            at += 1
        chosen.append(free[at])
        at += 1
    return dict(zip(codes, chosen, strict=True))


def _split(codec: Codec, dscp: dict[int, int], classes: int) -> dict[int, int]:
    """Queues by microbatch, or by code where microbatches are fewer than queues; data parallelism below."""
    del dscp
    low = min(2, classes - 1)
    high = classes - low
    data = {code: meaning for code, meaning in codec.meanings.items() if CType.DP not in meaning.ctypes}
    levels = {}
    for code, meaning in codec.meanings.items():
        if code in data:
            share = _share(codec, meaning, high, list(data).index(code) / len(data))
            levels[code] = classes - 1 - share
        else:
            levels[code] = 1 if low == 2 and code & 3 < 2 else 0
    return levels


def _share(codec: Codec, meaning: Meaning, high: int, rank: float) -> int:
    steps = codec.micro_batches * (2 if codec.interleaved else 1)
    if steps < high:
        return int(rank * high)
    step = meaning.mids[0] * (2 if codec.interleaved else 1) + (meaning.ctypes[0] if codec.interleaved else 0)
    return step * high // steps


def _msb(codec: Codec, dscp: dict[int, int], classes: int) -> dict[int, int]:
    del codec
    return {code: value * classes // CODES for code, value in dscp.items()}


_SCHEMES: Final = {"split": _split, "msb": _msb}
