# SPDX-License-Identifier: Apache-2.0
"""The plan that every target installs: the queue of each DSCP, and the queue length from which packets are marked."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from offramp.hermod.dscp import CODES, Codec
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
        document: the plan's file.
    """

    queues: Mapping[int, int]
    count: int
    other: int = 0
    urgent: int = 0
    ecn_bytes: Mapping[int, int] = field(default_factory=dict)
    priorities: tuple[Mapping[str, Any], ...] = ()
    document: Mapping[str, Any] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        for queue, threshold in self.ecn_bytes.items():
            if not 0 <= queue < self.count:
                raise OfframpError(f"ECN of queue {queue}: expected 0 to {self.count - 1}")
            if threshold < 1:
                raise OfframpError(f"ECN of queue {queue}: {threshold} bytes, expected 1 up")

    def dscps_of(self, queue: int) -> list[int]:
        """The DSCPs of a queue, ascending."""
        return sorted(dscp for dscp, own in self.queues.items() if own == queue)

    def carried_by(self, moved: Mapping[int, int]) -> DeployPlan:
        """The plan whose packets carry other DSCPs.

        Args:
            moved: what they carry instead, by the DSCP of the plan; control DSCPs are not of its packets. What shares
                the DSCP of another queue goes there.
        """
        own = {row["dscp"]: row["queue"] for row in self.priorities}
        queues = {dscp: queue for dscp, queue in self.queues.items() if dscp not in moved}
        for dscp, new in moved.items():
            queues.setdefault(new, own[dscp])
        rows = tuple(
            {**row, "dscp": new, "queue": queues[new]}
            for row, new in ((row, moved.get(row["dscp"], row["dscp"])) for row in self.priorities)
        )
        document = {**self.document, "priorities": list(rows)}
        if "dscp_to_queue" in document:
            document["dscp_to_queue"] = [queues.get(dscp, self.other) for dscp in range(CODES)]
        return replace(self, queues=queues, priorities=rows, document=document)


def plan_of(document: Mapping[str, Any], ecn_bytes: Mapping[int, int] | None = None) -> DeployPlan:
    """Make a plan from what ``offramp hermod plan --json`` writes, checked already."""
    used = [row["dscp"] for row in document["priorities"]] + list(document["control"])
    queues = {dscp: document["dscp_to_queue"][dscp] for dscp in sorted(used)}
    highest = max(queues.values())
    rows = tuple(document["priorities"])
    told = {name: value for name, value in document.items() if name != "schema"}
    return DeployPlan(queues, document["queues"], 0, highest, dict(ecn_bytes or {}), rows, told)


def load_plan(
    source: str,
    queues: int | None = None,
    *,
    classes: int | None = None,
    control: Collection[int] = CONTROL,
    scheme: str = "split",
    apart: bool = False,
    ecn_bytes: Mapping[int, int] | None = None,
) -> DeployPlan:
    """A plan's file (``.json``), or a job, which is planned with the other arguments.

    Args:
        source: as ``offramp hermod plan`` takes and writes it.
        queues: what the switch has; None: 8, or what the plan's file says.
        classes: as the next two in :func:`~offramp.hermod.queues.plan_queues`; of jobs only.
        control: DSCPs that are kept free.
        scheme: code points to queues.
        apart: the same.
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
    made = plan_queues(codec, count, classes, control, scheme, apart=apart)
    return plan_of(plan_document(job.as_json(), codec, count, made), ecn_bytes)
