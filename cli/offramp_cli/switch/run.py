# SPDX-License-Identifier: Apache-2.0
"""``offramp switch run``: the P4 software switch on network interfaces and sockets."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from typer.core import TyperCommand

from offramp_base.errors import OfframpError
from offramp_cli.switch import traffic
from offramp_cli.switch.link_options import Transport
from offramp_cli.switch.program import Engine, is_folder, macro

if TYPE_CHECKING:
    from offramp_p4.serve import Running


LOG_LEVELS: Final = {
    "trace": logging.DEBUG,
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warn": logging.WARNING,
    "error": logging.ERROR,
    "off": logging.CRITICAL + 1,
}


def run(
    program: Annotated[Path | None, typer.Argument(help="P4-16 source for v1model.", show_default=False)] = None,
    interface: Annotated[
        list[str] | None,
        typer.Option(
            "-i",
            "--interface",
            help="NUMBER@LINK for each port: an interface, unix:PATH, udp:HOST:PORT[,peer=HOST:PORT], af_packet:IF or "
            "af_xdp:IF.",
        ),
    ] = None,
    transport: Transport = "auto",
    grpc_server_addr: Annotated[str, typer.Option(help="P4Runtime server: HOST:PORT or unix:PATH.")] = "127.0.0.1:9559",
    grpc_cert: Annotated[
        Path | None, typer.Option(help="Certificate of the P4Runtime server, PEM: serve with TLS.", show_default=False)
    ] = None,
    grpc_key: Annotated[Path | None, typer.Option(help="Its private key, PEM.", show_default=False)] = None,
    grpc_ca: Annotated[
        Path | None,
        typer.Option(help="Clients must show a certificate signed by one of these, PEM.", show_default=False),
    ] = None,
    translation: Annotated[
        Path | None,
        typer.Option(
            help="JSON: for each type with @p4runtime_translation, controller's value to program's value.",
            show_default=False,
        ),
    ] = None,
    device_id: Annotated[int, typer.Option(help="P4Runtime device.")] = 0,
    cpu_port: Annotated[
        int | None, typer.Option(help="Packets to this port go to the controller.", show_default=False)
    ] = None,
    no_p4: Annotated[bool, typer.Option("--no-p4", help="Start without a program; a controller pushes it.")] = False,
    include: Annotated[list[Path] | None, typer.Option("-I", help="Folder for #include.")] = None,
    define: Annotated[list[str] | None, typer.Option("-D", help="Macro, NAME or NAME=VALUE.")] = None,
    drop_port: Annotated[int, typer.Option(help="egress_spec that drops.")] = 511,
    pcap: Annotated[
        Path | None,
        typer.Option(help="Capture what each port receives and sends to files in this folder.", show_default=False),
    ] = None,
    log_console: Annotated[bool, typer.Option("--log-console", help="Show the trace of each packet.")] = False,
    log_file: Annotated[
        Path | None, typer.Option(help="Write the trace of each packet to this file.", show_default=False)
    ] = None,
    trace: Annotated[
        Path | None, typer.Option(help="The same as JSON lines, one for each packet.", show_default=False)
    ] = None,
    log_level: Annotated[
        str, typer.Option("-L", "--log-level", help="Of the switch's own messages: debug, info, warn, error or off.")
    ] = "info",
    seed: Annotated[int, typer.Option(help="Seed of the program's random().")] = 0,
    engine: Engine = "auto",
    insecure: Annotated[
        bool,
        typer.Option(
            "--insecure",
            help="Serve P4Runtime where other machines reach it though clients show no certificates.",
        ),
    ] = False,
    max_message: Annotated[
        int | None,
        typer.Option(
            help="MB of a P4Runtime request.", show_default="4, or 64 where clients show certificates", min=1, max=1024
        ),
    ] = None,
    compile_seconds: Annotated[float, typer.Option(help="To compile a program that a controller pushes.")] = 30.0,
    compile_memory: Annotated[
        int, typer.Option(help="MB of memory to compile a program that a controller pushes.")
    ] = 4096,
    register_memory: Annotated[
        int, typer.Option(help="MB of memory for a program's registers, counters and meters.", min=1)
    ] = 1024,
    packet_steps: Annotated[
        int, typer.Option(help="Statements that one packet may run in loops, with all its copies and passes.", min=1)
    ] = 1 << 20,
    priority_queues: traffic.PriorityQueues = None,
    port_rate: traffic.PortRate = None,
    queue_weight: traffic.QueueWeight = None,
    buffer: traffic.Buffer = None,
    queue_buffer: traffic.QueueBuffer = None,
    queue_packets: traffic.QueuePackets = None,
    ecn_threshold: traffic.EcnThreshold = None,
    recirculation_rate: traffic.RecirculationRate = None,
) -> None:
    """Run a P4 program as a switch that serves P4Runtime.

    Options of bmv2's simple_switch_grpc have its names, and may stand behind -- as there.

    Any of those from --priority-queues on puts a traffic manager between ingress and egress.

    Traces (--log-console, --log-file, --trace) need the Python engine.
    """
    from offramp_base.transport import check_transport
    from offramp_p4.runtime.translation import read_tables
    from offramp_p4.serve import check_port_number, parse_port
    from offramp_p4.serve import run as serve
    from offramp_p4.settings import Settings

    if (program is None) != no_p4:
        raise OfframpError("switch run: expected either a P4 program or --no-p4")
    if program is not None and program.suffix == ".json":
        raise OfframpError(f"{program}: a compiled program; expected P4-16 source, which needs no compiler here")
    if log_console and log_file is not None:
        raise OfframpError("--log-console and --log-file: expected one of them")
    if pcap is not None and not is_folder(pcap):
        raise OfframpError(f"--pcap {str(pcap)[:200]}: no such folder")
    ports: dict[int, str] = {}
    for text in interface or []:
        number, spec = parse_port(text)
        if number in ports:
            raise OfframpError(f"port {number} is given twice: {ports[number]} and {spec}")
        ports[number] = spec
    if cpu_port is not None:
        check_port_number(cpu_port)
    if device_id < 0:
        raise OfframpError(f"--device-id {device_id}: expected 0 up")
    level = LOG_LEVELS.get(log_level)
    if level is None:
        raise OfframpError(f"--log-level {log_level}: expected one of {', '.join(LOG_LEVELS)}")
    logging.basicConfig(level=level, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    settings = Settings(
        program=None if program is None else str(program),
        ports=ports,
        transport=check_transport(transport),
        address=grpc_server_addr,
        device_id=device_id,
        cpu_port=cpu_port,
        seed=seed,
        engine=engine,
        drop_port=drop_port,
        pcap=None if pcap is None else str(pcap),
        log="-" if log_console else None if log_file is None else str(log_file),
        traces=None if trace is None else str(trace),
        include=tuple(str(folder) for folder in include or []),
        defines=dict(macro(text) for text in define or []),
        grpc_cert=None if grpc_cert is None else str(grpc_cert),
        grpc_key=None if grpc_key is None else str(grpc_key),
        grpc_ca=None if grpc_ca is None else str(grpc_ca),
        translation={} if translation is None else read_tables(translation),
        insecure=insecure,
        max_message=None if max_message is None else max_message << 20,
        compile_seconds=compile_seconds,
        compile_memory=compile_memory << 20,
        register_memory=register_memory << 20,
        packet_steps=packet_steps,
        tm=traffic.config(
            priority_queues=priority_queues,
            port_rate=port_rate,
            queue_weight=queue_weight,
            buffer=buffer,
            queue_buffer=queue_buffer,
            queue_packets=queue_packets,
            ecn_threshold=ecn_threshold,
            recirculation_rate=recirculation_rate,
        ),
    )
    _summary(serve(settings, _announce))


class Bmv2Arguments(TyperCommand):
    """Lets options stand behind ``--``, where simple_switch_grpc wants those of its target."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse ``args`` without the ``--``; a ``--pcap`` without folder means this one, as there."""
        words = [word for word in args if word != "--"]
        for at, word in reversed(list(enumerate(words))):
            if word == "--pcap" and (at + 1 == len(words) or words[at + 1].startswith("-")):
                words.insert(at + 1, ".")
        return super().parse_args(ctx, words)


def _announce(running: Running) -> None:
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=True)
    pipeline = running.device.pipeline
    console.print(f"program    {pipeline.program.file if pipeline else 'none yet; push one by P4Runtime'}")
    if pipeline:
        console.print(f"engine     {pipeline.switch.engine} ({pipeline.switch.why})")
    console.print(f"P4Runtime  {running.address}  device {running.device.id}")
    for number, port in sorted(running.ports.items()):
        console.print(f"port {number:<5} {port.name}")
    if running.device.cpu_port is not None:
        console.print(f"port {running.device.cpu_port:<5} CPU: packet-in and packet-out")


def _summary(running: Running) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("port", "link", "received", "sent", "dropped", "malformed", "missed", "strangers")
    for number, port in sorted(running.ports.items()):
        stats = port.stats
        counts = (stats.received, stats.sent, stats.dropped, stats.malformed, stats.missed, stats.strangers)
        table.add_row(str(number), port.name, *map(str, counts))
    console = Console(highlight=False)
    console.print(table)
    pipeline = running.device.pipeline
    if pipeline is not None and pipeline.switch.stats.exhausted:
        console.print(f"packets that used up their steps: {pipeline.switch.stats.exhausted}")
    for reason, count in running.server.refusals.counts.items():
        console.print(f"P4Runtime refused {reason}: {count}")
    queues = traffic.table(running)
    if queues is not None:
        console.print(queues)
