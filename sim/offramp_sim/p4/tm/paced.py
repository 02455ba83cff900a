"""The traffic manager in real time: a switch that keeps its packets until the line would have sent them."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING, Any

from offramp.wire.batch import PacketBatch
from offramp_sim.p4.switch import Switch
from offramp_sim.p4.tm.config import TmConfig
from offramp_sim.p4.tm.queued import PS_PER_US, QueuedSwitch

if TYPE_CHECKING:
    from offramp_sim.p4 import ir


class PacedSwitch(Switch):
    """A :class:`~offramp_sim.p4.switch.Switch` with a traffic manager, driven by whoever moves :attr:`now_us`.

    :meth:`process` takes frames that have arrived by now and returns those that have left by now; it is to be
    called again, with or without frames, when :attr:`next_us` has come. A call that comes late delays frames but
    slows no line down: the next frame starts when the line became free, not when the call came.

    Args:
        program, options: as of the switch.
        config: of the traffic manager.

    Attributes:
        queued: the traffic manager and its counts.
    """

    def __init__(self, program: ir.Program, config: TmConfig, **options: Any) -> None:
        super().__init__(program, **options)
        self._config = config
        self._start()

    def _start(self) -> None:
        self.queued = QueuedSwitch(self, self._config)
        self._sending: list[tuple[int, int, int, bytes]] = []  # heap of (end, order, port, frame)
        self._order = count()

    @property
    def next_us(self) -> int | None:
        """When :meth:`process` has something to do without arrivals, microseconds; None: never."""
        times = [self.queued.next_ps, self._sending[0][0] if self._sending else None]
        earliest = min((time for time in times if time is not None), default=None)
        return None if earliest is None else -(-earliest // PS_PER_US)

    def process(self, batch: PacketBatch) -> PacketBatch:
        """Take in what has arrived by :attr:`now_us`; returns what has left by then, in that order."""
        return PacketBatch.of(self._pass_time(batch))

    def process_one(self, port: int, frame: bytes) -> list[tuple[int, bytes]]:
        """The same for one frame."""
        return self._pass_time([(port, bytes(frame))])

    def reset(self) -> None:
        """Also forget what is queued."""
        super().reset()
        self._start()

    def _pass_time(self, arrived: Iterable[tuple[int, bytes]]) -> list[tuple[int, bytes]]:
        now_ps = self.now_us * PS_PER_US
        for port, frame in arrived:
            self.queued.receive(now_ps, port, frame)
        for departure in self.queued.advance(now_ps):
            heappush(self._sending, (departure.ps, next(self._order), departure.port, departure.frame))
        out = []
        while self._sending and self._sending[0][0] <= now_ps:
            _, _, port, frame = heappop(self._sending)
            out.append((port, frame))
        return out
