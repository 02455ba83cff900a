# SPDX-License-Identifier: Apache-2.0
"""A switch as a process: program, P4Runtime server, ports (what ``simple_switch_grpc`` is for bmv2)."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import FrameType
from typing import IO, TYPE_CHECKING, NamedTuple

from offramp_base.collection import without_collection
from offramp_base.errors import OfframpError
from offramp_base.freed_memory import keep_freed_memory
from offramp_base.transport.links import AUTO, interface_opener, parse_link
from offramp_p4.settings import FILES, PEER, Settings

if TYPE_CHECKING:
    from offramp_p4.debugging import DebugListener, ServedDebugger
    from offramp_p4.ports.base import Port
    from offramp_p4.ports.dpdk.workers import Workers
    from offramp_p4.ports.forwarder import Forwarder
    from offramp_p4.ports.panel import FrontPanel
    from offramp_p4.runtime.bounded import BoundedCompiler
    from offramp_p4.runtime.device import P4Device
    from offramp_p4.runtime.server import Server
    from offramp_p4.runtime.wire import ServiceEndpoint
    from offramp_p4.trace.model import PacketTrace

__all__ = ["RunningSwitch", "Settings", "build", "run"]

KEPT_BYTES = 128 << 20
"""Freed memory that a running switch keeps for its next batches."""
RINGS_BYTES, LEAST_RING_BYTES = 128 << 20, 2 << 20
"""Memory for what arrives on interfaces: of all ports together, and at least for each."""


def open_port(spec: str, ring_bytes: int, transport: str = AUTO) -> Port:
    """The back end of one port; on a bare interface by ``transport``, with ``ring_bytes`` for what arrives.

    Raises:
        OfframpError: not a link, no such interface, no permission, or the socket cannot be made.
    """
    if spec.startswith(PEER):
        from offramp_p4.ports.unix_peer import UnixPeer

        return UnixPeer(spec.removeprefix(PEER))
    link = parse_link(spec, transport)
    if link.transport == "unix":
        from offramp_p4.ports.unix import UnixPort

        return UnixPort(link.where)
    if link.transport == "shm":
        from offramp_p4.ports.shm import ShmPort

        return ShmPort(link.where)
    if link.transport == "udp":
        from offramp_p4.ports.udp import UdpPort

        return UdpPort(link.where)
    from offramp_p4.ports.interface import InterfacePort

    return InterfacePort(spec, link.where, interface_opener(link, ring_bytes))


@dataclass
class RunningSwitch:
    """A switch with open ports that answers P4Runtime; :meth:`forward` moves packets until :meth:`stop`.

    Attributes:
        servers: servers by protocol, P4Runtime first; two protocols at one address have the same.
    """

    device: P4Device
    forwarder: Forwarder
    ports: dict[int, Port]
    servers: Mapping[str, Server]
    compiler: BoundedCompiler
    debugger: ServedDebugger | None = None
    debugging: DebugListener | None = None

    @property
    def address(self) -> str:
        """The address at which P4Runtime is served."""
        return str(next(iter(self.servers.values())).address)

    def forward(self, ending: Callable[[], None] = lambda: None) -> None:
        """Move packets until :meth:`stop`, call ``ending``, then close ports and server."""
        try:
            self.forwarder.run(ending)
        finally:
            if self.debugging is not None:
                self.debugging.close()
            for server in dict.fromkeys(self.servers.values()):
                server.stop()
            self.compiler.close()

    def attach(self, number: int, port: Port) -> None:
        """Add a port while the switch runs.

        Raises:
            OfframpError: the number is taken; the port is not used then.
        """
        if number in self.ports or number == self.device.cpu_port:
            raise OfframpError(f"port {number} is taken")
        self.ports[number] = port
        self.forwarder.attach(number, port)

    def detach(self, number: int) -> None:
        """Remove a port while the switch runs, and close it.

        Raises:
            OfframpError: there is no such port.
        """
        if self.ports.pop(number, None) is None:
            raise OfframpError(f"there is no port {number}")
        self.forwarder.detach(number)

    def stop(self) -> None:
        """End :meth:`forward`; may be called from a signal handler."""
        if self.debugger is not None:
            self.debugger.close()  # a packet that is held goes on
        self.forwarder.stop()


def build(settings: Settings, traces: Callable[[PacketTrace], object] | None = None) -> RunningSwitch:
    """Load the program, open the ports, start the server.

    ``traces`` gets the trace of each packet, which only the Python engine has.

    Raises:
        OfframpError: the program is refused, a port cannot be opened, the address is in use.
    """
    from offramp_p4.maker import SwitchMaker
    from offramp_p4.ports.forwarder import Forwarder
    from offramp_p4.runtime.bounded import BoundedCompiler, CompileBudget
    from offramp_p4.runtime.device import P4Device
    from offramp_p4.runtime.translation import Translations

    trace = None
    if settings.log is not None or settings.traces is not None or traces is not None:
        from offramp_p4.trace.sinks import TraceSink

        like_bmv2, levels = settings.log_like_bmv2, settings.log_levels
        trace = TraceSink(settings.log, settings.traces, like_bmv2=like_bmv2, levels=levels, further=traces)
    debugger = None
    if settings.debug is not None:
        from offramp_p4.extensions import DEBUGGERS, extension

        debugger = extension(DEBUGGERS, "dap")()
    make = SwitchMaker(
        "native" if settings.on_devices else settings.engine,
        seed=settings.seed,
        cpu_port=settings.cpu_port,
        drop_port=settings.drop_port,
        max_state=settings.register_memory,
        max_steps=settings.packet_steps,
        tm=settings.tm,
        trace=trace,
        debugger=debugger,
    )
    compiler = BoundedCompiler(make, CompileBudget(settings.compile_seconds, settings.compile_memory))
    if settings.cpu_port is not None and settings.cpu_port in settings.ports:
        raise OfframpError(f"port {settings.cpu_port} is the CPU port and cannot be attached to anything")
    device = P4Device(settings.device_id, make, settings.cpu_port, Translations(settings.translation), compiler)
    if settings.program is not None:
        from offramp_p4.programs import load_program

        device.load(load_program(settings.program, [Path(folder) for folder in settings.include], settings.defines))
    debugging = None
    if debugger is not None and settings.debug is not None:
        debugging = debugger.listen(settings.debug)
    try:
        opened = _open(settings, device)
    except OfframpError:
        if debugging is not None:
            debugging.close()
        raise
    forwarder = Forwarder(device, opened.ports, opened.workers)
    for server in dict.fromkeys(opened.servers.values()):
        server.start()
    if settings.program is None:
        compiler.warm()  # a controller is going to push one
    return RunningSwitch(device, forwarder, opened.ports, opened.servers, compiler, debugger, debugging)


class _OpenedSwitch(NamedTuple):
    """Ports, workers and servers that a switch has opened."""

    ports: dict[int, Port]
    workers: Workers | None
    servers: dict[str, Server]


def _open(settings: Settings, device: P4Device) -> _OpenedSwitch:
    """Ports, the threads of some of them, the servers of all protocols: all of them, or none stays open."""
    from offramp_p4.ports.capture import CapturedPort
    from offramp_p4.ports.panel import FrontPanel, GatedPort

    ports: dict[int, Port] = {}
    workers: Workers | None = None
    servers: dict[str, Server] = {}
    share = max(RINGS_BYTES // max(1, len(settings.ports)), LEAST_RING_BYTES)
    try:
        if settings.on_devices:
            from offramp_p4.ports.dpdk.opening import open_devices

            ports, workers = open_devices(settings)
        captures = {n: spec.removeprefix(FILES) for n, spec in settings.ports.items() if spec.startswith(FILES)}
        if captures:
            from offramp_p4.ports.files import open_files

            ports.update(open_files(captures))
        for number, spec in settings.ports.items():
            if number in ports:
                continue
            ports[number] = open_port(spec, share, settings.transport)
            if settings.pcap is not None:
                ports[number] = CapturedPort(ports[number], Path(settings.pcap))
            if settings.bfrt is not None or settings.gnmi is not None:  # else nobody counts or disables ports
                ports[number] = GatedPort(ports[number])
        _listen(settings, device, FrontPanel(ports, device.environment.links, device.cpu_port), servers)
    except OfframpError:
        for server in dict.fromkeys(servers.values()):
            server.stop()
        if workers is not None:
            workers.close()
        for port in ports.values():
            port.close()
        raise
    return _OpenedSwitch(ports, workers, servers)


def _listen(settings: Settings, device: P4Device, panel: FrontPanel, servers: dict[str, Server]) -> None:
    """Bind a server for each address that is asked for; protocols of the same address share it.

    Raises:
        OfframpError: an address cannot be bound; ``servers`` holds those that could.
    """
    from offramp_p4.runtime.server import Server
    from offramp_p4.runtime.service import P4RuntimeService

    services: list[tuple[str, ServiceEndpoint]] = [(settings.address, P4RuntimeService(device))]
    for name, where in (("bfrt", settings.bfrt), ("gnmi", settings.gnmi)):
        if where is not None:
            from offramp_p4.extensions import SERVICES, extension

            services.append((where, extension(SERVICES, name)(device, panel)))
    together: list[tuple[str, list[ServiceEndpoint]]] = []
    for address, service in services:
        # Port 0 is a free one, and another one each time.
        same = next((each for at, each in together if at == address and not at.endswith(":0")), None)
        if same is None:
            together.append((address, [service]))
        else:
            same.append(service)
    serve = partial(Server, tls=settings.tls, insecure=settings.insecure, max_message=settings.max_message)
    for address, each in together:
        server = serve(each, address)
        servers.update((service.wire.name, server) for service in each)


def run(
    settings: Settings,
    ready: Callable[[RunningSwitch], None],
    ending: Callable[[], None] = lambda: None,
    traces: Callable[[PacketTrace], object] | None = None,
) -> RunningSwitch:
    """Run a switch in the main thread until SIGINT or SIGTERM.

    ``ready`` is called once it answers, ``ending`` before it closes its ports; ``traces`` as for :func:`build`.

    Raises:
        OfframpError: it cannot start.
    """
    keep_freed_memory(KEPT_BYTES)
    with without_collection():  # which takes a sixth of a start
        running = build(settings, traces)

    def end(_signal: int, _frame: FrameType | None) -> None:
        running.stop()

    previous = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        ready(running)
        running.forward(ending)
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
    return running


def die_with_parent(end: Callable[[], None], pipe: IO[str] | None = None) -> None:
    """Call ``end`` when the standard input, a pipe from the parent, closes."""
    stdin = pipe or sys.stdin

    def watch() -> None:
        while stdin.read(1):
            pass
        end()

    threading.Thread(target=watch, name="parent", daemon=True).start()


def main() -> None:
    """Entry of a child process: settings in, one line of JSON out (``address`` and ``links``, or ``error``).

    Another line, ``ending``, goes out before the ports close: their users then know the cause.
    """

    def announce(running: RunningSwitch) -> None:
        die_with_parent(running.stop)
        links = [running.ports[number].name for number in settings.ports]
        sys.stdout.write(json.dumps({"address": running.address, "links": links}) + "\n")
        sys.stdout.flush()

    def ending() -> None:
        with contextlib.suppress(OSError):  # the parent has gone
            os.write(sys.stdout.fileno(), b"ending\n")

    settings = Settings.from_json(sys.argv[1])
    try:
        run(settings, announce, ending)
    except OfframpError as error:
        sys.stdout.write(json.dumps({"error": str(error)}) + "\n")
        sys.exit(2)


if __name__ == "__main__":
    main()
