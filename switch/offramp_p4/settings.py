# SPDX-License-Identifier: Apache-2.0
"""What a switch as a process is to run, and how it is told."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from offramp_base.p4rt.tls import Tls
from offramp_base.transport.links import AUTO

if TYPE_CHECKING:
    from offramp_p4.tm import TmConfig


PEER = "peer:"
"""Before the path of a port that is a link to the Unix socket of another switch's port."""


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
