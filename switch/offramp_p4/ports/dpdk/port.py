# SPDX-License-Identifier: Apache-2.0
"""A port on a device of DPDK's: workers move its packets; this is what Python knows of it."""

from __future__ import annotations

import ctypes
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from offramp_base.ending.left import temporary_folder
from offramp_base.errors import OfframpError
from offramp_base.transport.base import LinkStats
from offramp_base.wire.batch import PacketBatch
from offramp_p4.ports.dpdk.devices import Memif, parse_device
from offramp_p4.ports.dpdk.library import DpdkLibrary, PortStats
from offramp_p4.ports.dpdk.memif import MemifGuard
from offramp_p4.ports.unix import refuse_others

if TYPE_CHECKING:
    import numpy.typing as npt


class DpdkPort:
    """A port whose frames Python sees only where the controller or another kind of port sent them.

    Its device drops what it has no room for; that counts as dropped.

    Raises:
        OfframpError: not a link of this kind, no such device, or the driver refuses.
    """

    def __init__(self, library: DpdkLibrary, link: str, number: int, cores: int) -> None:
        self.name, self.stats = link, LinkStats()
        self._library, self._number, self._up, self._refused = library, number, False, 0
        device = parse_device(link, number)
        self._guard: MemifGuard | None = None
        self._folder = ExitStack()
        arguments = device.arguments
        try:
            if isinstance(device, Memif):
                arguments += f",socket={device.path if device.client else self._listen(device)}"
            library.check(library.open(device.name.encode(), arguments.encode(), number, cores), link)
        except OfframpError:
            self._hang_up()
            raise
        self.tick(0.0)

    def _listen(self, device: Memif) -> str:
        """Guard the socket; the path of the one that the driver makes, in a folder of this process."""
        inner = str(Path(self._folder.enter_context(temporary_folder())) / "s")
        refuse_others(Path(device.path), self.name)

        def free() -> bool:
            self.tick(0.0)
            return not self._up

        self._guard = MemifGuard(device.path, inner, device.number, device.secret, free)
        return inner

    def _hang_up(self) -> None:
        if self._guard is not None:
            self._guard.close()
        self._folder.close()

    def interest(self) -> list[tuple[int, int]]:
        """Descriptors and events of a memif port's clients; frames are the workers' matter."""
        return [] if self._guard is None else self._guard.interest()

    def receive(self) -> list[PacketBatch]:
        """No frames: see :meth:`interest`."""
        if self._guard is not None:
            self._guard.turn()
        return []

    def send(self, batch: PacketBatch, rows: npt.NDArray[np.intp] | None = None) -> None:
        """Give frames to the worker that has the port; what does not fit is dropped."""
        which = np.arange(len(batch)) if rows is None else np.ascontiguousarray(rows, np.int64)
        data, lengths = np.ascontiguousarray(batch.data, np.uint8), np.ascontiguousarray(batch.lengths, np.int32)
        arrays = data.ctypes.data, data.strides[0], which.ctypes.data, lengths.ctypes.data
        self._refused += len(which) - self._library.send(self._number, *arrays, len(which))

    def flush(self) -> None:
        """Keep nothing."""

    def rest(self) -> None:
        """Do nothing."""

    @property
    def congested(self) -> bool:
        """Never: a device drops."""
        return False

    @property
    def busy(self) -> bool:
        """Whether frames are kept, never."""
        return False

    @property
    def up(self) -> bool:
        """Whether the device has a link, as of the last :meth:`tick`."""
        return self._up

    def tick(self, now: float) -> None:
        """Take over the counts of the device."""
        if self._guard is not None:
            self._guard.tick(now)
            self.stats.strangers = self._guard.strangers
        counts = PortStats()
        if self._library.port_stats_of(self._number, ctypes.byref(counts)) == 0:
            self.stats.received, self.stats.sent, self.stats.missed = counts.received, counts.sent, counts.missed
            self.stats.dropped, self._up = counts.dropped + self._refused, bool(counts.up)

    def close(self) -> None:
        """Stop the device; no worker runs."""
        self.tick(0.0)
        self._library.close(self._number)
        self._hang_up()
