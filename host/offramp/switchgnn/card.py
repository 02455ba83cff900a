# SPDX-License-Identifier: Apache-2.0
"""The control plane of SwitchGNN on an FPGA card (``fpga/rtl/switchgnn``): loads a job through registers and entries.

Workers are known by their MAC addresses; a card has one job at a time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final, Self

from offramp.fpga.card import SCHEME, CardEngine, CardRegisters
from offramp.switchgnn import telemetry
from offramp.switchgnn.card_tables import edge_entries, vertex_entries
from offramp.switchgnn.control import check_plans
from offramp.switchgnn.plan import Plan
from offramp.switchgnn.rows import require_room
from offramp.switchgnn.target import FPGA
from offramp.switchgnn.telemetry import Disposition
from offramp_base.errors import OfframpError

VERSION: Final = 0x5347_0001
"""Version of the register map, ``fpga/regs/switchgnn_regs.rdl``."""
REGISTERS: Final = {
    "CLEAR": 0x08,
    "STATUS": 0x0C,
    "AGGREGATORS": 0x10,
    "VERTICES": 0x14,
    "EDGES": 0x18,
    "MEMBERS": 0x20,
    "ROUND": 0x24,
    "WHICH": 0x28,
    "COUNT": 0x2C,
}
MOST_WORKERS: Final = 32
UPLOADS: Final = len(Disposition)
"""Index of the count of accepted uploads; the other counts are of outcomes."""
_VERTEX_TABLE, _EDGE_TABLE = 0, 1
_LOOKS: Final = 1000
"""Polls of a card that forgets its job, which takes a cycle per entry, less than this many polls."""


class SwitchGnnCard:
    """Control of one card; a context manager that holds the card.

    Args:
        name: ``fpga:udp=HOST`` or ``fpga:udp=HOST:PORT``.
        timeout_s: seconds for which the card may be silent.

    Raises:
        OfframpError: no such address, no answer, or a card without this engine.
        Refused: another host holds the card.
    """

    def __init__(self, name: str, timeout_s: float) -> None:
        self._card = CardRegisters(name.removeprefix(SCHEME), CardEngine.SWITCHGNN, VERSION, timeout_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._card.close()

    def load(self, plans: Sequence[Plan]) -> None:
        """Replace the card's job and its counts by this job.

        Raises:
            OfframpError: plans that do not go together or need more than the card has, or a card that does not answer.
        """
        workers = max((plan.workers for plan in plans), default=0)
        check_plans(plans, range(workers))
        FPGA.check_lanes(plans)
        require_room("workers", workers, MOST_WORKERS)
        require_room("aggregators", FPGA.slots(plans), self._read("AGGREGATORS"))
        vertices = vertex_entries(plans, self._read("VERTICES"))
        edges = edge_entries(plans, self._read("EDGES"))
        self._write("MEMBERS", 0)
        self._forget()
        self._card.write_entries(_VERTEX_TABLE, vertices)
        self._card.write_entries(_EDGE_TABLE, edges)
        self._write("MEMBERS", workers)  # from now on there is a job

    def counters(self) -> dict[str, int]:
        """Outcomes of packets since :meth:`load`; keys as in :func:`telemetry.totals`. No packet has a second pass."""
        outcomes = Counter({int(outcome): self._count(outcome) for outcome in Disposition})
        return telemetry.totals(outcomes, self._count(UPLOADS), 0)

    def _count(self, which: int) -> int:
        self._write("WHICH", which)
        return self._read("COUNT")

    def _read(self, name: str) -> int:
        return self._card.read(REGISTERS[name])

    def _write(self, name: str, value: int) -> None:
        self._card.write(REGISTERS[name], value)

    def _forget(self) -> None:
        """Empty the tables and all state kept per round."""
        self._write("CLEAR", 1)
        if all(self._read("STATUS") & 1 for _ in range(_LOOKS)):
            raise OfframpError(f"{self._card.name}: does not forget its job")
