# SPDX-License-Identifier: Apache-2.0
"""64 code points onto the strict-priority queues of a switch (specification section 4)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Final

from offramp.hermod.dscp import CODES, DscpCodec, Meaning, dscp_of
from offramp.hermod.factors import CType, Factors
from offramp_base.errors import OfframpError

CONTROL: Final = frozenset({48})
"""DSCP of congestion notifications (CNP) in common RoCEv2 set-ups."""
MOST_QUEUES: Final = 8


@dataclass(frozen=True, slots=True)
class Priority:
    """One priority of a job.

    Attributes:
        code: 6-bit code point; 0 is the most urgent.
        dscp: DSCP that its packets carry.
        queue: queue of that DSCP.
        meaning: the coflows that share the code; None: the plan's file does not say.
        tenant: name of the job, where several jobs share a plan.
    """

    code: int
    dscp: int
    queue: int
    meaning: Meaning | None = None
    tenant: str | None = None


@dataclass(frozen=True)
class QueuePlan:
    """The DSCP of each code, and the queue of each DSCP; higher queues go first. Every target is deployed from it.

    Attributes:
        priorities: priorities of the job, or of all jobs that share the switch.
        queue: queue of each of the 64 DSCPs; unused DSCPs go into queue 0, control into the highest queue.
        classes: number of queues for data.
        control: DSCPs kept free for control traffic.
        count: number of queues that a target needs.
        lowest: the lowest queue for data; 1 where queue 0 is left to other traffic.
        ecn_bytes: queue length in bytes above which packets are marked, by queue.
        job: description of the job, for the plan's file.

    Raises:
        OfframpError: a threshold of a queue that the plan does not have, or one below a byte.
    """

    priorities: tuple[Priority, ...]
    queue: tuple[int, ...]
    classes: int
    control: frozenset[int]
    count: int = MOST_QUEUES
    lowest: int = field(default=0, compare=False)
    ecn_bytes: Mapping[int, int] = field(default_factory=dict)
    job: Mapping[str, Any] = field(default_factory=dict, compare=False)

    other: ClassVar[int] = 0
    """Queue of every DSCP that is neither the job's nor for control."""

    def __post_init__(self) -> None:
        for queue, threshold in self.ecn_bytes.items():
            if not 0 <= queue < self.count:
                raise OfframpError(f"ECN of queue {queue}: expected 0 to {self.count - 1}")
            if threshold < 1:
                raise OfframpError(f"ECN of queue {queue}: {threshold} bytes, expected 1 up")

    @cached_property
    def dscp(self) -> dict[int, int]:
        """DSCP of each code in use."""
        return {priority.code: priority.dscp for priority in self.priorities}

    @cached_property
    def queues(self) -> dict[int, int]:
        """Queue of each DSCP of the job and of control traffic, by ascending DSCP."""
        used = {priority.dscp for priority in self.priorities} | self.control
        return {dscp: self.queue[dscp] for dscp in sorted(used)}

    @property
    def urgent(self) -> int:
        """Queue of frames without a DSCP, such as ARP: the highest in use."""
        return max(self.queues.values())

    def queue_of(self, codec: DscpCodec, factors: Factors) -> int:
        """The queue of a coflow."""
        return self.queue[self.dscp[codec.code(factors)]]

    def carried_by(self, moved: Mapping[int, int]) -> QueuePlan:
        """The plan whose packets carry other DSCPs.

        Args:
            moved: new DSCP by the DSCP of the plan, for the job's DSCPs only. A DSCP that shares the new DSCP of
                another queue goes into that queue.
        """
        by_dscp = {dscp: queue for dscp, queue in self.queues.items() if dscp not in moved}
        for dscp, new in moved.items():
            by_dscp.setdefault(new, self.queue[dscp])
        dscps = [moved.get(priority.dscp, priority.dscp) for priority in self.priorities]
        carried = zip(self.priorities, dscps, strict=True)
        return replace(
            self,
            priorities=tuple(replace(priority, dscp=dscp, queue=by_dscp[dscp]) for priority, dscp in carried),
            queue=tuple(by_dscp.get(dscp, self.other) for dscp in range(CODES)),
        )


def plan_queues(
    codec: DscpCodec,
    queues: int = MOST_QUEUES,
    classes: int | None = None,
    control: Collection[int] = CONTROL,
    scheme: str = "split",
    *,
    apart: bool = False,
    ecn_bytes: Mapping[int, int] | None = None,
    job: Mapping[str, Any] | None = None,
) -> QueuePlan:
    """The plan for a switch with ``queues`` queues.

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
    priorities = tuple(Priority(code, dscp[code], queue[dscp[code]], codec.meanings[code]) for code in dscp)
    return QueuePlan(priorities, tuple(queue), wanted, kept, queues, int(apart), dict(ecn_bytes or {}), job or {})


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


def _split(codec: DscpCodec, dscp: dict[int, int], classes: int) -> dict[int, int]:
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


def _share(codec: DscpCodec, meaning: Meaning, high: int, rank: float) -> int:
    steps = codec.micro_batches * (2 if codec.interleaved else 1)
    if steps < high:
        return int(rank * high)
    step = meaning.mids[0] * (2 if codec.interleaved else 1) + (meaning.ctypes[0] if codec.interleaved else 0)
    return step * high // steps


def _msb(codec: DscpCodec, dscp: dict[int, int], classes: int) -> dict[int, int]:
    del codec
    return {code: value * classes // CODES for code, value in dscp.items()}


_SCHEMES: Final = {"split": _split, "msb": _msb}
