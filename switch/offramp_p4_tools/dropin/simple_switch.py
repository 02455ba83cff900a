# SPDX-License-Identifier: Apache-2.0
"""``simple_switch`` and ``simple_switch_grpc`` with our switch: bmv2's options, P4 source or bmv2's JSON.

Every server of ours stays on this machine unless clients show certificates; an address that bmv2 would offer to every
machine becomes loopback, and standard error says so.
"""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING, Final

from offramp_base.errors import OfframpError
from offramp_p4_tools.dropin.words import CommandWords, Takes, read_words

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import ExitStack

    from offramp_p4.serve import RunningSwitch
    from offramp_p4.settings import Settings
    from offramp_p4.tm.config import TmConfig
    from offramp_p4_tools.dropin.event_log import EventLog
    from offramp_p4_tools.dropin.nanomsg import Publisher

GRPC: Final = "simple_switch_grpc"
P4RUNTIME: Final = 9559
THRIFT: Final = 9090
_KNOWN: Final[dict[str, Takes]] = {
    "-i": "value", "--pcap": "maybe", "--thrift-port": "value", "--device-id": "value", "--log-console": "nothing",
    "--log-file": "value", "-L": "value", "--no-p4": "nothing", "--version": "nothing", "--json-version": "nothing",
    "--help": "nothing", "--grpc-server-addr": "value", "--grpc-server-cacert": "value", "--grpc-server-cert": "value",
    "--grpc-server-key": "value", "--cpu-port": "value", "--drop-port": "value", "--priority-queues": "value",
    "--gnmi-server-addr": "value", "--enable-swap": "nothing",
    "--notifications-addr": "value", "--use-files": "value", "--nanolog": "value",
}  # fmt: skip
_IGNORED: Final[dict[str, Takes]] = {
    **dict.fromkeys(
        (
            "--packet-in",
            "--log-file-max-size",
            "--log-file-max-files",
            "--debugger-addr",
            "--restore-state",
            "--dump-packet-data",
            "--max-port-count",
            "--max-mc-groups",
            "--max-l1-entries",
            "--max-l2-entries",
            "--dp-grpc-server-addr",
        ),
        "value",
    ),
}
_ALIASES: Final = {
    "--interface": "-i", "--log-level": "-L", "-h": "--help", "-v": "--version",
}  # fmt: skip
_LEVELS: Final = {"trace": 10, "debug": 10, "info": 20, "warn": 30, "error": 40, "off": 60}
_PACKET_LEVELS: Final = {"trace": "DT", "debug": "D"}
"""Levels of the lines about packets that a level of bmv2's log has; others have none."""
_ANYWHERE: Final = ("0.0.0.0", "[::]", "*", "")  # noqa: S104 - what bmv2 is asked for, not where we listen
JSON_VERSION: Final = "2.24"
QUEUE_PACKETS: Final = 64
"""Depth of bmv2's queues until they are configured."""
MAX_QUEUES: Final = 64
"""More is a mistake in writing: each takes memory, and priorities have three bits."""


def main(words: Sequence[str] | None = None, program: str = "simple_switch") -> int:
    """Run until SIGINT or SIGTERM; returns the exit status."""
    try:
        line = read_words(sys.argv[1:] if words is None else words, _KNOWN, _IGNORED, _ALIASES)
        line.name_unknown(program)
        if _printed(line, program):
            return 0
        form = "%(asctime)s %(message)s"
        logging.basicConfig(level=_level(line), format=form, datefmt="%H:%M:%S", stream=sys.stdout)
        _serve(settings(line, program), line, program)
    except OfframpError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


def _level(line: CommandWords) -> int:
    level = line.last("-L") or "info"
    if level not in _LEVELS:
        raise OfframpError(f"-L {level}: expected one of {', '.join(_LEVELS)}")
    return _LEVELS[level]


def _printed(line: CommandWords, program: str) -> bool:
    from offramp_base import __version__

    texts = {
        "--version": f"{__version__} (offramp)",
        "--json-version": JSON_VERSION,
        "--help": f"usage: {program} [-i PORT@INTERFACE]... [options] PROGRAM.json|PROGRAM.p4 [-- target options]",
    }
    for option, text in texts.items():
        if option in line.options:
            sys.stdout.write(text + "\n")
            return True
    return False


def settings(line: CommandWords, program: str) -> Settings:
    """The settings of our switch that bmv2's options ask for.

    Raises:
        OfframpError: an option has a wrong value.
    """
    from offramp_p4.settings import FILES, Settings, parse_port

    ports: dict[int, str] = {}
    waits = line.number("--use-files")
    for text in line.options.get("-i", ()):
        try:
            number, link = parse_port(text)
        except ValueError as error:
            raise OfframpError(f"-i {text}: {error}") from None
        if number in ports:
            raise OfframpError(f"-i {text}: port {number} is there twice")
        ports[number] = link if waits is None else f"{FILES}{link},wait={waits}"
    if bool(line.positions) == ("--no-p4" in line.options):
        raise OfframpError("expected either a program or --no-p4")
    if len(line.positions) > 1:
        raise OfframpError(f"expected one program, got {' '.join(line.positions)}")
    pcap, levels = line.last("--pcap"), _PACKET_LEVELS.get(line.last("-L") or "trace", "")
    log = "-" if "--log-console" in line.options else line.last("--log-file")
    return Settings(
        program=line.positions[0] if line.positions else None,
        ports=ports,
        address=_address(line, program),
        gnmi=_this_machine(line, program, "--gnmi-server-addr"),
        grpc_cert=line.last("--grpc-server-cert"),
        grpc_key=line.last("--grpc-server-key"),
        grpc_ca=line.last("--grpc-server-cacert"),
        device_id=line.number("--device-id") or 0,
        cpu_port=line.number("--cpu-port"),
        drop_port=511 if line.number("--drop-port") is None else line.number("--drop-port") or 0,
        pcap=None if pcap is None else pcap or ".",
        tm=_queues(line),
        log_like_bmv2=True,
        log_levels=levels,
        log=log if levels else None,
    )


def _queues(line: CommandWords) -> TmConfig:
    """A traffic manager as bmv2's: one queue for each port unless ``--priority-queues`` says more."""
    from offramp_p4.tm.config import QueueConfig, TmConfig

    queues = line.number("--priority-queues")
    if queues is not None and not 1 <= queues <= MAX_QUEUES:
        raise OfframpError(f"--priority-queues {queues}: expected 1 to {MAX_QUEUES}")
    return TmConfig.uniform(queues=queues or 1, queue=QueueConfig(limit_packets=QUEUE_PACKETS))


def _address(line: CommandWords, program: str) -> str:
    """Address of the P4Runtime server; simple_switch has none, so there it is any free port."""
    if program != GRPC:
        return "127.0.0.1:0"
    return _this_machine(line, program, "--grpc-server-addr") or f"127.0.0.1:{P4RUNTIME}"


def _this_machine(line: CommandWords, program: str, option: str) -> str | None:
    """The address of an option, which for every machine needs certificates of the clients; None without it."""
    given = line.last(option)
    if given is None:
        return None
    host, colon, port = given.rpartition(":")
    if not colon or host not in _ANYWHERE or line.last("--grpc-server-cacert") is not None:
        return given
    sys.stderr.write(f"{program}: {given}: served on this machine only (127.0.0.1:{port})\n")
    return f"127.0.0.1:{port}"


def _notifications(line: CommandWords, stack: ExitStack) -> Publisher:
    """The publisher of notifications; clients ask for its address, which is in a private folder unless it is given."""
    from offramp_base.ending.left import temporary_folder
    from offramp_p4_tools.dropin.nanomsg import Publisher

    address = line.last("--notifications-addr")
    if address is None:
        address = f"ipc://{stack.enter_context(temporary_folder())}/bmv2-notifications.ipc"
    return stack.enter_context(Publisher(address))


def _serve(wanted: Settings, line: CommandWords, program: str) -> None:
    from contextlib import ExitStack

    from offramp_p4.serve import run

    with ExitStack() as stack:
        publishers: dict[str, str] = {}
        events: EventLog | None = None
        nanolog = line.last("--nanolog")
        if nanolog is not None:
            from offramp_p4_tools.dropin import event_log
            from offramp_p4_tools.dropin.nanomsg import Publisher

            publisher = stack.enter_context(Publisher(nanolog))
            publishers["elogger_socket"] = publisher.address
            events = event_log.EventLog(wanted.device_id, publisher.publish, lambda: publisher.subscribers > 0)

        # What scripts wait for, in the words of bmv2.
        def ready(running: RunningSwitch) -> None:
            port, swap = line.number("--thrift-port"), "--enable-swap" in line.options
            device = running.device
            if events is not None:
                events.follow(lambda: None if device.pipeline is None else device.pipeline.program)
            if program != GRPC or port is not None:
                from offramp_p4_tools.dropin.thrift.server import ThriftServer

                notifications = _notifications(line, stack)
                publishers["notifications_socket"] = notifications.address
                server = stack.enter_context(
                    ThriftServer(
                        running,
                        THRIFT if port is None else port,
                        swap=swap,
                        notifications=notifications,
                        publishers=publishers,
                    )
                )
                if events is not None:
                    events.handle = server.handle
                sys.stdout.write(f"Thrift server was started on port {server.port}\n")
            if program == GRPC:
                sys.stdout.write(f"Server listening on {running.address}\n")
            sys.stdout.flush()

        run(wanted, ready, traces=events)


if __name__ == "__main__":
    sys.exit(main())
