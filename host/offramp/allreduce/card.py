# SPDX-License-Identifier: Apache-2.0
"""The control plane of all-reduce on an FPGA card (``fpga/rtl/allreduce``): admits jobs by registers.

Ranks are known by their MAC addresses: ports of a :class:`~offramp.allreduce.entries.SwitchRole` say nothing here.
"""

from __future__ import annotations

from typing import Final, NamedTuple, Self

from offramp.allreduce.entries import SwitchRole
from offramp.allreduce.verdict import PacketVerdict
from offramp.fpga.card import SCHEME, CardEngine, CardRegisters
from offramp_base.errors import OfframpError

VERSION: Final = 0x4152_0001
"""Version of the register map, ``fpga/regs/allreduce_regs.rdl``."""
REGISTERS: Final = {"CLEAR": 0x08, "STATUS": 0x0C, "SIZE": 0x10, "NUMBER0": 0x20, "RANKS0": 0x24, "PAGES0": 0x28}
JOBS: Final = 4
JOB_BYTES: Final = 16
"""Bytes from one job's registers to the next one's."""
COUNTS: Final = {verdict: 0x60 + 4 * verdict for verdict in PacketVerdict if 0 < verdict <= PacketVerdict.PULLED}
"""Registers of what packets came to."""
MOST_PAGES: Final = 255
"""Most pages of a job: what its register can hold."""
_START: Final = 1 << 8
_LOOKS: Final = 100
"""Most looks at a page that is being emptied: the card takes 256 cycles, less than it takes to ask."""


class _CardJob(NamedTuple):
    """Registers of a job; one without ranks is none."""

    number: int
    ranks: int
    first: int
    pages: int


class CardControl:
    """Control of one card; a context manager that holds the card meanwhile.

    Args:
        name: ``fpga:udp=HOST`` or ``fpga:udp=HOST:PORT``.
        timeout_s: how long the card may be silent.

    Raises:
        OfframpError: no such address, no answer, or a card without this engine.
        Refused: another host holds the card.
    """

    segments: Final = 1
    """Segments of a packet."""

    def __init__(self, name: str, timeout_s: float) -> None:
        self._card = CardRegisters(name.removeprefix(SCHEME), CardEngine.ALLREDUCE, VERSION, timeout_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._card.close()

    @property
    def pages(self) -> int:
        """Pages of slots on the card."""
        return self._card.read(REGISTERS["SIZE"])

    def admit(self, job: int, role: SwitchRole, pages: int = 1) -> list[int]:
        """Give a job pages that no other has and that follow each other; what it had before is given up.

        Returns:
            the card's pages.

        Raises:
            OfframpError: a role among several switches, too many jobs, no room, or a card that does not answer.
        """
        ranks = sum(member.mask for member in role.members)
        if role.uplink is not None or any(member.ranks != (member.rank,) for member in role.members):
            raise OfframpError(f"job {job}: a card sums for all ranks itself, not as one of several switches")
        if not 0 <= job < 1 << 32 or not 0 < pages <= MOST_PAGES:
            raise OfframpError(f"job {job}, {pages} pages: expected a number of 32 bits, and 1 to {MOST_PAGES} pages")
        self.release(job)
        jobs = self._jobs()
        place = next((place for place, each in enumerate(jobs) if not each.ranks), None)
        if place is None:
            raise OfframpError(f"job {job}: the card knows {JOBS} jobs, and has them")
        used = {page for each in jobs if each.ranks for page in range(each.first, each.first + each.pages)}
        size = self.pages
        starts = (at for at in range(size - pages + 1) if used.isdisjoint(range(at, at + pages)))
        first = next(starts, None)
        if first is None:
            raise OfframpError(
                f"job {job}: needs {pages} pages of slots that follow each other, the card has {size - len(used)} of "
                f"{size} left beside {sum(bool(each.ranks) for each in jobs)} other jobs"
            )
        for page in range(first, first + pages):
            self._clear(page)
        self._write(place, _CardJob(job, ranks, first, pages))
        return list(range(first, first + pages))

    def release(self, job: int) -> None:
        """Give up a job's pages, if it has any."""
        for place, each in enumerate(self._jobs()):
            if each.ranks and each.number == job:
                self._card.write(REGISTERS["RANKS0"] + JOB_BYTES * place, 0)

    def outcomes(self) -> dict[str, int]:
        """Counts of the packets' outcomes since the card was reset, by name; frames of other protocols are left out."""
        return {verdict.name.lower(): self._card.read(at) for verdict, at in COUNTS.items()}

    def _jobs(self) -> list[_CardJob]:
        jobs = []
        for base in range(0, JOBS * JOB_BYTES, JOB_BYTES):
            number, ranks, pages = (
                self._card.read(REGISTERS[f"{name}0"] + base) for name in ("NUMBER", "RANKS", "PAGES")
            )
            jobs.append(_CardJob(number, ranks, pages & 0xFF, pages >> 8 & 0xFF))
        return jobs

    def _write(self, place: int, job: _CardJob) -> None:
        values = {"NUMBER0": job.number, "PAGES0": job.pages << 8 | job.first, "RANKS0": job.ranks}
        for name, value in values.items():  # the ranks last: from then on it is a job
            self._card.write(REGISTERS[name] + JOB_BYTES * place, value)

    def _clear(self, page: int) -> None:
        """Clear the slots: chunks that an earlier job left there would look newer than this one's first."""
        self._card.write(REGISTERS["CLEAR"], _START | page)
        if all(self._card.read(REGISTERS["STATUS"]) & 1 for _ in range(_LOOKS)):
            raise OfframpError(f"{self._card.name}: does not empty page {page}")
