# SPDX-License-Identifier: Apache-2.0
"""A switch as a process: program, P4Runtime server, ports (what ``simple_switch_grpc`` is for bmv2)."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from offramp_base.errors import OfframpError
from offramp_base.numerals import whole_number
from offramp_base.p4rt.tls import Tls
from offramp_base.transport.links import AUTO, interface_opener, parse_link
from offramp_p4.embedded import PEER, EmbeddedSwitch, die_with_parent

if TYPE_CHECKING:
    from offramp_p4.ports.base import Port
    from offramp_p4.ports.forwarder import Forwarder
    from offramp_p4.runtime.bounded import BoundedCompiler
    from offramp_p4.runtime.device import Device
    from offramp_p4.runtime.server import Server
    from offramp_p4.tm import TmConfig

__all__ = ["EmbeddedSwitch", "Running", "Settings", "build", "parse_port", "run"]

MAX_PORT = 510
"""Port 511 of v1model drops."""
RINGS_BYTES, LEAST_RING_BYTES = 128 << 20, 2 << 20
"""Memory for what arrives on interfaces: of all ports together, and at least for each."""


@dataclass(frozen=True)
class Settings:
    """What to run.

    Attributes:
        program: P4 source file; None: wait for a controller to push one.
        ports: port number to a link, as :func:`offramp_base.transport.parse_link` takes it, or
            ``peer:PATH``: a link to another switch's ``unix:PATH``.
        transport: opens the bare interfaces among them.
        address: of the P4Runtime server, ``host:port`` (port 0: a free one) or ``unix:PATH``.
        cpu_port: packets that leave by it become packet-ins.
        include, defines: for the program's preprocessor.
        tm: traffic manager; None: what the program sends leaves at once.
        engine: what runs the program, one of :data:`offramp_p4.engines.ENGINES`.
        drop_port: egress_spec that drops.
        pcap: folder for captures of all ports; None: none are made.
        log, traces: files for the trace of each packet, as trees (``-``: standard output) and as JSON lines.
        grpc_cert, grpc_key: PEM files of the P4Runtime server for TLS; None: no TLS.
        grpc_ca: PEM file with the certificates that sign those of clients; None: clients need none.
        insecure: serve P4Runtime on an address that other machines reach though clients show no certificates.
        max_message: bytes of a P4Runtime request; None: the default of :class:`~offramp_p4.runtime.server.Server`.
        compile_seconds, compile_memory: budget of compiling one pushed program; bytes.
        register_memory: bytes for the registers, counters and meters of a program.
        packet_steps: statements that one packet may run in loops.
        translation: for the name of a type with ``@p4runtime_translation``, the controller's value to the program's.
    """

    program: str | None
    ports: Mapping[int, str]
    address: str = "127.0.0.1:9559"
    device_id: int = 0
    cpu_port: int | None = None
    seed: int = 0
    include: tuple[str, ...] = ()
    defines: Mapping[str, str] = field(default_factory=dict)
    tm: TmConfig | None = None
    engine: str = "auto"
    drop_port: int = 511
    pcap: str | None = None
    log: str | None = None
    traces: str | None = None
    grpc_cert: str | None = None
    grpc_key: str | None = None
    grpc_ca: str | None = None
    translation: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    transport: str = AUTO
    insecure: bool = False
    max_message: int | None = None
    compile_seconds: float = 30.0
    compile_memory: int = 4 << 30
    register_memory: int = 1 << 30
    packet_steps: int = 1 << 20

    @property
    def tls(self) -> Tls | None:
        """The certificates; None: no TLS."""
        if self.grpc_cert is None and self.grpc_key is None and self.grpc_ca is None:
            return None
        return Tls(self.grpc_cert, self.grpc_key, self.grpc_ca)

    def to_json(self) -> str:
        """For :func:`main` of a child process."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Settings:
        """The settings that :meth:`to_json` wrote."""
        raw: dict[str, Any] = json.loads(text)
        ports = {int(number): spec for number, spec in raw.pop("ports").items()}
        tm = raw.pop("tm")
        if tm is not None:
            from offramp_p4.tm import TmConfig

            tm = TmConfig.from_plain(tm)
        return cls(ports=ports, include=tuple(raw.pop("include")), tm=tm, **raw)


def parse_port(text: str) -> tuple[int, str]:
    """``1@veth1`` or ``2@udp:127.0.0.1:7002`` as a number and what it is attached to.

    Raises:
        OfframpError: not of this form, or the number is out of range.
    """
    name, at, spec = text.partition("@")
    number = whole_number(name)
    if not at or not spec or number is None:
        raise OfframpError(f"port {text!r}: expected NUMBER@LINK, such as 1@veth1 or 1@unix:/tmp/port1")
    check_port_number(number)
    return number, spec


def check_port_number(number: int) -> None:
    """Whether v1model can name the port.

    Raises:
        OfframpError: it cannot.
    """
    if not 0 <= number <= MAX_PORT:
        raise OfframpError(f"port {number}: expected 0..{MAX_PORT}")


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
    if link.transport == "udp":
        from offramp_p4.ports.udp import UdpPort

        return UdpPort(link.where)
    from offramp_p4.ports.interface import InterfacePort

    return InterfacePort(spec, link.where, interface_opener(link, ring_bytes))


@dataclass
class Running:
    """A switch with open ports that answers P4Runtime; :meth:`forward` moves packets until :meth:`stop`."""

    device: Device
    forwarder: Forwarder
    ports: Mapping[int, Port]
    server: Server
    compiler: BoundedCompiler

    @property
    def address(self) -> str:
        """Where P4Runtime is served."""
        return str(self.server.address)

    def forward(self, ending: Callable[[], None] = lambda: None) -> None:
        """Move packets until :meth:`stop`, call ``ending``, then close ports and server."""
        try:
            self.forwarder.run(ending)
        finally:
            self.server.stop()
            self.compiler.close()

    def stop(self) -> None:
        """End :meth:`forward`; may be called from a signal handler."""
        self.forwarder.stop()


def build(settings: Settings) -> Running:
    """Load the program, open the ports, start the server.

    Raises:
        OfframpError: the program is refused, a port cannot be opened, the address is in use.
    """
    from offramp_p4.maker import SwitchMaker
    from offramp_p4.ports.capture import CapturedPort
    from offramp_p4.ports.forwarder import Forwarder
    from offramp_p4.runtime.bounded import BoundedCompiler, CompileBudget
    from offramp_p4.runtime.device import Device
    from offramp_p4.runtime.server import Server
    from offramp_p4.runtime.service import Service
    from offramp_p4.runtime.translation import Translations

    trace = None
    if settings.log is not None or settings.traces is not None:
        from offramp_p4.trace.sinks import Sink

        trace = Sink(settings.log, settings.traces)
    make = SwitchMaker(
        settings.engine,
        seed=settings.seed,
        cpu_port=settings.cpu_port,
        drop_port=settings.drop_port,
        max_state=settings.register_memory,
        max_steps=settings.packet_steps,
        tm=settings.tm,
        trace=trace,
    )
    compiler = BoundedCompiler(make, CompileBudget(settings.compile_seconds, settings.compile_memory))
    if settings.cpu_port is not None and settings.cpu_port in settings.ports:
        raise OfframpError(f"port {settings.cpu_port} is the CPU port and cannot be attached to anything")
    device = Device(settings.device_id, make, settings.cpu_port, Translations(settings.translation), compiler)
    if settings.program is not None:
        from offramp_p4.frontend import load

        include = [Path(folder) for folder in settings.include]
        device.load(load(settings.program, include=include, defines=settings.defines))
    ports: dict[int, Port] = {}
    share = max(RINGS_BYTES // max(1, len(settings.ports)), LEAST_RING_BYTES)
    try:
        for number, spec in settings.ports.items():
            ports[number] = open_port(spec, share, settings.transport)
            if settings.pcap is not None:
                ports[number] = CapturedPort(ports[number], Path(settings.pcap))
        server = Server(
            Service(device),
            settings.address,
            settings.tls,
            insecure=settings.insecure,
            max_message=settings.max_message,
        )
    except OfframpError:
        for port in ports.values():
            port.close()
        raise
    forwarder = Forwarder(device, ports)
    server.start()
    if settings.program is None:
        compiler.warm()  # a controller is going to push one
    return Running(device, forwarder, ports, server, compiler)


def run(settings: Settings, ready: Callable[[Running], None], ending: Callable[[], None] = lambda: None) -> Running:
    """Run a switch in the main thread until SIGINT or SIGTERM.

    ``ready`` is called once it answers, ``ending`` before it closes its ports.

    Raises:
        OfframpError: it cannot start.
    """
    running = build(settings)

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


def main() -> None:
    """Entry of a child process: settings in, one line of JSON out (``address`` and ``links``, or ``error``).

    Another line, ``ending``, goes out before the ports close: whoever relies on them then knows whose fault it is.
    """

    def announce(running: Running) -> None:
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
