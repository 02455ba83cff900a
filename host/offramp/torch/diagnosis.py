# SPDX-License-Identifier: Apache-2.0
"""Diagnosis of a failed collective: which ranks are missing, and which did something else.

A rank that sees a failure writes what it was doing to the group's store and reads what the others wrote. Nothing is
written or compared while all goes well.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any, Final

from offramp.torch.agreement import described
from offramp.torch.types import DTYPES

if TYPE_CHECKING:
    from offramp.torch.place import OffloadGroup

GRACE_S: Final = 1.0
"""Seconds for which a rank waits for others that fail at the same time."""
_MOST: Final = 2048


def diagnose(place: OffloadGroup, record: Any, what: str) -> str:
    """One line: the collective, this rank, what the others were doing, and the library's message ``what``."""
    head = f"{record.kind} {record.number} on rank {place.rank} of group {place.name}"
    doing = said(record)
    try:
        others = _others(place, {"number": record.number, "doing": doing})
    except Exception:  # the store has ended with the rank that served it
        return f"{head}: {' '.join(what.split())}"
    missing = [rank for rank in range(place.size) if rank != place.rank and rank not in others]
    differ = [rank for rank, row in others.items() if (row["number"], row["doing"]) != (record.number, doing)]
    causes = []
    if missing:
        ranks = "ranks " + ", ".join(map(str, missing)) if len(missing) > 1 else f"rank {missing[0]}"
        causes.append(f"{ranks} did not take part")
    causes += [f"rank {k} does {others[k]['doing']} (number {others[k]['number']}), this rank {doing}" for k in differ]
    return f"{head}: {'; '.join([*causes, ' '.join(what.split())])}"


def said(record: Any) -> str:
    """A record in the words with which ranks compare."""
    return described(
        record.kind,
        record.form,
        str(DTYPES.get(record.dtype, "nothing")).removeprefix("torch."),
        record.shape,
        record.reduce,
        record.peer,
    )


def _others(place: OffloadGroup, mine: dict[str, Any]) -> dict[int, dict[str, Any]]:
    """Records that other failed ranks wrote, by rank."""
    place.store.set(_key(place.rank), json.dumps(mine))
    others: dict[int, dict[str, Any]] = {}
    end = time.monotonic() + min(GRACE_S, place.timeout.total_seconds())
    while len(others) < place.size - 1 and time.monotonic() < end:
        for rank in range(place.size):
            if rank != place.rank and rank not in others and place.store.check([_key(rank)]):
                row = json.loads(place.store.get(_key(rank))[:_MOST])
                others[rank] = {"number": int(row["number"]), "doing": str(row["doing"])[:200]}
        time.sleep(0.02)
    return others


def _key(rank: int) -> str:
    return f"offramp/failed/{rank}"
