# SPDX-License-Identifier: Apache-2.0
"""One run of a scenario: the ranks, the switch between them, and what was measured."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from offramp_base.ending.left import temporary_folder
from offramp_base.errors import OfframpError
from offramp_sim.hermod.lab.namespace import require
from offramp_sim.hermod.lab.rank import Place, priorities, rank_work
from offramp_sim.hermod.lab.scenario import KINDS, Scenario
from offramp_sim.hermod.lab.switch import LabSwitch


@dataclass(frozen=True, slots=True)
class LabResult:
    """What was measured.

    Attributes:
        scenario: of the run.
        start_s, end_s: of each coflow, from its first rank's start to its last rank's end.
        dscp, queue: of each coflow.
        sent: packets and bytes by port and queue, as the P4 program counts them.
        queues: rows of the traffic manager's own counts.
        host_bytes: by DSCP, as the endpoints of all ranks count what they hand to the kernel.
    """

    scenario: Scenario
    start_s: dict[str, float]
    end_s: dict[str, float]
    dscp: dict[str, int]
    queue: dict[str, int]
    sent: dict[tuple[int, int], tuple[int, int]]
    queues: list[dict[str, int]]
    host_bytes: dict[int, int]

    def seconds(self, kind: str) -> float:
        """How long a coflow took."""
        return self.end_s[kind] - self.start_s[kind]

    def bytes_of(self, queue: int) -> int:
        """What left all ports from a queue."""
        return sum(count for (_, q), (_, count) in self.sent.items() if q == queue)

    def as_json(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "priorities": self.scenario.priorities,
            "coflows": [
                {
                    "coflow": kind,
                    "dscp": self.dscp[kind],
                    "queue": self.queue[kind],
                    "start_s": self.start_s[kind],
                    "end_s": self.end_s[kind],
                    "seconds": self.seconds(kind),
                }
                for kind in KINDS
            ],
            "switch_counters": [
                {"port": port, "queue": queue, "packets": packets, "bytes": count}
                for (port, queue), (packets, count) in self.sent.items()
                if packets
            ],
            "switch_queues": self.queues,
            "host_bytes_by_dscp": self.host_bytes,
        }


def measure(scenario: Scenario) -> LabResult:
    """Run a scenario in namespaces on this machine.

    Raises:
        OfframpError: no right to make namespaces, no PyTorch, something failed, or bytes arrived wrong.
    """
    require()
    if find_spec("torch") is None:
        raise OfframpError("coflows of processes need the package torch: pip install 'offramp[gnn]'")
    from offramp.workers.processes import run_workers

    marks = priorities(scenario)
    with temporary_folder() as folder, LabSwitch(scenario, marks, Path(folder)) as switch:
        place = Place(scenario, str(Path(folder) / "ready"))

        def hear(news: tuple[int, int]) -> None:
            rank, thread = news
            if switch.connect(rank, thread):
                Path(place.ready).touch()

        ranks = run_workers(rank_work, [place] * scenario.ranks, hear)
        sent, queues = switch.counters(), switch.queues()
    wrong = [fault for rank in ranks for fault in rank.wrong]
    if wrong:
        raise OfframpError(f"coflows arrived with other contents: {', '.join(wrong)}")
    dscp = {kind: marks.mark(scenario.factors(kind)).dscp for kind in KINDS}
    plan = marks.plan
    host_bytes: dict[int, int] = {}
    for rank in ranks:
        for value, count in rank.sent.items():
            host_bytes[value] = host_bytes.get(value, 0) + count
    return LabResult(
        scenario,
        {kind: min(rank.spans[kind][0] for rank in ranks) for kind in KINDS},
        {kind: max(rank.spans[kind][1] for rank in ranks) for kind in KINDS},
        dscp,
        {kind: plan.queue[dscp[kind]] if plan else 0 for kind in KINDS},
        sent,
        queues,
        host_bytes,
    )
