# SPDX-License-Identifier: Apache-2.0
"""Settings of a switch that runs as a process, and their transfer to it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any

from offramp_base.numerals import whole_number
from offramp_base.p4rt.tls import Tls
from offramp_base.settings.check import check
from offramp_base.settings.error import SettingsError
from offramp_base.settings.field import Field
from offramp_base.settings.units import MEBIBYTES
from offramp_base.transport.links import AUTO, TRANSPORTS
from offramp_p4.ports.dpdk.devices import is_device
from offramp_p4.program_source import PreprocessorSettings
from offramp_p4.tm.config import MAX_PORT, TmConfig

FILES = "files:"
"""Prefix of a port whose frames are read from a capture and written to another."""
PEER = "peer:"
"""Prefix of a port's path: a link to the Unix socket of another switch's port."""
_PACKET_PORTS = 512
"""Ports that a packet can be sent to for a test; v1model has 9 bits for them."""
ENGINES = {"auto": "native where it can", "native": "machine code", "python": "readable, traces"}


def parse_port(text: str) -> tuple[int, str]:
    """``1@veth1`` or ``2@udp:127.0.0.1:7002`` as a port number and an attachment.

    Raises:
        ValueError: not of this form, or the number is out of range.
    """
    name, at, spec = text.partition("@")
    number = whole_number(name)
    if not at or not spec or number is None:
        raise ValueError("expected NUMBER@LINK, such as 1@veth1 or 1@unix:/tmp/port1")
    if number > MAX_PORT:
        raise ValueError(f"expected a port of 0 to {MAX_PORT}")
    return number, spec


def parse_packet(text: str) -> tuple[int, bytes]:
    """``PORT:HEX``.

    Raises:
        ValueError: something else.
    """
    port, colon, digits = text.partition(":")
    number = whole_number(port)
    try:
        data = bytes.fromhex(digits)
    except ValueError:
        number = None
    if number is None or not colon or number >= _PACKET_PORTS:
        raise ValueError("expected PORT:HEX such as 1:0011223344")
    return number, data


@dataclass(frozen=True, kw_only=True)
class Settings(PreprocessorSettings):
    """The settings of a switch; sizes in bytes.

    Attributes:
        program: P4 source file, or bmv2's JSON (``.json``); None: wait for a controller to push one.
        ports: port number to a link, as :func:`offramp_base.transport.parse_link` takes it, or
            ``peer:PATH``: a link to another switch's ``unix:PATH``.
        address: address of the P4Runtime server, ``host:port`` (port 0: a free one) or ``unix:PATH``.
        bfrt, gnmi: addresses of the BF-RT and the gNMI server, which may be that of P4Runtime; None: there is none.
        tm: traffic manager; None: what the program sends leaves at once.
        log: ``-`` is standard output.
        log_like_bmv2: the log has bmv2's lines in place of trees.
        log_levels: letters of the levels of those lines.
        max_message: None: the default of :class:`~offramp_p4.runtime.server.Server`.
        translation: for the name of a type with ``@p4runtime_translation``, the controller's value to the program's.
    """

    program: Annotated[str | None, Field("P4-16 source, or bmv2's JSON", position=True, shown_default="")] = None
    ports: Annotated[
        Mapping[int, str],
        Field(
            "NUMBER@LINK for each port: an interface, unix:PATH, udp:HOST:PORT[,peer=HOST:PORT], af_packet:IF, "
            "bundle:IF, af_xdp:IF, memif:PATH[,client], dpdk:DEVICE[,ARGUMENTS] or files:STEM",
            key="interface",
            short="-i",
            item=parse_port,
            group="Ports",
        ),
    ] = field(default_factory=dict)
    transport: Annotated[
        str,
        Field(
            "Transport that opens links named by a bare interface; auto: af_packet",
            choices=(AUTO, *TRANSPORTS),
            rare=True,
        ),
    ] = AUTO
    cores: Annotated[int, Field("Threads for DPDK ports (memif, dpdk)", least=1, most=16, rare=True)] = 1
    spread: Annotated[
        str,
        Field(
            "How packets are assigned to these threads",
            choices={"port": "where it comes in", "flow": "its addresses, or those of Ethernet"},
            rare=True,
        ),
    ] = "port"
    huge_pages: Annotated[
        bool, Field("Give DPDK huge pages, which cards want and virtual devices do not", rare=True)
    ] = False
    cpu_port: Annotated[int | None, Field("Packets to this port go to the controller", least=0, most=MAX_PORT)] = None
    drop_port: Annotated[int, Field("egress_spec that drops", rare=True)] = 511
    pcap: Annotated[str | None, Field("Capture what each port receives and sends to files in this folder")] = None
    address: Annotated[
        str, Field("P4Runtime server: HOST:PORT or unix:PATH", key="grpc_server_addr", group="P4Runtime")
    ] = "127.0.0.1:9559"
    bfrt: Annotated[
        str | None,
        Field(
            "Serve BF-RT too, for TNA programs: HOST:PORT or unix:PATH, with the same certificates and limits",
            key="bfrt_server_addr",
            rare=True,
        ),
    ] = None
    gnmi: Annotated[
        str | None,
        Field(
            "Serve gNMI too, for the ports: HOST:PORT or unix:PATH, with the same certificates and limits; may be the "
            "address of P4Runtime",
            key="gnmi_server_addr",
            rare=True,
        ),
    ] = None
    grpc_cert: Annotated[str | None, Field("Certificate of the P4Runtime server, PEM: serve with TLS", rare=True)] = (
        None
    )
    grpc_key: Annotated[str | None, Field("Private key of that certificate, PEM", rare=True)] = None
    grpc_ca: Annotated[str | None, Field("Clients must show a certificate signed by one of these, PEM", rare=True)] = (
        None
    )
    insecure: Annotated[bool, Field("Serve P4Runtime to other machines although clients show no certificates")] = False
    device_id: Annotated[int, Field("P4Runtime device", least=0, rare=True)] = 0
    engine: Annotated[str, Field("Engine that runs the program", choices=ENGINES, group="Program")] = "auto"
    seed: Annotated[int, Field("Random seed for the program's random()", least=0, rare=True)] = 0
    debug: Annotated[
        str | None,
        Field("Let editors debug the program, by the Debug Adapter Protocol: HOST:PORT or unix:PATH", rare=True),
    ] = None
    log: Annotated[str | None, Field("Write the trace of each packet to this file", key="log_file", group="Logs")] = (
        None
    )
    traces: Annotated[
        str | None, Field("Write the trace of each packet to this file as JSON lines, one per packet", key="trace")
    ] = None
    max_message: Annotated[
        int | None,
        Field(
            "Size of a P4Runtime request, in MiB",
            unit=MEBIBYTES,
            least=1 << 20,
            most=1 << 30,
            shown_default="4, or 64 where clients show certificates",
            group="Limits",
            rare=True,
        ),
    ] = None
    compile_seconds: Annotated[
        float,
        Field(
            "Processor time to compile a program that a controller pushes; four times as long by the clock", rare=True
        ),
    ] = 30.0
    compile_memory: Annotated[
        int, Field("Memory to compile a program that a controller pushes, in MiB", unit=MEBIBYTES, rare=True)
    ] = 4 << 30
    register_memory: Annotated[
        int, Field("Memory for a program's registers, counters and meters, in MiB", unit=MEBIBYTES, least=1, rare=True)
    ] = 1 << 30
    packet_steps: Annotated[
        int, Field("Statements that one packet may run in loops, with all its copies and passes", least=1, rare=True)
    ] = 1 << 20
    tm: TmConfig | None = None
    log_like_bmv2: bool = False
    log_levels: str = "DT"
    translation: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check(self)
        if self.debug is not None and self.tm is not None:
            raise SettingsError("debug", "expected without a traffic manager", self.debug)
        if self.debug is not None and (self.log is not None or self.traces is not None):
            raise SettingsError("debug", "expected without {log} and {traces}", self.debug)
        if self.on_devices:
            self._check_devices()
        elif self.cores > 1:
            raise SettingsError("cores", "expected with DPDK ports, such as memif:PATH", self.cores)
        if self.pcap is not None and not os.path.isdir(self.pcap):  # noqa: PTH112 (False for what cannot be a name)
            raise SettingsError("pcap", "no such folder", self.pcap[:200])

    def _check_devices(self) -> None:
        """Check that all settings are compatible with threads that run machine code on their own."""
        if self.engine == "python":
            raise SettingsError("engine", "expected native, or auto: DPDK ports run machine code", self.engine)
        for name in ("tm", "debug", "log", "traces", "pcap"):
            if getattr(self, name) is not None:
                what = "a traffic manager" if name == "tm" else f"{{{name}}}"
                raise SettingsError("ports", f"expected without {what} where ports are DPDK devices")

    @property
    def on_devices(self) -> dict[int, str]:
        """The ports whose links are devices of DPDK's."""
        return {number: link for number, link in self.ports.items() if is_device(link)}

    @property
    def tls(self) -> Tls | None:
        """The certificates; None: no TLS."""
        if self.grpc_cert is None and self.grpc_key is None and self.grpc_ca is None:
            return None
        return Tls(self.grpc_cert, self.grpc_key, self.grpc_ca)

    def to_json(self) -> str:
        """The settings as JSON for :func:`offramp_p4.serve.main` of a child process."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Settings:
        """The settings that :meth:`to_json` wrote."""
        raw: dict[str, Any] = json.loads(text)
        ports = {int(number): spec for number, spec in raw.pop("ports").items()}
        tm = raw.pop("tm")
        tm_config = None if tm is None else TmConfig.from_plain(tm)
        return cls(ports=ports, include=tuple(raw.pop("include")), tm=tm_config, **raw)
