# SPDX-License-Identifier: Apache-2.0
"""The latest collectives of a group as data: for a dump after a failure, and for users."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from offramp_base.errors import OfframpError

if TYPE_CHECKING:
    from offramp.torch.dispatcher import BackendDispatcher

SCHEMA = "offramp.torch.collectives/1"


def rows(recorder: Any) -> list[dict[str, Any]]:
    """The latest collectives, the oldest first; ``seconds`` is null for those not finished."""
    return [
        {
            "number": r.number,
            "kind": r.kind,
            "form": r.form,
            "dtype": r.dtype.lower(),
            "shape": r.shape,
            "bytes": r.bytes,
            "reduce": r.reduce,
            "peer": r.peer,
            "by": r.route,
            "started": r.started,
            "seconds": r.seconds if r.seconds >= 0 else None,
            "error": r.error,
        }
        for r in recorder.entries()
    ]


def totals(recorder: Any) -> dict[str, dict[str, dict[str, int]]]:
    """Calls, bytes and failures of finished collectives, by who ran them and kind."""
    out: dict[str, dict[str, dict[str, int]]] = {}
    for (route, kind), total in recorder.totals().items():
        out.setdefault(route, {})[kind] = {"calls": total.calls, "bytes": total.bytes, "failed": total.failed}
    return out


def dumped(dispatcher: BackendDispatcher, reason: str, stack: Sequence[str] = ()) -> dict[str, Any]:
    """A group's latest collectives, with rank and reason; ``stack``: the program's stack, the innermost call first."""
    place = dispatcher.place
    return {
        "schema": SCHEMA,
        "reason": reason,
        "stack": list(stack),
        "time": time.time(),
        "rank": place.rank,
        "size": place.size,
        "group": place.name,
        "description": dispatcher.desc,
        "counters": totals(dispatcher.recorder),
        "collectives": rows(dispatcher.recorder),
    }


def write_dump(folder: Path, dispatcher: BackendDispatcher, reason: str, stack: Sequence[str] = ()) -> Path:
    """Write ``GROUP-rankN.json`` into a folder, replacing an older file.

    Raises:
        OfframpError: the file cannot be written.
    """
    name = "".join(c if c.isalnum() else "-" for c in dispatcher.place.name) or "default"
    path = folder / f"{name}-rank{dispatcher.place.rank}.json"
    unfinished = path.with_suffix(f".{threading.get_native_id()}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        unfinished.write_text(json.dumps(dumped(dispatcher, reason, stack), indent=1), encoding="utf-8")
        unfinished.replace(path)
    except OSError as error:
        raise OfframpError(f"dump {path}: {error.strerror or error}") from None
    return path
