# SPDX-License-Identifier: Apache-2.0
"""The embedded switch behind its BF-RT server on a Unix socket, in the process of a test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from offramp_base.wire.batch import PacketBatch
from offramp_p4 import make_switch
from offramp_p4.ir import Program
from offramp_p4.runtime.device import P4Device
from offramp_p4.runtime.server import Server
from offramp_p4_tools.bfrt.service import BfrtService


@dataclass
class BfrtDevice:
    """A switch that clients reach at ``address``."""

    address: str
    device: P4Device
    service: BfrtService
    server: Server

    @property
    def switch(self) -> Any:
        """The device that runs the program."""
        assert self.device.pipeline is not None
        return self.device.pipeline.switch

    def send(self, *frames: tuple[int, bytes]) -> list[tuple[int, bytes]]:
        """Frames that come out for frames that go in, with their ports."""
        out = self.device.process(PacketBatch.of(list(frames)))
        return list(zip(out.ports.tolist(), map(bytes, out.frames()), strict=True))

    def store(self, table: str) -> Any:
        """The object behind a table of the program or the chip."""
        served = self.service._current()
        assert served is not None
        return next(s for s in served.tables.stores.values() if s.spec.name == table)


@contextmanager
def bfrt_device(folder: Path, program: Program | None = None, engine: str = "python") -> Iterator[BfrtDevice]:
    """Serve a program, or wait for one that is pushed."""
    device = P4Device(0, partial(make_switch, engine=engine))
    if program is not None:
        device.load(program)
    service = BfrtService(device)
    with Server(service, f"unix:{folder}/bfrt") as server:
        yield BfrtDevice(server.address, device, service, server)
