# SPDX-License-Identifier: Apache-2.0
"""What every target is told: which DSCP goes into which queue, and from what length on a queue is marked."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from offramp.hermod.dscp import Codec
from offramp.hermod.job_file import load_job
from offramp.hermod.plan_file import plan_document, read_plan
from offramp.hermod.queues import CONTROL, MOST_QUEUES, plan_queues
from offramp_base.errors import OfframpError


@dataclass(frozen=True, slots=True)
class DeployPlan:
    """A queue plan without what its priorities mean to the job.

    Attributes:
        queues: queue of each DSCP of the job and of control traffic; the highest goes first.
        count: queues that a target needs.
        other: queue of all other DSCPs.
        urgent: queue of frames without DSCP, such as ARP.
        ecn_bytes: by queue, the bytes above which it is marked.
        priorities: rows of the plan's file, which say what each DSCP stands for.
    """

    queues: Mapping[int, int]
    count: int
    other: int = 0
    urgent: int = 0
    ecn_bytes: Mapping[int, int] = field(default_factory=dict)
    priorities: tuple[Mapping[str, Any], ...] = ()

    def __post_init__(self) -> None:
        for queue, threshold in self.ecn_bytes.items():
            if not 0 <= queue < self.count:
                raise OfframpError(f"ECN of queue {queue}: expected 0 to {self.count - 1}")
            if threshold < 1:
                raise OfframpError(f"ECN of queue {queue}: {threshold} bytes, expected 1 up")

    def dscps_of(self, queue: int) -> list[int]:
        """The DSCPs of a queue, ascending."""
        return sorted(dscp for dscp, own in self.queues.items() if own == queue)


def plan_of(document: Mapping[str, Any], ecn_bytes: Mapping[int, int] | None = None) -> DeployPlan:
    """Make a plan from what ``offramp coflow plan --json`` writes, checked already."""
    used = [row["dscp"] for row in document["priorities"]] + list(document["control"])
    queues = {dscp: document["dscp_to_queue"][dscp] for dscp in sorted(used)}
    highest = max(queues.values())
    rows = tuple(document["priorities"])
    return DeployPlan(queues, document["queues"], 0, highest, dict(ecn_bytes or {}), rows)


def load_plan(
    source: str,
    queues: int | None = None,
    *,
    classes: int | None = None,
    control: Collection[int] = CONTROL,
    scheme: str = "split",
    ecn_bytes: Mapping[int, int] | None = None,
) -> DeployPlan:
    """A plan's file (``.json``), or a job, which is planned with the other arguments.

    Args:
        source: as ``offramp coflow plan`` takes and writes it.
        queues: what the switch has; None: 8, or what the plan's file says.
        classes: as the next two in :func:`~offramp.hermod.queues.plan_queues`; of jobs only.
        control: DSCPs that are kept free.
        scheme: code points to queues.
        ecn_bytes: by queue.

    Raises:
        OfframpError: a fault in the file, or more classes than the switch has queues.
    """
    if Path(source).suffix == ".json":
        document = read_plan(Path(source))
        if queues is not None and document["queues"] > queues:
            raise OfframpError(f"plan {source}: needs {document['queues']} queues, the switch has {queues}")
        return plan_of(document, ecn_bytes)
    job = load_job(source)
    codec = Codec(job.micro_batches, job.model.layers, job.interleaved)
    count = MOST_QUEUES if queues is None else queues
    return plan_of(
        plan_document(job.as_json(), codec, count, plan_queues(codec, count, classes, control, scheme)), ecn_bytes
    )
