# SPDX-License-Identifier: Apache-2.0
"""A queue plan as ``offramp hermod plan --json`` writes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from offramp.hermod.dscp import CODES, Codec
from offramp.hermod.queues import MOST_QUEUES, QueuePlan
from offramp_base.documents import parse_json, read_text
from offramp_base.errors import OfframpError

Document = dict[str, Any]
SCHEMA = "offramp.hermod.plan/1"


def plan_document(job: Mapping[str, Any], codec: Codec, queues: int, plan: QueuePlan) -> Document:
    """The plan for a switch with ``queues`` queues, with what each priority stands for; ``job``: what it describes."""
    rows = []
    for code, dscp in plan.dscp.items():
        meaning = codec.meanings[code]
        rows.append(
            {
                "code": code,
                "dscp": dscp,
                "queue": plan.queue[dscp],
                "micro_batches": list(meaning.mids),
                "types": [t.name for t in meaning.ctypes],
                "layers": list(meaning.lids),
            }
        )
    return {
        "job": dict(job),
        "queues": queues,
        "classes": plan.classes,
        "control": sorted(plan.control),
        "priorities": rows,
        "dscp_to_queue": list(plan.queue),
    }


def read_plan(path: Path) -> Document:
    """A plan from its file.

    Raises:
        OfframpError: it cannot be read, or a field is missing or wrong.
    """
    try:
        document = parse_json(read_text(path))
        check_plan(document)
    except OfframpError as error:
        raise OfframpError(f"plan {path}: {error}") from None
    return dict(document)


def check_plan(document: Any) -> None:
    """Whether every field that a deployment needs is there and in range.

    Raises:
        OfframpError: the first that is not.
    """
    if not isinstance(document, dict):
        raise OfframpError("expected an object, as offramp hermod plan writes it")
    queues = _number("queues", document.get("queues"), 1, MOST_QUEUES)
    by_dscp = _numbers(document, "dscp_to_queue", queues - 1)
    if len(by_dscp) != CODES:
        raise OfframpError(f"dscp_to_queue: {len(by_dscp)} queues, expected one for each of {CODES} DSCPs")
    _numbers(document, "control", CODES - 1)
    rows = document.get("priorities")
    if not isinstance(rows, list) or not rows:
        raise OfframpError("priorities: expected a list of them")
    seen = set()
    for row in rows:
        dscp = _number("priorities: DSCP", row.get("dscp") if isinstance(row, dict) else None, 0, CODES - 1)
        code = _number("priorities: code", row.get("code", 0), 0, CODES - 1)
        if (dscp, code) in seen:  # priorities of one queue may share a DSCP
            raise OfframpError(f"priorities: DSCP {dscp} is given twice")
        if row.get("queue") != by_dscp[dscp]:
            raise OfframpError(f"priorities: DSCP {dscp} in queue {row.get('queue')}, in dscp_to_queue {by_dscp[dscp]}")
        seen.add((dscp, code))


def _numbers(document: Document, name: str, most: int) -> Sequence[int]:
    values = document.get(name)
    if not isinstance(values, list):
        raise OfframpError(f"{name}: expected a list of numbers")
    return [_number(f"{name}:", value, 0, most) for value in values]


def _number(what: str, value: Any, least: int, most: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise OfframpError(f"{what} {value}: expected {least} to {most}")
    return value
