# SPDX-License-Identifier: Apache-2.0
"""Steps on switches: a job's program, and its pages."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from offramp.allreduce.control import AllReduceControl, with_session
from offramp.allreduce.entries import SwitchRole
from offramp.allreduce.wire import PAGE
from offramp.cluster.forwarding import entries
from offramp.cluster.model import Switch
from offramp.job.ledger import Ledger, opened
from offramp.job.snapshot import Snapshot
from offramp.p4src import p4_text
from offramp_base.ending.owner import owner
from offramp_base.errors import OfframpError
from offramp_base.p4rt.session import Session

PROGRAM: Final = "allreduce/v1model.p4"
_TIMEOUT_S: Final = 60.0
_SEGMENT_BYTES: Final = 256
_SLOT_BYTES: Final = 16
"""Chunk, ranks, exponent and flags of a slot."""


def page_bytes(segments: int) -> int:
    """Stateful memory of a page of slots."""
    return PAGE * (segments * _SEGMENT_BYTES + _SLOT_BYTES)


def pages_of(switch: Switch, segments: int) -> int:
    """Pages that the switch's memory holds, at most as many as the program can number."""
    return min(16, switch.memory // page_bytes(segments))


@dataclass
class JobOnSwitch:
    """The program where it is not there yet, and pages of slots for a job.

    Attributes:
        switch: where.
        place: ``FILE:LINE`` of it.
        role: the switch's part.
        ports: by Ethernet address, of all hosts.
        job: number of the job.
        pages: that it gets.
        segments: of a frame, where the program is brought.
    """

    switch: Switch
    place: str
    role: SwitchRole
    ports: dict[int, int]
    job: int
    pages: int
    segments: int

    @property
    def name(self) -> str:
        """For people."""
        return f"all-reduce on {self.switch.name}"

    def check(self) -> None:
        """Refuse a switch without memory for the job, before anything is touched.

        Raises:
            OfframpError: with file and line.
        """
        if pages_of(self.switch, self.segments) < self.pages:
            need = self.pages * page_bytes(self.segments)
            raise OfframpError(
                f"{self.place}: {self.switch.name}: memory {self.switch.memory} B: the job needs {need} B"
            )

    def apply(self) -> None:
        """Bring the program, forwarding included, unless a job has brought it; then admit this one."""
        with opened(self.switch) as ledger:
            _release_ended(self.switch, ledger)
            self._with(lambda session: self._apply(session, ledger))

    def _apply(self, session: Session, ledger: Ledger) -> None:
        before = None
        if not ledger.jobs:
            before = Snapshot.take(session)
            ledger.before = before
        try:
            if before is not None:
                sizes = {"SEGMENTS": self.segments, "PAGES": pages_of(self.switch, self.segments)}
                session.push(b"", p4_text(PROGRAM, sizes).encode())
                session.insert(entries(session, self.ports))
            control = AllReduceControl(session)
            self._check_frames(control.segments)
            control.admit(self.job, self.role, self.pages)
            ledger.jobs = {**ledger.jobs, self.job: owner()}
        except BaseException:
            if before is not None:
                before.restore(session)
                ledger.before = None
            raise

    def _check_frames(self, segments: int) -> None:
        if segments != self.segments:
            problem = f"jobs that run there have {segments} segments in a frame, this one {self.segments}"
            raise OfframpError(f"{self.place}: {self.switch.name}: {problem}")

    def undo(self) -> None:
        """Give the pages back; the last job puts back what the switch held before the first."""
        with opened(self.switch) as ledger:
            self._with(lambda session: _leave(session, ledger, [self.job]))

    def _with(self, ask: Callable[[Session], None]) -> None:
        with_switch(self.switch, ask)


def with_switch(switch: Switch, ask: Callable[[Session], object]) -> None:
    """Be the primary controller of a switch for a moment.

    Raises:
        OfframpError: it does not answer, or refuses.
    """
    if switch.ca or switch.cert:
        from offramp_base.p4rt.tls import Tls

        with Session(
            switch.control or "",
            device_id=switch.device,
            election_id=random.randint(1, 1 << 16),
            timeout_s=_TIMEOUT_S,
            tls=Tls(switch.cert, switch.key, switch.ca),
        ) as session:
            ask(session)
        return
    with_session(switch.control or "", ask, _TIMEOUT_S)


def release_ended(switch: Switch) -> list[int]:
    """Take away what jobs have left that were killed; their numbers.

    Raises:
        OfframpError: the switch does not answer.
    """
    with opened(switch) as ledger:
        return _release_ended(switch, ledger)


def _release_ended(switch: Switch, ledger: Ledger) -> list[int]:
    ended = ledger.ended
    if ended or (ledger.before is not None and not ledger.jobs):
        with_switch(switch, lambda session: _leave(session, ledger, ended))
    return ended


def _leave(session: Session, ledger: Ledger, numbers: list[int]) -> None:
    left = {number: who for number, who in ledger.jobs.items() if number not in numbers}
    before = ledger.before
    if left or before is None:
        control = AllReduceControl(session)
        for number in numbers:
            control.release(number)
    else:
        before.restore(session)
        ledger.before = None
    ledger.jobs = left
