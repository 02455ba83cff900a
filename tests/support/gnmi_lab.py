# SPDX-License-Identifier: Apache-2.0
"""A switch that serves gNMI in the process of a test: on links in memory without a wire, or whole on Unix sockets."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from offramp_base.gnmi.paths import parse_path
from offramp_base.gnmi.schema import JSON, TypedValue, gnmi
from offramp_base.gnmi.session import values
from offramp_base.p4rt.session import Session
from offramp_base.p4rt.status import RpcError
from offramp_base.transport.base import LinkStats
from offramp_base.wire.batch import PacketBatch
from offramp_p4 import serve
from offramp_p4.ports.base import Port
from offramp_p4.ports.panel import FrontPanel, GatedPort
from offramp_p4.runtime.device import P4Device
from offramp_p4.switch import Switch
from offramp_p4_tools.gnmi.service import GnmiService

PROGRAM = Path(__file__).parents[1] / "conformance" / "conformance.p4"


@dataclass
class MemoryPort:
    """A port whose link is two lists of frames."""

    name: str
    stats: LinkStats = field(default_factory=LinkStats)
    up: bool = True
    arriving: list[bytes] = field(default_factory=list)
    left: list[bytes] = field(default_factory=list)
    congested = busy = False

    def interest(self) -> list[tuple[int, int]]:
        return []

    def receive(self) -> list[PacketBatch]:
        batch = PacketBatch.of([(0, frame) for frame in self.arriving])
        self.arriving.clear()
        self.stats.received += len(batch)
        return [batch]

    def send(self, batch: PacketBatch, rows: Any = None) -> None:
        frames = list((batch if rows is None else batch.select(rows)).frames())
        self.left += frames
        self.stats.sent += len(frames)
        self.stats.sent_bytes += sum(map(len, frames))

    def flush(self) -> None: ...

    def rest(self) -> None: ...

    def tick(self, now: float) -> None: ...

    def close(self) -> None: ...


class Bench:
    """The service over ports in memory, and what its answers hold."""

    def __init__(self, numbers: tuple[int, ...] = (1, 2, 3), ungated: tuple[int, ...] = ()) -> None:
        self.links = {number: MemoryPort(f"link{number}") for number in (*numbers, *ungated)}
        self.ports: dict[int, Port] = {n: GatedPort(link) for n, link in self.links.items() if n in numbers}
        self.ports |= {number: self.links[number] for number in ungated}
        self.device = P4Device(0, Switch)
        self.panel = FrontPanel(self.ports, self.device.environment.links)
        self.service = GnmiService(self.device, self.panel)

    def get(self, *paths: str, encoding: int = JSON, **fields: Any) -> dict[str, Any]:
        """Values by path."""
        return dict(values(self.reply(*paths, encoding=encoding, **fields).notification))

    def reply(self, *paths: str, **fields: Any) -> Any:
        """The GetResponse."""
        request = gnmi.GetRequest(path=[parse_path(path) for path in paths], **fields)
        return self.service.unary("Get", request)

    def set(self, **operations: Any) -> Any:
        """A Set of ``update`` and ``replace`` (pairs of path and TypedValue), and ``delete`` (paths)."""
        request = gnmi.SetRequest(delete=[parse_path(path) for path in operations.pop("delete", ())])
        for name in ("replace", "update"):
            for path, value in operations.pop(name, ()):
                getattr(request, name).add(path=parse_path(path), val=value)
        for name, value in operations.items():
            getattr(request, name).MergeFrom(value)
        return self.service.unary("Set", request)

    def enabled(self) -> dict[int, bool]:
        """Whether each port is enabled."""
        return {number: self.panel.enabled(number) for number in self.ports}


def truth(value: bool) -> Any:
    """A TypedValue."""
    return TypedValue(bool_val=value)


def json_value(text: str) -> Any:
    """A TypedValue of JSON_IETF."""
    return TypedValue(json_ietf_val=text.encode())


def refusal(function: Any, *args: Any, **kwargs: Any) -> tuple[str, str]:
    """Code and message of what must be refused."""
    try:
        function(*args, **kwargs)
    except RpcError as error:
        return error.code.name, error.message
    raise AssertionError("it was accepted")


@dataclass
class Whole:
    """A switch that moves frames between Unix sockets."""

    running: serve.RunningSwitch
    folder: Path

    @property
    def address(self) -> str:
        """The address of the gNMI service."""
        return str(self.running.servers["gNMI"].address)

    def link(self, number: int) -> str:
        """The host's end of a port."""
        return f"unix:{self.folder}/p{number}"


@contextmanager
def whole(folder: Path, numbers: tuple[int, ...] = (1, 2), **settings: Any) -> Iterator[Whole]:
    """A switch whose frames to :func:`frames.mac` of a port's number go there."""
    ports = {number: f"unix:{folder}/p{number}" for number in numbers}
    given = {
        "program": str(PROGRAM),
        "engine": "python",
        "address": f"unix:{folder}/p4rt",
        "gnmi": f"unix:{folder}/gnmi",
        **settings,
    }
    running = serve.build(serve.Settings(ports=ports, **given))
    thread = threading.Thread(target=running.forward)
    thread.start()
    try:
        with Session(running.address) as session:
            entries = [
                session.table_entry("mac", {"hdr.ethernet.dst": 0x02_00_00_00_00_00 | n}, "forward", {"port": n})
                for n in numbers
            ]
            session.insert(entries)
        yield Whole(running, folder)
    finally:
        running.stop()
        thread.join()
