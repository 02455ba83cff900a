# SPDX-License-Identifier: Apache-2.0
"""Progress of a request: every process on its way records moments, and their clocks are aligned to one.

With ``OFFRAMP_HOPS`` naming a folder, a process appends a line of JSON for each moment to a file of its own, in
nanoseconds of its monotonic clock; without it nothing is recorded. A moment says what begins then, so that the time of
a request falls into pieces without gaps.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

from offramp_base.errors import OfframpError

FOLDER: Final = "OFFRAMP_HOPS"
SIDE: Final = "OFFRAMP_HOPS_SIDE"
"""``requester`` or ``responder``: whose moments these are."""
_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")
_MOST_BYTES: Final = 1 << 28


@dataclass(frozen=True)
class HopMoment:
    """A point in time at which something takes over a request.

    Attributes:
        at_ns: time in ns on the clock of the process that recorded it.
        where: the process or device that has the request from then on.
        note: further details for the trace.
    """

    at_ns: int
    where: str
    note: Mapping[str, Any] = field(default_factory=dict)


class MomentRecorder:
    """Recorder of a process's moments, each written at once: the process may be killed.

    Attributes:
        side: requester or responder.
    """

    def __init__(self, folder: Path, side: str) -> None:
        self.side = side
        self._file = (folder / f"{side}-{os.getpid()}.jsonl").open("a", encoding="utf-8", buffering=1)
        self._file.write(json.dumps({"boot": boot()}) + "\n")

    def note(self, where: str, **note: Any) -> None:
        """Record that from now on ``where`` has the request."""
        at = time.monotonic_ns()
        self._file.write(json.dumps({"at_ns": at, "where": where, "note": note}) + "\n")

    def close(self) -> None:
        """Stop recording."""
        self._file.close()


@cache
def recorder() -> MomentRecorder | None:
    """The recorder of this process; None if tracing is off."""
    folder = os.environ.get(FOLDER)
    return None if folder is None else MomentRecorder(Path(folder), os.environ.get(SIDE, "process"))


def boot() -> str:
    """Identity of the boot: processes with the same one share a monotonic clock."""
    return _BOOT.read_text("ascii").strip()


@dataclass(frozen=True)
class Noted:
    """Moments that a process recorded, and the clock that it read."""

    boot: str
    moments: Sequence[HopMoment]


def read(folder: Path, side: str) -> list[Noted]:
    """Moments that the processes of a side recorded.

    Raises:
        OfframpError: a file has another format.
    """
    noted = []
    for path in sorted(folder.glob(f"{side}-*.jsonl")):
        if path.stat().st_size > _MOST_BYTES:
            raise OfframpError(f"{path}: more than {_MOST_BYTES} bytes")
        try:
            first, *rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
            moments = tuple(HopMoment(int(row["at_ns"]), str(row["where"]), dict(row["note"])) for row in rows)
            noted.append(Noted(str(first["boot"]), moments))
        except (ValueError, TypeError, KeyError) as error:
            raise OfframpError(f"{path}: no moments: {error}") from None
    return noted


def offset_ns(there: Iterable[tuple[int, int]], back: Iterable[tuple[int, int]]) -> tuple[float, float]:
    """The lead of another clock over ours, and the error bound of that estimate, in ns.

    Messages take an unknown time each way: the fastest of each direction bound the difference from both sides, and
    their middle is the estimate (Cristian 1989, NTP).

    Args:
        there: for each message from us, when it left by our clock and when it arrived by the other's.
        back: for each message to us, when it left by the other clock and when it arrived by ours.

    Raises:
        OfframpError: no message in one of the directions, or clocks that contradict each other.
    """
    ahead = min((came - left for left, came in there), default=None)
    behind = min((came - left for left, came in back), default=None)
    if ahead is None or behind is None:
        raise OfframpError("clocks cannot be compared: expected messages in both directions")
    if ahead + behind < 0:
        raise OfframpError("clocks cannot be compared: messages came before they left")
    return (ahead - behind) / 2, (ahead + behind) / 2


def pieces(moments: Iterable[HopMoment], begun_ns: int, ended_ns: int, first: str) -> list[tuple[str, int, int, Any]]:
    """Cut the time of a request into pieces without gaps: who had it, from when, until when, and details.

    Args:
        moments: on one clock; those outside of the request are left out.
        begun_ns: when the request began.
        ended_ns: when it ended.
        first: who has it at the beginning.
    """
    inside = sorted((each for each in moments if begun_ns <= each.at_ns < ended_ns), key=lambda each: each.at_ns)
    steps = [HopMoment(begun_ns, first), *inside]
    ends = [*(each.at_ns for each in inside), ended_ns]
    return [(step.where, step.at_ns, end, step.note) for step, end in zip(steps, ends, strict=True)]


def chrome_trace(cut: Sequence[tuple[str, int, int, Any]], places: Sequence[str], name: str) -> dict[str, Any]:
    """A request as a trace for Perfetto or Chrome (Trace Event Format), with a row for each of ``places``."""
    zero = cut[0][1]
    events: list[dict[str, Any]] = [{"ph": "M", "name": "process_name", "pid": 0, "args": {"name": name}}]
    for number, place in enumerate(places):
        events.append({"ph": "M", "name": "thread_name", "pid": 0, "tid": number, "args": {"name": place}})
        events.append({"ph": "M", "name": "thread_sort_index", "pid": 0, "tid": number, "args": {"sort_index": number}})
    for where, begin, end, note in cut:
        times = {"ts": (begin - zero) / 1e3, "dur": (end - begin) / 1e3}
        events.append({"ph": "X", "name": where, "pid": 0, "tid": places.index(where), **times, "args": dict(note)})
    return {"traceEvents": events, "displayTimeUnit": "ns"}
