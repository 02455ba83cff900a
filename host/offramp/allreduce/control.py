# SPDX-License-Identifier: Apache-2.0
"""The control plane of all-reduce: admits jobs to pages of any P4Runtime switch that runs the program."""

from __future__ import annotations

import random
import re
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from offramp.allreduce import entries
from offramp.allreduce.entries import MOST_OUTCOMES, SwitchRole
from offramp.allreduce.verdict import PacketVerdict
from offramp.allreduce.wire import PAGE
from offramp.fpga.card import SCHEME, with_card
from offramp.switch_groups import ALL_REDUCE
from offramp_base.errors import OfframpError
from offramp_base.p4rt.session import Session
from offramp_base.p4rt.status import Code, RpcError

_T = TypeVar("_T")
_SUMS = "AllReduceIngress.lanes.sums"
"""Segments of all slots; on a Tofino, which has one for each slot, there are registers of lanes."""
_RETRY_S = 0.5
_SPREAD = 1 << 16
"""Range from which election ids are drawn, so that two controllers rarely choose the same."""
_HIGHER = re.compile(r"another controller is primary \(election id (\d+);")


class JobControl(Protocol):
    """Admits jobs: :class:`AllReduceControl` of a P4 switch, or ``offramp.allreduce.card.CardControl``."""

    @property
    def pages(self) -> int:
        """Pages of slots in all."""

    @property
    def segments(self) -> int:
        """Segments of a packet."""

    def admit(self, job: int, role: SwitchRole, pages: int = 1) -> list[int]:
        """Give a job pages of its own."""

    def release(self, job: int) -> None:
        """Give up what a job has, if it has anything."""

    def outcomes(self) -> dict[str, int]:
        """Counts of the packets' outcomes, by name."""


@dataclass
class LeaseTraffic:
    """A job's traffic in a switch, of ranks and of leaves below: what comes down from a spine is not in it.

    Attributes:
        packets, octets: packets, and their bytes with headers.
        outcomes: packets by what they came to.
    """

    packets: int = 0
    octets: int = 0
    outcomes: dict[str, int] = field(default_factory=dict)

    @property
    def sums(self) -> int:
        """Number of complete sums."""
        return self.outcomes.get(PacketVerdict.COMPLETED.name.lower(), 0)

    def count(self, outcome: PacketVerdict, packets: int, octets: int) -> None:
        """Add packets with one outcome."""
        self.packets += packets
        self.octets += octets
        name = outcome.name.lower()
        self.outcomes[name] = self.outcomes.get(name, 0) + packets


class SwitchFullError(OfframpError):
    """A switch that other jobs use has no room for one more."""


class AllReduceControl:
    """Control of one switch that runs ``allreduce/v1model.p4`` or ``allreduce/tna.p4``.

    Raises:
        OfframpError: the switch runs another program.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        tables = session.index.tables
        prefixes = [prefix for prefix in ("", "pipe.") if prefix + entries.SOURCES in tables]
        if not prefixes:
            raise OfframpError(f"switch {session.name}: runs another program, expected allreduce/v1model.p4 or tna.p4")
        self._prefix = prefixes[0]
        self._chunk = self._prefix + entries.CHUNK[self._prefix]
        self._by_page = self._prefix + entries.BY_PAGE

    @property
    def pages(self) -> int:
        """Pages of slots in the program."""
        return int(self._session.index.registers[self._chunk].size) // PAGE

    @property
    def segments(self) -> int:
        """Segments of a packet."""
        registers = self._session.index.registers
        return int(registers[_SUMS].size) // (self.pages * PAGE) if _SUMS in registers else 1

    def admit(self, job: int, role: SwitchRole, pages: int = 1) -> list[int]:
        """Give a job pages that no other has; what it had before is given up.

        Returns:
            the switch's pages.

        Raises:
            SwitchFullError: other jobs have too many of them.
            OfframpError: a switch that refuses.
        """
        self.release(job)
        used = self._taken()
        free = [page for page in range(self.pages) if page not in used][:pages]
        if len(free) < pages:
            raise SwitchFullError(
                f"job {job}: needs {pages} pages of slots, the switch has {len(free)} of {self.pages} left "
                f"beside {len(set(used.values()))} other jobs"
            )
        group = self._free_group()
        session = self._session
        rows, replicas = entries.role_rows(role, job, free, group, self._prefix)
        # What an earlier job left there would look newer than this one's first chunks.
        slots = (slot for page in free for slot in range(page * PAGE, (page + 1) * PAGE))
        session.modify(session.make.register(self._chunk, slot, 0) for slot in slots)
        if self._by_page in session.index.counters:
            cells = (cell for page in free for cell in range(page * MOST_OUTCOMES, (page + 1) * MOST_OUTCOMES))
            session.modify(session.make.counter(self._by_page, cell) for cell in cells)
        session.multicast_group(group, replicas)
        for part in rows:
            session.insert(
                session.table_entry(part.table, keys, part.action, params) for keys, params in part.entries()
            )
        return free

    def release(self, job: int) -> None:
        """Give up a job's pages and its group, if it has any."""
        session = self._session
        mine = [entry for entry in session.read_table(self._prefix + entries.SOURCES) if self._job_of(entry) == job]
        if not mine:
            return
        groups = {self._params(entry)["group"] for entry in mine}
        from offramp_base.p4rt.schema import v1

        session.delete(v1.Entity(table_entry=entry) for entry in mine)
        session.delete(session.make.multicast_group(group, []) for group in groups)

    def outcomes(self) -> dict[str, int]:
        """Counts of the packets' outcomes since the pipeline was pushed, by name."""
        cells = self._session.read_counter(self._prefix + entries.OUTCOMES)
        return {outcome.name.lower(): cells.get(outcome, (0, 0))[0] for outcome in PacketVerdict}

    def traffic(self) -> dict[int, LeaseTraffic]:
        """Each job's traffic since it was admitted; empty for programs that do not count it (a Tofino's)."""
        session = self._session
        if self._by_page not in session.index.counters:
            return {}
        jobs, cells = self._taken(), session.read_counter(self._by_page)
        counts: dict[int, LeaseTraffic] = {job: LeaseTraffic() for job in jobs.values()}
        for page, job in jobs.items():
            for outcome in PacketVerdict:
                packets, octets = cells.get(page * MOST_OUTCOMES + outcome, (0, 0))
                if packets:
                    counts[job].count(outcome, packets, octets)
        return counts

    def pages_by_job(self) -> dict[int, int]:
        """Number of pages that each job has."""
        return dict(Counter(self._taken().values()))

    def strangers(self) -> dict[int, int]:
        """Frames from ports that may not send them: how many by each port, if any."""
        cells = self._session.read_counter(self._prefix + entries.STRANGERS)
        return {port: packets for port, (packets, _) in cells.items() if packets}

    # --- inside --------------------------------------------------------------------------------------------

    def _params(self, entry: Any) -> dict[str, int]:
        info = self._session.index
        action = info.actions.by_id[entry.action.action.action_id]
        names = {param.id: param.name for param in action.params}
        return {names[p.param_id]: int.from_bytes(p.value, "big") for p in entry.action.action.params}

    @staticmethod
    def _job_of(entry: Any) -> int:
        return next(int.from_bytes(m.exact.value, "big") for m in entry.match if m.field_id == 2)

    def _taken(self) -> dict[int, int]:
        """The job that owns each page in use."""
        jobs = {}
        for entry in self._session.read_table(self._prefix + entries.SOURCES):
            params = self._params(entry)
            if "base" in params:
                jobs[params["base"]] = self._job_of(entry)
        return jobs

    def _free_group(self) -> int:
        used = {self._params(e)["group"] for e in self._session.read_table(self._prefix + entries.SOURCES)}
        return next(group for group in range(ALL_REDUCE, ALL_REDUCE + len(used) + 1) if group not in used)


def with_session(address: str, ask: Callable[[Session], _T], timeout_s: float) -> _T:
    """Be the primary controller of a switch for a moment, until another one comes with a higher election id.

    Raises:
        OfframpError: no answer, or others took the switch over for all the time.
    """
    deadline, election_id = time.monotonic() + timeout_s, random.randint(1, _SPREAD)
    while True:
        try:
            with Session(address, election_id=election_id, timeout_s=timeout_s) as session:
                return ask(session)
        except OfframpError as error:
            higher = _HIGHER.search(str(error))
            displaced = isinstance(error, RpcError) and error.code is Code.PERMISSION_DENIED
            if not (higher or displaced) or time.monotonic() > deadline:
                raise
            election_id = (int(higher[1]) if higher else election_id) + random.randint(1, _SPREAD)
            # A first try that meets a higher id need not wait; those who displace each other must part.
            time.sleep(random.uniform(0, _RETRY_S) * displaced)


def with_control(address: str, ask: Callable[[JobControl], _T], timeout_s: float) -> _T:
    """Control all-reduce on a switch or a card (``fpga:udp=HOST``); ``ask`` may be called again from the start.

    Raises:
        OfframpError: also another program, or what ``ask`` raises.
    """
    if not address.startswith(SCHEME):
        return with_session(address, lambda session: ask(AllReduceControl(session)), timeout_s)
    from offramp.allreduce.card import CardControl

    return with_card(address, lambda: CardControl(address, timeout_s), ask, timeout_s)


def segments_of(address: str, timeout_s: float) -> int:
    """Segments of a packet, asked without becoming primary controller.

    Raises:
        OfframpError: no answer, or another program.
    """
    if address.startswith(SCHEME):
        from offramp.allreduce.card import CardControl

        return CardControl.segments
    session = Session(address, timeout_s=timeout_s)
    try:
        return AllReduceControl(session).segments
    finally:
        session.close()
