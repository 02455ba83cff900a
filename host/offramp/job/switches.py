# SPDX-License-Identifier: Apache-2.0
"""Steps on switches: installing a program, and a job's state in it."""

from __future__ import annotations

import contextlib
import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import ClassVar, Final

from offramp.allreduce.control import AllReduceControl, SwitchFullError, with_session
from offramp.allreduce.entries import SwitchRole
from offramp.allreduce.wire import PAGE
from offramp.cluster.model import ClusterSwitch
from offramp.fabric.forwarding import entries
from offramp.job import systems
from offramp.job.claimant import claimant
from offramp.job.ledger import SwitchLedger, opened
from offramp.job.shared_program import (
    MOST_PAGES,
    SEGMENT_BYTES,
    SHARED,
    SharedSizes,
    page_bytes,
    sizes_for_pages,
)
from offramp.job.snapshot import SwitchSnapshot
from offramp.p4src import p4_text
from offramp_base.errors import OfframpError
from offramp_base.p4rt.session import Session

PROGRAM: Final = "allreduce/v1model.p4"
_TIMEOUT_S: Final = 60.0
_LOOK_S: Final = 10.0


def pages_of(switch: ClusterSwitch, segments: int) -> int:
    """Pages that the switch's memory holds, at most as many as the program can number."""
    return min(MOST_PAGES, switch.memory // page_bytes(segments))


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
        share: whether the job brings the program that carries other systems as well.
    """

    program: ClassVar[str]
    """The system's own program."""
    what: ClassVar[str]
    several: ClassVar[bool]
    """Whether several jobs have room in the system at once."""
    reason_alone: ClassVar[str] = ""
    """The reason that they have not, for the end of a line."""
    switch: ClusterSwitch
    place: str
    ports: dict[int, int]
    job: int
    share: bool = field(default=False, kw_only=True)

    @property
    def name(self) -> str:
        """Name of the step for people."""
        return f"{self.what} on {self.switch.name}"

    @property
    @abstractmethod
    def text(self) -> str:
        """Text of the system's own program, with room for the job.

        Raises:
            OfframpError: the switch's memory is too small; one line with file and line.
        """

    @property
    @abstractmethod
    def shared_sizes(self) -> SharedSizes:
        """Sizes of the program that carries other systems as well, with room for the job.

        Raises:
            OfframpError: the switch's memory is too small; one line with file and line.
        """

    def check(self) -> None:
        """Refuse a switch without memory for the job, before anything is touched.

        Raises:
            OfframpError: the memory is too small; one line with file and line.
        """
        if self.share:
            str(self.shared_sizes)
        else:
            len(self.text)

    @abstractmethod
    def runs(self, session: Session) -> bool:
        """Whether the switch's program carries the system."""

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
            if problem := self.barred(ledger):
                raise SwitchFullError(f"{self.place}: {self.switch.name}: {problem}")
            with_switch(self.switch, lambda session: self._apply(session, ledger))

    def barred(self, ledger: SwitchLedger) -> str:
        """The reason that a switch's ledger gives against one more job of this system; else empty."""
        if ahead := ledger.ahead_of(claimant()):
            return f"jobs that have waited there for longer: {ahead}"
        jobs = ledger.running
        if jobs and ledger.program != SHARED and not (self.several and ledger.program == self.program):
            return f"jobs that run there have it for {ledger.program}, which leaves no room for {self.program}"
        holder = ledger.holders.get(self.what, self.job)
        if jobs and holder != self.job and holder in jobs:
            return f"a job that runs there has {self.what} for itself{self.reason_alone}"
        return ""

    def full(self, session: Session) -> str:  # noqa: ARG002
        """The reason that a running program has no room for the job; else empty."""
        return ""

    @property
    @abstractmethod
    def lease(self) -> str:
        """The part of the program that the job has, for people."""

    @property
    def brings(self) -> str:
        """The program that the job brings where no other job runs, for people."""
        return str(self.shared_sizes) if self.share else self.program

    def _apply(self, session: Session, ledger: SwitchLedger) -> None:
        alone = not ledger.jobs
        if alone and ledger.before is None:
            ledger.before = SwitchSnapshot.take(session)
        if alone:
            ledger.holders = {}
        try:
            if alone or not self.runs(session):
                shared = self.share if alone else ledger.program == SHARED
                session.push(b"", (self.shared_sizes.text if shared else self.text).encode())
                session.insert(entries(session, self.ports))
                ledger.program = SHARED if shared else self.program
            self.admit(session)
            if not self.several:
                ledger.holders = {**ledger.holders, self.what: self.job}
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
            with looking(self.switch) as session:
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
    several = True
    role: SwitchRole
    pages: int
    segments: int

    @property
    def text(self) -> str:
        """Text of all-reduce's program with as many pages as the switch's memory holds."""
        pages = pages_of(self.switch, self.segments)
        if pages < self.pages:
            need = self.pages * page_bytes(self.segments)
            raise OfframpError(
                f"{self.place}: {self.switch.name}: memory {self.switch.memory} B: the job needs {need} B"
            )
        return p4_text(PROGRAM, {"SEGMENTS": self.segments, "PAGES": pages})

    @property
    def shared_sizes(self) -> SharedSizes:
        """Sizes with the job's pages, and room for others."""
        return sizes_for_pages(self.switch, self.place, self.pages, self.segments)

    @property
    def lease(self) -> str:
        """Pages of slots."""
        size = self.segments * SEGMENT_BYTES
        return f"{self.pages} pages of {PAGE} slots of {size} B ({self.pages * page_bytes(self.segments)} B)"

    def full(self, session: Session) -> str:
        """Too few free pages, or frames of another length."""
        control = AllReduceControl(session)
        if control.segments != self.segments:
            return f"jobs that run there have {control.segments} segments in a frame, this one {self.segments}"
        free = control.pages - sum(control.pages_by_job().values())
        return f"{free} of {control.pages} pages are free, the job needs {self.pages}" if free < self.pages else ""

    def runs(self, session: Session) -> bool:
        """Whether the switch's program carries all-reduce."""
        return systems.all_reduce(session) is not None

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
        return self.job in AllReduceControl(session).pages_by_job()


@contextlib.contextmanager
def looking(switch: ClusterSwitch) -> Iterator[Session]:
    """A session that only reads, and is not primary controller."""
    from offramp_base.p4rt.tls import Tls

    tls = Tls(switch.cert, switch.key, switch.ca) if switch.ca or switch.cert else None
    session = Session(switch.control or "", device_id=switch.device, timeout_s=_LOOK_S, tls=tls)
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
        with opened(switch), looking(switch) as session:
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
        for number in numbers:
            ledger.holders = systems.release(session, number, ledger.holders)
    else:
        _put_back(session, ledger)
    ledger.jobs = left


def _put_back(session: Session, ledger: SwitchLedger) -> None:
    before = ledger.before
    assert before is not None
    before.restore(session)
    ledger.before, ledger.holders = None, {}
