# SPDX-License-Identifier: Apache-2.0
"""The ports of a switch as management protocols see them: switched on and off, counted, watched."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from offramp_base.errors import OfframpError
from offramp_base.wire.batch import PacketBatch
from offramp_p4.runtime.environment import PortLinks

if TYPE_CHECKING:
    import numpy.typing as npt

    from offramp_p4.ports.base import Port

_ADDRESS_BYTES = 6


@dataclass(slots=True)
class Directed:
    """Frames that passed a port in one direction, by their destination address.

    Attributes:
        gated: frames dropped because the port was disabled, not among the others.
    """

    unicast: int = 0
    multicast: int = 0
    broadcast: int = 0
    gated: int = 0

    def add(self, batch: PacketBatch, rows: npt.NDArray[np.intp] | None = None) -> None:
        """Count frames (these rows of the batch, or all) that pass."""
        data, lengths = batch.data, batch.lengths
        if rows is not None:
            data, lengths = data[rows, :_ADDRESS_BYTES], lengths[rows]
        if data.shape[1] < _ADDRESS_BYTES:  # frames without a whole address are nobody's group
            self.unicast += len(lengths)
            return
        group = np.flatnonzero((data[:, 0] & 1 == 1) & (lengths >= _ADDRESS_BYTES))
        everybody = int((data[group, :_ADDRESS_BYTES] == 0xFF).all(axis=1).sum()) if len(group) else 0
        self.unicast += len(lengths) - len(group)
        self.multicast += len(group) - everybody
        self.broadcast += everybody


class GatedPort:
    """``port``, counted, which while it is disabled drops the frames of both directions.

    Attributes:
        enabled: whether frames pass; may be set from any thread.
        received, sent: frames taken in from the link, and those that the switch asked to send, whatever became of them.
        received_bytes: bytes of all frames that have arrived, those of a disabled port too.
    """

    def __init__(self, port: Port) -> None:
        self._port = port
        self.name, self.stats = port.name, port.stats
        self.enabled = True
        self.received, self.sent = Directed(), Directed()
        self.received_bytes = 0

    def interest(self) -> list[tuple[int, int]]:
        """Descriptors and events that the port waits for; a disabled port still receives, to count dropped frames."""
        return self._port.interest()

    def receive(self) -> list[PacketBatch]:
        """Frames that the port received; none if it is disabled."""
        batches = self._port.receive()
        for batch in batches:
            self.received_bytes += int(batch.lengths.sum())
            if self.enabled:
                self.received.add(batch)
            else:
                self.received.gated += len(batch)
        return batches if self.enabled else []

    def send(self, batch: PacketBatch, rows: npt.NDArray[np.intp] | None = None) -> None:
        """Send by the port, if it is enabled."""
        if not self.enabled:
            self.sent.gated += len(batch if rows is None else rows)
            return
        self.sent.add(batch, rows)
        self._port.send(batch, rows)

    def flush(self) -> None:
        """Send what the port has kept; frames it had accepted before it was disabled still leave."""
        self._port.flush()

    def rest(self) -> None:
        """Tell the port that the loop is about to wait."""
        self._port.rest()

    @property
    def congested(self) -> bool:
        """Whether the port is congested; a disabled port never is."""
        return self.enabled and self._port.congested

    @property
    def busy(self) -> bool:
        """Whether the port is busy; a disabled port never is."""
        return self.enabled and self._port.busy

    @property
    def up(self) -> bool:
        """Whether the port is enabled and its link is up."""
        return self.enabled and self._port.up

    def tick(self, now: float) -> None:
        """Pass the tick on to the port."""
        self._port.tick(now)

    def close(self) -> None:
        """Close the port."""
        self._port.close()


@dataclass(slots=True)
class PortChange:
    """The time of a port's last change between up and down, nanoseconds since the epoch, and the number of changes."""

    up: bool
    at_ns: int
    times: int = 0


class FrontPanel:
    """The ports that the switch is attached to, by number; may be used from many threads.

    Args:
        ports: those that are a :class:`GatedPort` can be disabled.
        links: whether the link of each is up.
        cpu_port: the port of the controller, which is not among them.
    """

    def __init__(
        self, ports: Mapping[int, Port] | None = None, links: PortLinks | None = None, cpu_port: int | None = None
    ) -> None:
        self.ports: Mapping[int, Port] = ports or {}
        self.links = links or PortLinks()
        self.cpu_port = cpu_port
        self._lock = threading.Lock()
        self._watchers: list[Callable[[], None]] = []
        now = time.time_ns()
        self._changes = {number: PortChange(self.up(number), now) for number in self.ports}

    def enabled(self, number: int) -> bool:
        """Whether a port lets frames pass, as far as somebody has a say in it."""
        port = self.ports.get(number)
        return port.enabled if isinstance(port, GatedPort) else port is not None

    def enable(self, wanted: Mapping[int, bool]) -> None:
        """Have ports let frames pass, or drop them: all that are named, or none.

        The rest of the switch sees the link of a port change within a second.

        Raises:
            OfframpError: one of them cannot be disabled.
        """
        gates: list[tuple[GatedPort, bool]] = []
        for number, on in wanted.items():
            port = self.ports.get(number)
            if isinstance(port, GatedPort):
                gates.append((port, on))
            elif port is None or not on:
                reason = "there is no such port" if port is None else "its frames do not pass this process"
                raise OfframpError(f"port {number} cannot be {'enabled' if on else 'disabled'}: {reason}")
        with self._lock:
            for gate, on in gates:
                gate.enabled = on
        self.links_changed()

    def up(self, number: int) -> bool:
        """Whether a port is enabled and its link is up."""
        return self.enabled(number) and self.links.up(number)

    def change(self, number: int) -> PortChange:
        """The last change of a port between up and down."""
        return self._changes[number]

    def links_changed(self) -> None:
        """Note which ports have gone up or down, and call who watches."""
        with self._lock:
            for number, change in self._changes.items():
                if (up := self.up(number)) != change.up:
                    self._changes[number] = PortChange(up, time.time_ns(), change.times + 1)
            watchers = list(self._watchers)
        for watcher in watchers:
            watcher()

    def watch(self, watcher: Callable[[], None]) -> None:
        """Call ``watcher`` after each change of a port, from any thread; it must not block."""
        with self._lock:
            self._watchers.append(watcher)

    def unwatch(self, watcher: Callable[[], None]) -> None:
        """Call him no more."""
        with self._lock:
            self._watchers.remove(watcher)
