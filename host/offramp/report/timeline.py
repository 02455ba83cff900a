# SPDX-License-Identifier: Apache-2.0
"""The timeline of one step, drawn from a file in Chrome's trace format (Trace Event Format, "X" events)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from statistics import median_low
from typing import Any, Final

from offramp.report.rows import axis, share, strip, table_of
from offramp.report.times import PARTS
from offramp.report.units import duration, nice_ticks
from offramp_base.documents import parse_json, read_text
from offramp_base.errors import OfframpError

_MOST_BYTES: Final = 64 << 20
_MOST_EVENTS: Final = 600
_MOST_ROWS: Final = 24
_LANE: Final = 22
_STEP: Final = re.compile(r"(?:step|epoch)\b", re.IGNORECASE)
_TICKS: Final = 4
Track = tuple[str, str]


@dataclass(frozen=True)
class _Event:
    name: str
    track: Track
    begin: float
    end: float
    part: str

    @property
    def seconds(self) -> float:
        return (self.end - self.begin) / 1e6


def timeline(path: Path) -> str:
    """The events of one representative step, a row for each rank and track.

    Of several steps it is the one of median duration. Of more than 600 events the longest are drawn, of more than 24
    rows the first; a line below says so.

    Raises:
        OfframpError: the file cannot be read, or holds no event with a duration.
    """
    events, names = _read(path)
    left_out = []
    window = _window(events)
    events = [each for each in events if each.end > window[0] and each.begin < window[1]]
    tracks = list(dict.fromkeys(each.track for each in sorted(events, key=lambda each: each.track)))
    if len(tracks) > _MOST_ROWS:
        left_out.append(f"{len(tracks) - _MOST_ROWS} rows")
        tracks = tracks[:_MOST_ROWS]
        events = [each for each in events if each.track in set(tracks)]
    if len(events) > _MOST_EVENTS:
        left_out.append(f"the {len(events) - _MOST_EVENTS} shortest events")
        events = sorted(events, key=lambda each: each.begin - each.end)[:_MOST_EVENTS]
    ticks = nice_ticks(0.0, (window[1] - window[0]) / 1e6, _TICKS)
    rows = []
    for track in tracks:
        mine = [each for each in events if each.track == track]
        rows.append((escape(names.get(track, " ".join(track))), _row(mine, window[0], ticks[-1], track), ""))
    rows.append(("", axis(ticks, duration), ""))
    below = f'<p class="note">Left out: {" and ".join(left_out)}; the file has them.</p>' if left_out else ""
    return f'<div class="timeline">{table_of(rows)}</div>{below}'


def _read(path: Path) -> tuple[list[_Event], dict[Track, str]]:
    """Events with a duration, and names of the tracks.

    Raises:
        OfframpError: as :func:`timeline`.
    """
    data = parse_json(read_text(path, _MOST_BYTES))
    rows = data.get("traceEvents") if isinstance(data, dict) else data
    events, processes, threads = [], dict[str, str](), dict[Track, str]()
    for row in rows if isinstance(rows, list) else []:
        if not isinstance(row, dict):
            continue
        track = str(row.get("pid", "")), str(row.get("tid", ""))
        if row.get("ph") == "M" and isinstance(row.get("args"), dict) and "name" in row["args"]:
            name = str(row["args"]["name"])
            if row.get("name") == "process_name":
                processes[track[0]] = name
            elif row.get("name") == "thread_name":
                threads[track] = name
        elif row.get("ph") == "X" and (event := _event(row, track)) is not None:
            events.append(event)
    if not events:
        raise OfframpError(f"{path}: expected events of Chrome's trace format with a duration (ph X)")
    tracks = {each.track for each in events}
    several = {pid for pid, _ in tracks if sum(other == pid for other, _ in tracks) > 1}
    names = {}
    for pid, tid in tracks:
        process = processes.get(pid, f"process {pid}" if pid else "")
        thread = threads.get((pid, tid), f"track {tid}" if pid in several else "")
        names[pid, tid] = ", ".join(each for each in (process, thread) if each)
    return events, names


def _event(row: Mapping[str, Any], track: Track) -> _Event | None:
    try:
        begin, length = float(row["ts"]), float(row.get("dur", 0.0))
    except (KeyError, TypeError, ValueError):
        return None
    if not (length >= 0 and abs(begin) < 1e18 and length < 1e15):
        return None
    category = str(row.get("cat", "")).split(",")[0]
    return _Event(str(row.get("name", "")), track, begin, begin + length, category if category in PARTS else "")


def _window(events: Sequence[_Event]) -> tuple[float, float]:
    """Begin and end of the step that is drawn; of all events if none is a step."""
    first = min(each.track for each in events)
    steps = [each for each in events if each.track == first and _STEP.match(each.name)]
    if not steps:
        return min(each.begin for each in events), max(each.end for each in events)
    length = median_low([each.end - each.begin for each in steps])
    chosen = next(each for each in steps if each.end - each.begin == length)
    same = [each for each in events if each.name == chosen.name and _near(each, chosen)]  # on the other ranks
    return min(each.begin for each in same), max(each.end for each in same)


def _near(event: _Event, other: _Event) -> bool:
    return event.begin < other.end and other.begin < event.end


def _row(events: Sequence[_Event], zero: float, top: float, track: Track) -> str:
    """The events of a track; those that lie within others are drawn below them."""
    ends: list[float] = []
    drawn = []
    for each in sorted(events, key=lambda each: (each.begin, -each.end)):
        lane = next((k for k, end in enumerate(ends) if end <= each.begin), len(ends))
        ends[lane:] = [each.end, *ends[lane + 1 :]]
        drawn.append(_box(each, zero, top, lane))
    return strip("".join(drawn), f"{len(events)} events of {' '.join(track)}", _LANE * max(1, len(ends)))


def _box(event: _Event, zero: float, top: float, lane: int) -> str:
    begin, end = max(0.0, (event.begin - zero) / 1e6), min(top, (event.end - zero) / 1e6)
    fill = f' fill="url(#part-{event.part})"' if event.part else ""
    place = f'x="{share(begin, top)}" width="{share(max(0.0, end - begin), top)}" y="{lane * _LANE + 1}"'
    title = f"{event.name}: {duration(event.seconds)}" + (f", {event.part}" if event.part else "")
    return (
        f'<svg {place} height="{_LANE - 2}"><title>{escape(title)}</title>'
        f'<rect class="event"{fill} width="100%" height="100%" rx="2"/>'
        f'<text x="4" y="14.5">{escape(event.name)}</text></svg>'
    )
