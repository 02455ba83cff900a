# SPDX-License-Identifier: Apache-2.0
"""Several systems in one process that take turns on one switch: what each sends in a turn arrives in one batch, mixed.

A system is a thread that calls its channel as if the switch were its own. The batch of a turn is processed when every
system that has not left has sent. So a run depends on its seed alone.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import numpy as np

from offramp_base.wire.batch import PacketBatch

Process = Callable[[PacketBatch], PacketBatch]
_PROTOCOL: Final = 23
"""Byte of a frame: IPv4's protocol."""
_TIMEOUT_S: Final = 120.0


class OneSwitch:
    """A switch of several systems, which are told apart by the protocols of their packets.

    Args:
        process: the switch.
        seed: seed of the order in which systems' frames mix; each system's stay in order.
        protocols: one for each system that has one; all other frames are those of the last system.
    """

    def __init__(self, process: Process, seed: int, protocols: tuple[int, ...]) -> None:
        self._process, self._rng, self._protocols = process, np.random.default_rng(seed), protocols
        self._turn = threading.Condition()
        self._sent: dict[int, PacketBatch] = {}
        self._left: dict[int, PacketBatch] = {}
        self._members: set[int] = set()
        self._fault: BaseException | None = None

    def run(self, systems: dict[int, Callable[[Process], None]]) -> None:
        """Run all to their ends.

        Args:
            systems: what each does with its switch, by protocol; 0: frames.

        Raises:
            BaseException: the first that one of them raised.
        """
        self._members = set(systems)
        threads = [threading.Thread(target=self._one, args=(which, work)) for which, work in systems.items()]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(_TIMEOUT_S)
        if self._fault is not None:
            raise self._fault
        assert not any(thread.is_alive() for thread in threads), "a system waits for another"

    def _one(self, which: int, work: Callable[[Process], None]) -> None:
        try:
            work(lambda batch: self._exchange(which, batch))
        except BaseException as error:
            self._fault = self._fault or error
        finally:
            with self._changed():
                self._members.discard(which)

    def _exchange(self, which: int, batch: PacketBatch) -> PacketBatch:
        with self._changed():
            self._sent[which] = batch
        with self._turn:
            assert self._turn.wait_for(lambda: which in self._left, _TIMEOUT_S), "a system waits for another"
            return self._left.pop(which)

    @contextmanager
    def _changed(self) -> Iterator[None]:
        """A change after which the turn may be complete."""
        with self._turn:
            yield
            if self._members and self._members <= self._sent.keys():
                whole, self._sent = self._sent, {}
                self._left |= self._of_each(self._process(self._mixed(list(whole.values()))), whole)
            self._turn.notify_all()

    def _mixed(self, batches: list[PacketBatch]) -> PacketBatch:
        frames = PacketBatch.concatenate(batches)
        source = np.repeat(np.arange(len(batches)), [len(batch) for batch in batches])
        mixed = self._rng.permutation(source)
        rows = np.empty(len(source), np.intp)
        rows[np.argsort(mixed, kind="stable")] = np.arange(len(source))
        return frames.select(rows)

    def _of_each(self, departed: PacketBatch, systems: dict[int, PacketBatch]) -> dict[int, PacketBatch]:
        protocol = np.zeros(len(departed), np.int64)
        if len(departed):
            ipv4 = (departed.lengths > _PROTOCOL) & (departed.data[:, 12] == 8) & (departed.data[:, 13] == 0)
            protocol[ipv4] = departed.data[ipv4, _PROTOCOL]
            protocol[~np.isin(protocol, self._protocols)] = 0
        return {which: departed.select(np.equal(protocol, which)) for which in systems}
