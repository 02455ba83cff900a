# SPDX-License-Identifier: Apache-2.0
"""Times at which each stage of a pipeline computes if nothing interferes, idle windows, and their totals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from offramp.unitg.schedule import Op
from offramp_base.errors import OfframpError

_NOTHING = 1e-9


@dataclass(frozen=True, slots=True)
class StageSpan:
    """One operation of a stage, from ``start`` to ``end``, in the unit of the given times."""

    op: Op
    start: float
    end: float


Window = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Timetable:
    """One iteration; ``spans[s]`` are the operations of stage s in order."""

    spans: tuple[tuple[StageSpan, ...], ...]

    @property
    def makespan(self) -> float:
        """Time from the first operation's start to the last one's end."""
        return max(stage[-1].end for stage in self.spans)

    def busy(self, stage: int) -> float:
        """Time during which a stage computes."""
        return sum(span.end - span.start for span in self.spans[stage])

    def bubble(self) -> float:
        """Fraction of all stages' time in which they are idle: (P - 1) / (M + P - 1) for equal stages."""
        busy = sum(self.busy(stage) for stage in range(len(self.spans)))
        return 1 - busy / (len(self.spans) * self.makespan)

    def windows(self, stage: int) -> list[Window]:
        """Windows in which a stage is idle, from 0 to the makespan."""
        at, windows = 0.0, []
        for span in self.spans[stage]:
            if span.start - at > _NOTHING:
                windows.append((at, span.start))
            at = span.end
        if self.makespan - at > _NOTHING:
            windows.append((at, self.makespan))
        return windows

    def live(self, stage: int) -> int:
        """Largest number of microbatches whose activations a stage holds at once."""
        most = held = 0
        for span in self.spans[stage]:
            held += -1 if span.op.backward else 1
            most = max(most, held)
        return most


def timetable(
    forward: Sequence[float], backward: Sequence[float], microbatches: int, transfer: float = 0.0
) -> Timetable:
    """F-then-B where stage s takes ``forward[s]`` and ``backward[s]`` for a microbatch.

    ``transfer`` is the time to send a microbatch to a neighbour; a link carries one at a time in each direction.

    Raises:
        OfframpError: there is no stage or microbatch, or a time is negative.
    """
    stages = len(forward)
    if stages < 1 or len(backward) != stages or microbatches < 1:
        raise OfframpError(f"pipeline of {stages} stages and {microbatches} microbatches: expected at least 1 of each")
    if min(*forward, *backward, transfer) < 0:
        raise OfframpError("pipeline: times: expected at least 0")
    spans: list[list[StageSpan]] = [[] for _ in range(stages)]
    for ahead, seconds in ((True, forward), (False, backward)):
        came = [0.0] * microbatches
        for stage in range(stages) if ahead else range(stages - 1, -1, -1):
            sent = 0.0
            for m in range(microbatches):
                free = spans[stage][-1].end if spans[stage] else 0.0
                start = max(free, came[m])
                end = start + seconds[stage]
                spans[stage].append(StageSpan(Op(not ahead, m), start, end))
                sent = max(sent, end) + transfer
                came[m] = sent
    return Timetable(tuple(map(tuple, spans)))
