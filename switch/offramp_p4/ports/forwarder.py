# SPDX-License-Identifier: Apache-2.0
"""The loop of a running switch: gather from all ports, process once, distribute."""

from __future__ import annotations

import os
import select
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, cast

import numpy as np

from offramp_base.wire.batch import PacketBatch
from offramp_p4.ports.alarm import Alarm
from offramp_p4.ports.base import Port
from offramp_p4.runtime.device import P4Device

if TYPE_CHECKING:
    from offramp_p4.native import NativeSwitch
    from offramp_p4.ports.dpdk.workers import Workers
    from offramp_p4.runtime.pipeline import Pipeline

TICK_S = 1.0
CONGESTED_WAIT_S = 0.1
MAX_INJECTED = 4096
_AT_ONCE = 64 << 20
"""Bytes of frames, in rows as long as the longest, that the pipeline gets at once."""
"""Batches of the controller that wait for the switch."""
NOTICE_WAIT_S = 0.005
SETTLE_S = 0.01
"""Seconds that digests of packets that other threads run, and a new pipeline for them, may wait."""


class Forwarder:
    """Moves frames between the ports and a device until :meth:`stop`.

    Every turn takes a fair share from each port that has frames, so that no port waits for another's load,
    and gives all of them to the switch at once. While a lossless port is congested nothing is taken in.

    Args:
        device: the switch.
        ports: ports by number.
        workers: threads that move the frames of some of the ports by themselves; closed with the ports.

    Attributes:
        unknown: frames dropped because they were sent to a port that does not exist.
    """

    def __init__(self, device: P4Device, ports: Mapping[int, Port], workers: Workers | None = None) -> None:
        self._device = device
        self._ports = dict(ports)
        self._workers = workers
        self._pipeline: Pipeline | None = None  # that the workers run
        self._next_settling = 0.0
        self._changes: deque[Callable[[dict[int, Port]], None]] = deque()
        self._injected: deque[PacketBatch] = deque()
        self._room = threading.Semaphore(MAX_INJECTED)
        self._wake = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._waking, self._ended = threading.RLock(), False  # a signal may come while the lock is held
        self._alarm = Alarm()
        self._stopping = threading.Event()
        self.unknown = 0
        device.inject = self.inject

    def inject(self, batch: PacketBatch) -> None:
        """Have the switch process frames of the controller; may be called from any thread, and waits for room."""
        while not self._room.acquire(timeout=CONGESTED_WAIT_S):
            if self._stopping.is_set():
                return
        self._injected.append(batch)
        self._rouse()

    def attach(self, number: int, port: Port) -> None:
        """Move the frames of one more port from the next turn on; may be called from any thread."""

        def change(ports: dict[int, Port]) -> None:
            ports[number] = port

        self._changes.append(change)
        self._rouse()

    def detach(self, number: int) -> None:
        """Close a port at the next turn; may be called from any thread."""

        def change(ports: dict[int, Port]) -> None:
            ports.pop(number).close()

        self._changes.append(change)
        self._rouse()

    def _change(self) -> bool:
        """Carry out what has been asked for; whether there was anything."""
        changed = bool(self._changes)
        while self._changes:
            self._changes.popleft()(self._ports)
        return changed

    def stop(self) -> None:
        """End :meth:`run`; may be called from a signal handler or another thread."""
        self._stopping.set()
        self._rouse()

    def _rouse(self) -> None:
        """End the wait of :meth:`run`, unless it has ended already and its descriptor is another's."""
        with self._waking:
            if not self._ended:
                os.eventfd_write(self._wake, 1)

    def run(self, ending: Callable[[], None] = lambda: None) -> None:
        """Work until :meth:`stop`, call ``ending``, then close all ports."""
        next_tick = time.monotonic()
        try:
            while not self._stopping.is_set():
                now = time.monotonic()
                if self._change() or now >= next_tick:
                    next_tick = now + TICK_S
                    for port in self._ports.values():
                        port.tick(now)
                    self._device.set_links({number: port.up for number, port in self._ports.items()})
                if self._workers is not None and now >= self._next_settling:
                    self._next_settling = now + SETTLE_S
                    self._settle(self._workers)
                self._turn(max(0.0, min(next_tick, self._next_settling or next_tick) - now))
        finally:
            ending()
            self._device.inject = self._device.discard
            if self._workers is not None:
                self._device.threads = False
                self._workers.close()
            self._change()
            for port in self._ports.values():
                port.close()
            self._alarm.close()
            with self._waking:
                self._ended = True
                os.close(self._wake)

    def _settle(self, workers: Workers) -> None:
        """Have the workers run the device's pipeline, and take over what they have for the control plane."""
        pipeline = self._device.pipeline
        if pipeline is not self._pipeline and pipeline is not None:
            assert pipeline.switch.engine == "native"
            with self._device.exclusive():
                workers.run(cast("NativeSwitch", pipeline.switch), self._device.start_ns)
            self._pipeline = pipeline
            self._device.threads = True
        self._device.settle()
        self._device.send_notices()

    def _turn(self, timeout_s: float) -> None:
        congested = any(port.congested for port in self._ports.values())
        poll = select.poll()
        poll.register(self._wake, select.POLLIN)
        owners: dict[int, int] = {}
        for number, port in self._ports.items():
            for descriptor, events in port.interest():
                wanted = events & ~select.POLLIN if congested else events
                if wanted:
                    poll.register(descriptor, wanted)
                    owners[descriptor] = number
        if congested:
            timeout_s = min(timeout_s, CONGESTED_WAIT_S)
        notices_s = self._device.notices_due_s
        if notices_s is not None:
            timeout_s = min(timeout_s, max(notices_s, NOTICE_WAIT_S))
        poll.register(self._alarm, select.POLLIN)
        if self._workers is not None:
            poll.register(self._workers, select.POLLIN)
        parts: list[PacketBatch] = []
        for descriptor, events in self._wait(poll, timeout_s):
            if descriptor == self._wake:
                parts += self._take_injected()
                continue
            if descriptor == self._alarm.fileno():
                self._alarm.clear()
                continue
            if self._workers is not None and descriptor == self._workers.fileno():
                self._take_exceptions(self._workers)
                continue
            number = owners[descriptor]
            if events & select.POLLOUT:
                self._ports[number].flush()
            if events & ~select.POLLOUT:
                for batch in self._ports[number].receive():
                    batch.ports[:] = number
                    parts.append(batch)
        self._process(parts)

    def _process(self, parts: list[PacketBatch]) -> None:
        """Run what has arrived through the pipeline, or what is due in it."""
        arrived = list(PacketBatch.groups(parts, _AT_ONCE))
        if not arrived and self._device.due_s == 0.0:
            arrived.append([])
        for batches in arrived:
            self._distribute(self._device.process_all(batches, self._busy()))
        if not arrived:
            self._device.send_notices()

    def _wait(self, poll: select.poll, timeout_s: float) -> list[tuple[int, int]]:
        """Descriptors with events; before the loop waits, all ports are told (:meth:`Port.rest`)."""
        there = poll.poll(0)
        if there or timeout_s <= 0:
            return there
        for port in self._ports.values():  # also where a queue is due at once: hosts would wait as long as queues hold
            port.rest()
        due_s = self._device.due_s
        if due_s == 0:
            return []
        if due_s is not None and due_s < timeout_s:
            self._alarm.set(due_s)
        return poll.poll(timeout_s * 1000)

    def _busy(self) -> list[int]:
        """Ports whose links take no more now, whatever waits for them."""
        waiting = [number for number, port in self._ports.items() if port.busy]
        for number in waiting:
            self._ports[number].flush()
        return [number for number in waiting if self._ports[number].busy]

    def _take_injected(self) -> list[PacketBatch]:
        os.eventfd_read(self._wake)
        injected = []
        while self._injected:
            injected.append(self._injected.popleft())
            self._room.release()
        return injected

    def _take_exceptions(self, workers: Workers) -> None:
        """Send frames on that workers cannot."""
        out = workers.exceptions()
        if self._pipeline is not None:
            out = self._device.leave(self._pipeline, out)
        self._distribute(out)

    def _distribute(self, out: PacketBatch) -> None:
        if not len(out):
            return
        order = np.argsort(out.ports, kind="stable")
        ports = out.ports[order]
        starts = np.flatnonzero(np.concatenate(([True], ports[1:] != ports[:-1])))
        for number, rows in zip(ports[starts].tolist(), np.split(order, starts[1:]), strict=True):
            port = self._ports.get(number)
            if port is None:
                self.unknown += len(rows)
            else:
                port.send(out, rows)
