# SPDX-License-Identifier: Apache-2.0
"""One run of a scenario: the ranks, the switch between them, and what was measured."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from offramp.hermod.dscp import CODES
from offramp.hermod.queues import CONTROL
from offramp_base.ending.left import temporary_folder
from offramp_base.errors import OfframpError
from offramp_sim.hermod.lab.abuser import Abuser, Signals
from offramp_sim.hermod.lab.rank import RankInstructions, priorities, rank_work
from offramp_sim.hermod.lab.scenario import KINDS, Abuse, LabScenario
from offramp_sim.hermod.lab.switch import LabSwitch

_TIMES: Final = 3
"""Duration of the abuse of a job's DSCPs, as a multiple of the duration of the job alone."""


@dataclass(frozen=True, slots=True)
class LabResult:
    """Measurements of one run in the laboratory.

    Attributes:
        scenario: scenario of the run.
        start_s, end_s: first rank's start and last rank's end of each coflow of the first round.
        rounds: seconds of each coflow in each round.
        rank_bytes: what each rank's endpoint handed to the kernel.
        dscp, queue: DSCP and queue of each coflow.
        sent: packets and bytes by port and queue, as the P4 program counts them.
        queues: rows of the traffic manager's own counts.
        host_bytes: bytes by DSCP, as the endpoints of all ranks count what they hand to the kernel.
        abused: frames that the abuser sent.
        demoted: frames of both that became best effort: they arrived at others' ports, or exceeded a limit.
    """

    scenario: LabScenario
    start_s: dict[str, float]
    end_s: dict[str, float]
    dscp: dict[str, int]
    queue: dict[str, int]
    sent: dict[tuple[int, int], tuple[int, int]]
    queues: list[dict[str, int]]
    host_bytes: dict[int, int]
    abused: int = 0
    demoted: int = 0
    rounds: tuple[dict[str, float], ...] = ()
    rank_bytes: tuple[int, ...] = ()

    @property
    def end(self) -> float:
        """The time at which the last coflow ended, in seconds."""
        return max(self.end_s.values())

    def seconds(self, kind: str) -> float:
        """The duration of a coflow, in seconds."""
        return self.end_s[kind] - self.start_s[kind]

    def bytes_of(self, queue: int) -> int:
        """Bytes that left all ports from a queue."""
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
            "rounds": list(self.rounds),
            "switch_counters": [
                {"port": port, "queue": queue, "packets": packets, "bytes": count}
                for (port, queue), (packets, count) in self.sent.items()
                if packets
            ],
            "switch_queues": self.queues,
            "host_bytes_by_dscp": self.host_bytes,
            "abuse": None if self.scenario.abuse is None else asdict(self.scenario.abuse),
            "abuse_frames": self.abused,
            "demoted_frames": self.demoted,
        }


def abuses(alone: LabResult, lowest_percent: int) -> list[Abuse]:
    """Kinds of abuse of a job that has been measured alone, each without protection and with it.

    The abuser sends at the highest DSCP and at control's from its own port, and at control's from a port of the job.
    From there, the job may use the highest DSCP itself: a host is not policed unless the plan sets a limit.
    """
    abuse = partial(Abuse, lasts_s=_TIMES * alone.end, lowest_percent=lowest_percent)
    kinds = ((CODES - 1, False), (max(CONTROL), False), (max(CONTROL), True))
    return [abuse(dscp, member=member, guarded=guarded) for dscp, member in kinds for guarded in (False, True)]


def measure_here(scenario: LabScenario) -> LabResult:
    """Run a scenario in namespaces that this process makes, which has the right to.

    Raises:
        OfframpError: something failed, or bytes arrived wrong.
    """
    from offramp.workers.processes import run_workers

    marks, abuse, abused = priorities(scenario), scenario.abuse, 0
    with ExitStack() as stack:
        folder = Path(stack.enter_context(temporary_folder()))
        switch = stack.enter_context(LabSwitch(scenario, marks, folder))
        signals = Signals(folder / "begun", folder / "ended")
        place = RankInstructions(scenario, str(folder / "ready"), str(signals.begun))
        abuser = None if abuse is None else stack.enter_context(Abuser(scenario, abuse, signals))
        if abuser is not None and abuse is not None and not abuse.member:
            switch.connect(scenario.ranks, abuser.start(None))

        def on_news(news: tuple[int, int]) -> None:
            rank, thread = news
            if abuser is not None and abuse is not None and abuse.member and rank == 0:
                abuser.start(thread)
            if switch.connect(rank, thread):
                Path(place.ready).touch()

        ranks = run_workers(rank_work, [place] * scenario.ranks, on_news)
        signals.ended.touch()
        if abuser is not None:
            abused = abuser.sent()
        sent, queues, demoted = switch.counters(), switch.queues(), switch.demoted()
    wrong = [fault for rank in ranks for fault in rank.wrong]
    if wrong:
        raise OfframpError(f"coflows arrived with wrong contents: {', '.join(wrong)}")
    dscp = {kind: marks.mark(scenario.factors(kind)).dscp for kind in KINDS}
    plan = marks.plan
    host_bytes: dict[int, int] = {}
    by_round = [{kind: [rank.rounds[k][kind] for rank in ranks] for kind in KINDS} for k in range(scenario.rounds)]
    for rank in ranks:
        for value, count in rank.sent.items():
            host_bytes[value] = host_bytes.get(value, 0) + count
    return LabResult(
        scenario,
        {kind: min(rank.rounds[0][kind][0] for rank in ranks) for kind in KINDS},
        {kind: max(rank.rounds[0][kind][1] for rank in ranks) for kind in KINDS},
        dscp,
        {kind: plan.queue[dscp[kind]] if plan else 0 for kind in KINDS},
        sent,
        queues,
        host_bytes,
        abused,
        demoted,
        tuple(
            {kind: max(end for _, end in spans) - min(begin for begin, _ in spans) for kind, spans in each.items()}
            for each in by_round
        ),
        tuple(sum(rank.sent.values()) for rank in ranks),
    )
