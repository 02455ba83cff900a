# SPDX-License-Identifier: Apache-2.0
"""A queue plan as ``offramp hermod plan --json`` writes it, and plans from such files or from jobs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from offramp.hermod.dscp import CODES, DscpCodec, Meaning
from offramp.hermod.factors import CType
from offramp.hermod.job_file import load_job
from offramp.hermod.queues import CONTROL, MOST_QUEUES, Priority, QueuePlan, plan_queues
from offramp_base.documents import parse_json, read_text
from offramp_base.errors import OfframpError

Document = dict[str, Any]
SCHEMA: Final = "offramp.hermod.plan/1"
_MOST: Final = 1 << 20
"""Largest number of a microbatch or layer."""


def load_plan(
    source: str,
    queues: int | None = None,
    *,
    classes: int | None = None,
    control: Collection[int] = CONTROL,
    scheme: str = "split",
    apart: bool = False,
    ecn_bytes: Mapping[int, int] | None = None,
) -> QueuePlan:
    """A plan's file (``.json``), or a job, which is planned with the other arguments.

    Args:
        source: file or job, as ``offramp hermod plan`` writes and takes it.
        queues: number of the switch's queues; None: 8, or what the plan's file says.
        classes: number of queues for data; this and the next three count for jobs only, as in
            :func:`~offramp.hermod.queues.plan_queues`.
        control: DSCPs kept free.
        scheme: mapping of code points to queues.
        apart: whether queue 0 is left to other traffic.
        ecn_bytes: threshold of each queue.

    Raises:
        OfframpError: a fault in the file, or more classes than the switch has queues.
    """
    if Path(source).suffix == ".json":
        return read_plan(Path(source), queues, ecn_bytes)
    job = load_job(source)
    codec = DscpCodec(job.micro_batches, job.model.layers, job.interleaved)
    count = MOST_QUEUES if queues is None else queues
    return plan_queues(codec, count, classes, control, scheme, apart=apart, ecn_bytes=ecn_bytes, job=job.as_json())


def read_plan(path: Path, queues: int | None = None, ecn_bytes: Mapping[int, int] | None = None) -> QueuePlan:
    """A plan from its file, for a switch with ``queues`` queues (None: any number).

    Raises:
        OfframpError: the file cannot be read, a field is missing or wrong, or the switch has too few queues.
    """
    try:
        plan = plan_from(parse_json(read_text(path)), ecn_bytes)
    except OfframpError as error:
        raise OfframpError(f"plan {path}: {error}") from None
    if queues is not None and plan.count > queues:
        raise OfframpError(f"plan {path}: needs {plan.count} queues, the switch has {queues}")
    return plan


def plan_document(plan: QueuePlan) -> Document:
    """The content of a plan's file, without its schema."""
    return {
        "job": dict(plan.job),
        "queues": plan.count,
        "classes": plan.classes,
        "control": sorted(plan.control),
        "priorities": [_row(priority) for priority in plan.priorities],
        "dscp_to_queue": list(plan.queue),
    }


def plan_from(document: Any, ecn_bytes: Mapping[int, int] | None = None) -> QueuePlan:
    """The plan of a document.

    Raises:
        OfframpError: the first field that is missing or wrong.
    """
    if not isinstance(document, dict):
        raise OfframpError("expected an object, as offramp hermod plan writes it")
    queues = _number("queues", document.get("queues"), 1, MOST_QUEUES)
    by_dscp = _numbers("dscp_to_queue", document.get("dscp_to_queue"), queues - 1)
    if len(by_dscp) != CODES:
        raise OfframpError(f"dscp_to_queue: {len(by_dscp)} queues, expected one for each of {CODES} DSCPs")
    control = frozenset(_numbers("control", document.get("control"), CODES - 1))
    rows = document.get("priorities")
    if not isinstance(rows, list) or not rows:
        raise OfframpError("priorities: expected a list of them")
    priorities: dict[tuple[int, int], Priority] = {}  # priorities of one queue may share a DSCP
    for row in rows:
        priority = _priority(row, by_dscp)
        if (priority.dscp, priority.code) in priorities:
            raise OfframpError(f"priorities: DSCP {priority.dscp} is given twice")
        priorities[priority.dscp, priority.code] = priority
    used = {priority.queue for priority in priorities.values()}
    classes = _number("classes", document.get("classes", len(used)), 1, queues)
    job = document.get("job", {})
    if not isinstance(job, dict):
        raise OfframpError(f"job {job!r}: expected an object")
    every = tuple(priorities.values())
    return QueuePlan(every, tuple(by_dscp), classes, control, queues, min(used), dict(ecn_bytes or {}), job)


def _row(priority: Priority) -> Document:
    row: Document = {"code": priority.code, "dscp": priority.dscp, "queue": priority.queue}
    if priority.meaning is not None:
        mids, types, layers = priority.meaning.mids, priority.meaning.ctypes, priority.meaning.lids
        row |= {"micro_batches": list(mids), "types": [each.name for each in types], "layers": list(layers)}
    return row if priority.tenant is None else {**row, "tenant": priority.tenant}


def _priority(row: Any, by_dscp: Sequence[int]) -> Priority:
    if not isinstance(row, dict):
        row = {}
    dscp = _number("priorities: DSCP", row.get("dscp"), 0, CODES - 1)
    code = _number("priorities: code", row.get("code", 0), 0, CODES - 1)
    if row.get("queue") != by_dscp[dscp]:
        raise OfframpError(f"priorities: DSCP {dscp} in queue {row.get('queue')}, in dscp_to_queue {by_dscp[dscp]}")
    tenant = row.get("tenant")
    return Priority(code, dscp, by_dscp[dscp], _meaning(dscp, row), None if tenant is None else str(tenant))


def _meaning(dscp: int, row: Document) -> Meaning | None:
    """What a row says of its coflows; None if it leaves something out."""
    at = f"priorities: DSCP {dscp}:"
    types = row.get("types", [])
    if not isinstance(types, list) or not all(isinstance(name, str) and name in CType.__members__ for name in types):
        raise OfframpError(f"{at} types {types}: expected a list of {', '.join(CType.__members__)}")
    mids, lids = (_numbers(f"{at} {name}", row.get(name, []), _MOST) for name in ("micro_batches", "layers"))
    if not (mids and types and lids):
        return None
    return Meaning((min(mids), max(mids)), tuple(CType[name] for name in types), (min(lids), max(lids)))


def _numbers(name: str, values: Any, most: int) -> list[int]:
    if not isinstance(values, list):
        raise OfframpError(f"{name}: expected a list of numbers")
    return [_number(f"{name}:", value, 0, most) for value in values]


def _number(what: str, value: Any, least: int, most: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise OfframpError(f"{what} {value}: expected {least} to {most}")
    return value
