# SPDX-License-Identifier: Apache-2.0
"""A port whose frames are also written to capture files, like ``simple_switch --pcap``."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import TYPE_CHECKING

from offramp_base.wire import pcap

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from offramp_base.wire.batch import PacketBatch
    from offramp_p4.ports.base import Port


class CapturedPort:
    """``port``, with what it receives in ``NAME_in.pcap`` and what it sends in ``NAME_out.pcap`` of ``folder``.

    Raises:
        OfframpError: the files cannot be made.
    """

    def __init__(self, port: Port, folder: Path) -> None:
        self._port = port
        stem = re.sub(r"[^\w.-]+", "-", port.name.removeprefix("unix:")).strip("-")
        self._in, self._out = (pcap.CaptureWriter(folder / f"{stem}_{way}.pcap") for way in ("in", "out"))
        self.name, self.stats = port.name, port.stats

    def interest(self) -> list[tuple[int, int]]:
        """Descriptors and events that the port waits for."""
        return self._port.interest()

    def receive(self) -> list[PacketBatch]:
        """Frames that the port received; they are also captured."""
        batches = self._port.receive()
        for batch in batches:
            if len(batch):
                self._in.write(_now_us(), batch.frames())
        return batches

    def send(self, batch: PacketBatch, rows: npt.NDArray[np.intp] | None = None) -> None:
        """Send by the port."""
        self._out.write(_now_us(), (batch if rows is None else batch.select(rows)).frames())
        self._port.send(batch, rows)

    def flush(self) -> None:
        """Send the frames that the port has kept."""
        self._port.flush()

    def rest(self) -> None:
        """Tell the port that the loop is about to wait."""
        self._port.rest()

    @property
    def congested(self) -> bool:
        """Whether the port is congested."""
        return self._port.congested

    @property
    def busy(self) -> bool:
        """Whether the port is busy."""
        return self._port.busy

    @property
    def up(self) -> bool:
        """Whether the port's link is up."""
        return self._port.up

    def tick(self, now: float) -> None:
        """Pass the tick on to the port."""
        self._port.tick(now)

    def close(self) -> None:
        """Close port and files."""
        self._port.close()
        self._in.close()
        self._out.close()


def _now_us() -> int:
    return time.time_ns() // 1000
