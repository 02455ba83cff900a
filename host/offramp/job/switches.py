# SPDX-License-Identifier: Apache-2.0
"""Steps on switches: installing a program, and a job's state in it."""

from __future__ import annotations

import contextlib
import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar, Final

from offramp.allreduce.control import AllReduceControl, SwitchFullError, with_session
from offramp.allreduce.entries import SwitchRole
from offramp.allreduce.wire import PAGE
from offramp.cluster.model import ClusterSwitch
from offramp.fabric.forwarding import entries
from offramp.job.claimant import claimant
from offramp.job.ledger import SwitchLedger, opened
from offramp.job.snapshot import SwitchSnapshot
from offramp.p4src import p4_text
from offramp_base.errors import OfframpError
from offramp_base.p4rt.session import Session

PROGRAM: Final = "allreduce/v1model.p4"
_TIMEOUT_S: Final = 60.0
_LOOK_S: Final = 10.0
_SEGMENT_BYTES: Final = 256
_SLOT_BYTES: Final = 16
"""Chunk, ranks, exponent and flags of a slot."""


def page_bytes(segments: int) -> int:
    """Stateful memory of a page of slots."""
    return PAGE * (segments * _SEGMENT_BYTES + _SLOT_BYTES)


def pages_of(switch: ClusterSwitch, segments: int) -> int:
    """Pages that the switch's memory holds, at most as many as the program can number."""
    return min(16, switch.memory // page_bytes(segments))


@dataclass
class ProgramOnSwitch(ABC):
    """Installs a program where it is not installed yet, and a job's state in it.

    The first job that brings a program keeps what was there. A switch that was started anew meanwhile has lost both;
    the next job brings the program again.

    Attributes:
        switch: the switch.
        place: ``FILE:LINE`` of the switch.
        ports: the switch's port to each host, by the host's Ethernet address.
        job: number of the job.
    """

    program: ClassVar[str]
    what: ClassVar[str]
    shared: ClassVar[bool]
    """Whether several jobs have room in the program at once."""
    switch: ClusterSwitch
    place: str
    ports: dict[int, int]
    job: int

    @property
    def name(self) -> str:
        """Name of the step for people."""
        return f"{self.what} on {self.switch.name}"

    @abstractmethod
    def bring(self, session: Session) -> None:
        """Push the program, without any entries.

        Raises:
            OfframpError: the switch refuses it.
        """

    @abstractmethod
    def runs(self, session: Session) -> bool:
        """Whether the switch has the program."""

    @abstractmethod
    def admit(self, session: Session) -> None:
        """Write the job's state into the running program.

        Raises:
            OfframpError: there is no room, or the switch refuses; then no state of the job is left beside other jobs.
        """

    @abstractmethod
    def admitted(self, session: Session) -> bool:
        """Whether the switch still has the job's state."""

    def apply(self) -> None:
        """Bring the program, forwarding included, unless it is there; then admit this job.

        Raises:
            SwitchFullError: other jobs use all of it, use it with another program, or have waited for longer.
            OfframpError: the switch refuses, or does not answer.
        """
        with opened(self.switch) as ledger:
            _release_ended(self.switch, ledger)
            if ahead := ledger.ahead_of(claimant()):
                raise SwitchFullError(
                    f"{self.place}: {self.switch.name}: jobs that have waited there for longer: {ahead}"
                )
            if ledger.jobs and not (self.shared and ledger.program == self.program):
                problem = f"jobs that run there have it for {ledger.program}, which leaves no room for {self.program}"
                raise SwitchFullError(f"{self.place}: {self.switch.name}: {problem}")
            with_switch(self.switch, lambda session: self._apply(session, ledger))

    def _apply(self, session: Session, ledger: SwitchLedger) -> None:
        alone = not ledger.jobs
        if alone and ledger.before is None:
            ledger.before = SwitchSnapshot.take(session)
        try:
            if alone or not self.runs(session):
                self.bring(session)
                session.insert(entries(session, self.ports))
            self.admit(session)
            ledger.program = self.program
            ledger.jobs = {**ledger.jobs, self.job: claimant()}
        except BaseException:
            if alone:
                with contextlib.suppress(OfframpError):  # the switch is gone, too: the next job restores what was kept
                    _put_back(session, ledger)
            raise

    def undo(self) -> None:
        """Remove the job; the last one restores the state of the switch before the first.

        Raises:
            OfframpError: the switch does not answer.
        """
        with opened(self.switch) as ledger:
            with_switch(self.switch, lambda session: _leave(session, ledger, [self.job]))

    def holds(self) -> str:
        """The reason that the job cannot go on: the switch does not answer, or has lost the job's state; else empty."""
        intact = [False]

        def look(session: Session) -> None:
            intact[0] = self.runs(session) and self.admitted(session)

        try:
            with _session(self.switch, _LOOK_S) as session:
                look(session)
        except OfframpError as error:
            return f"{self.switch.name} does not answer: {error}"
        return "" if intact[0] else f"{self.switch.name} was started anew: it has lost what the job had there"


@dataclass
class JobOnSwitch(ProgramOnSwitch):
    """All-reduce's program, and pages of slots for a job.

    Attributes:
        role: the switch's part.
        pages: pages of slots for the job.
        segments: segments of a frame, where the program is brought.
    """

    program = PROGRAM
    what = "all-reduce"
    shared = True
    role: SwitchRole
    pages: int
    segments: int

    def check(self) -> None:
        """Refuse a switch without memory for the job, before anything is touched.

        Raises:
            OfframpError: the memory is too small; one line with file and line.
        """
        if pages_of(self.switch, self.segments) < self.pages:
            need = self.pages * page_bytes(self.segments)
            raise OfframpError(
                f"{self.place}: {self.switch.name}: memory {self.switch.memory} B: the job needs {need} B"
            )

    def bring(self, session: Session) -> None:
        """Push the program with as many pages as the switch's memory holds."""
        sizes = {"SEGMENTS": self.segments, "PAGES": pages_of(self.switch, self.segments)}
        session.push(b"", p4_text(PROGRAM, sizes).encode())

    def runs(self, session: Session) -> bool:
        """Whether the switch runs all-reduce, by the names of its tables."""
        return _control(session) is not None

    def admit(self, session: Session) -> None:
        """Allocate the job's pages."""
        control = AllReduceControl(session)
        if control.segments != self.segments:
            problem = f"jobs that run there have {control.segments} segments in a frame, this one {self.segments}"
            raise SwitchFullError(f"{self.place}: {self.switch.name}: {problem}")
        try:
            control.admit(self.job, self.role, self.pages)
        except BaseException:
            with contextlib.suppress(OfframpError):
                control.release(self.job)
            raise

    def admitted(self, session: Session) -> bool:
        """Whether the job is on the switch, by its pages."""
        return self.job in AllReduceControl(session)._taken().values()


def _control(session: Session) -> AllReduceControl | None:
    try:
        return AllReduceControl(session)
    except OfframpError:
        return None


@contextlib.contextmanager
def _session(switch: ClusterSwitch, timeout_s: float) -> Iterator[Session]:
    """A session that only reads, and is not primary controller."""
    from offramp_base.p4rt.tls import Tls

    tls = Tls(switch.cert, switch.key, switch.ca) if switch.ca or switch.cert else None
    session = Session(switch.control or "", device_id=switch.device, timeout_s=timeout_s, tls=tls)
    try:
        yield session
    finally:
        session.close()


def with_switch(switch: ClusterSwitch, ask: Callable[[Session], object]) -> None:
    """Ask a switch something as its primary controller, which this is for that time only.

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


def answers(switch: ClusterSwitch) -> bool:
    """Whether a switch answers and runs a program, which one that has just started does not."""
    try:
        with opened(switch), _session(switch, _LOOK_S) as session:
            return bool(session.index.tables)
    except OfframpError:
        return False


def release_ended(switch: ClusterSwitch) -> list[int]:
    """Remove the state of jobs that were killed; returns their numbers.

    Raises:
        OfframpError: the switch does not answer.
    """
    with opened(switch) as ledger:
        return _release_ended(switch, ledger)


def release(switch: ClusterSwitch, numbers: list[int]) -> None:
    """Remove jobs of this process that could not be removed when they ended.

    Raises:
        OfframpError: the switch does not answer.
    """
    with opened(switch) as ledger:
        left = [number for number in numbers if number in ledger.jobs]
        if left:
            with_switch(switch, lambda session: _leave(session, ledger, left))


def _release_ended(switch: ClusterSwitch, ledger: SwitchLedger) -> list[int]:
    ended = ledger.ended
    if ended or (ledger.before is not None and not ledger.jobs):
        with_switch(switch, lambda session: _leave(session, ledger, ended))
    return ended


def _leave(session: Session, ledger: SwitchLedger, numbers: list[int]) -> None:
    left = {number: who for number, who in ledger.jobs.items() if number not in numbers}
    if left or ledger.before is None:
        control = _control(session)
        for number in numbers if control is not None else []:  # a switch that was started anew has nothing of theirs
            assert control is not None
            control.release(number)
    else:
        _put_back(session, ledger)
    ledger.jobs = left


def _put_back(session: Session, ledger: SwitchLedger) -> None:
    before = ledger.before
    assert before is not None
    before.restore(session)
    ledger.before = None
