# SPDX-License-Identifier: Apache-2.0
"""Diagnosis of a failed collective: which ranks are missing, and which did something else.

A rank that sees a failure writes what it was doing to the group's store and reads what the others wrote. Nothing is
written or compared while all goes well.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any, Final

from offramp.torch.agreement import POINT_TO_POINT, described
from offramp.torch.types import dtype_name

if TYPE_CHECKING:
    from offramp.torch.place import OffloadGroup

GRACE_S: Final = 1.0
"""Seconds for which a rank waits for others that fail at the same time."""
_MOST: Final = 2048


def diagnose(place: OffloadGroup, record: Any, what: str, done: int = 0) -> str:
    """One line: the collective, this rank, what the others were doing, and the library's message ``what``.

    Args:
        place: the group.
        record: record of the failed call; a message concerns two ranks, so of its failure nobody else is accused.
        what: the library's message.
        done: number of the latest collective that succeeded here: others' failures up to it are of earlier calls.
    """
    head = f"{record.kind} {record.number} on rank {place.rank} of group {place.name}"
    if record.kind in POINT_TO_POINT:
        return f"{head}: {' '.join(what.split())}"
    doing = said(record)
    try:
        others = _others(place, {"number": record.number, "doing": doing}, done)
    except Exception:  # the store has ended with the rank that served it
        return f"{head}: {' '.join(what.split())}"
    missing = [rank for rank in range(place.size) if rank != place.rank and rank not in others]
    differ = [rank for rank, row in others.items() if (row["number"], row["doing"]) != (record.number, doing)]
    causes = []
    if missing:
        ranks = "ranks " + ", ".join(map(str, missing)) if len(missing) > 1 else f"rank {missing[0]}"
        rooted = record.peer >= 0  # of those a rank may have done its part
        causes.append(f"{ranks} did not take part{' or finished before' if rooted else ''}")
    causes += [f"rank {k} does {others[k]['doing']} (number {others[k]['number']}), this rank {doing}" for k in differ]
    return f"{head}: {'; '.join([*causes, ' '.join(what.split())])}"


def said(record: Any) -> str:
    """A record in the words with which ranks compare."""
    return described(
        record.kind,
        record.form,
        dtype_name(record.dtype),
        record.shape,
        record.reduce,
        record.peer,
    )


def _others(place: OffloadGroup, mine: dict[str, Any], done: int) -> dict[int, dict[str, Any]]:
    """Records that other failed ranks wrote, by rank: of the same call, else their latest one after ``done``."""
    number = mine["number"]
    for key in (_key(place.rank, number), _key(place.rank)):
        place.store.set(key, json.dumps(mine))
    others: dict[int, dict[str, Any]] = {}
    end = time.monotonic() + min(GRACE_S, place.timeout.total_seconds())
    while len(others) < place.size - 1 and time.monotonic() < end:
        for rank in range(place.size):
            if rank != place.rank and rank not in others and (row := _read(place.store, _key(rank, number))):
                others[rank] = row
        time.sleep(0.02)
    for rank in range(place.size):
        row = None if rank == place.rank or rank in others else _read(place.store, _key(rank))
        if row is not None and row["number"] > done:
            others[rank] = row
    return others


def _read(store: Any, key: str) -> dict[str, Any] | None:
    if not store.check([key]):
        return None
    row = json.loads(store.get(key)[:_MOST])
    return {"number": int(row["number"]), "doing": str(row["doing"])[:200]}


def _key(rank: int, number: int | None = None) -> str:
    """The store's key of a rank's failure: of a collective, or its latest."""
    return f"offramp/failed/{rank}" + ("" if number is None else f"/{number}")
