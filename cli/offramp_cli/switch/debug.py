# SPDX-License-Identifier: Apache-2.0
"""``offramp switch debug``: a P4 program in the debugger of an editor."""

from __future__ import annotations

import logging
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from offramp_base import Field, SettingsError
from offramp_cli.command import command
from offramp_p4.program_source import PreprocessorSettings
from offramp_p4.settings import parse_packet
from offramp_p4.tm.config import MAX_PORT

if TYPE_CHECKING:
    from types import FrameType

    from offramp_p4_tools.debug.launch import Launch


@dataclass(frozen=True, kw_only=True)
class DebugSettings(PreprocessorSettings):
    """The program to debug, if a client's launch request does not name one."""

    program: Annotated[str | None, Field("P4-16 source", position=True, shown_default="")] = None
    stdio: Annotated[
        bool, Field("Talk on standard input and output to the editor that starts this command", group="Editor")
    ] = False
    listen: Annotated[str | None, Field("Wait for editors here: HOST:PORT or unix:PATH")] = None
    entries: Annotated[str | None, Field("STF file with table commands to run first", group="Packets")] = None
    stf: Annotated[str | None, Field("STF file, whose packets and table commands are used")] = None
    pcap: Annotated[str | None, Field("Capture file, whose packets arrive at one port")] = None
    port: Annotated[int, Field("Ingress port of the capture's packets", least=0, most=MAX_PORT)] = 0
    packet: Annotated[
        tuple[tuple[int, bytes], ...], Field("PORT:HEX, a packet to send; repeatable", item=parse_packet)
    ] = ()
    stop_on_entry: Annotated[bool, Field("Stop at the first packet")] = False
    seed: Annotated[int, Field("Random seed", least=0)] = 0

    def __post_init__(self) -> None:
        if self.stdio == (self.listen is not None):
            raise SettingsError("stdio", "expected either {stdio} or {listen} ADDRESS")

    def launch(self) -> Launch:
        """The launch request for a client that sends no program of its own."""
        from offramp_p4_tools.debug.launch import Launch

        return Launch(
            self.program or "",
            self.include,
            self.defines,
            self.entries or "",
            self.stf or "",
            self.pcap or "",
            self.port,
            self.packet,
            self.stop_on_entry,
            self.seed,
        )


@command(DebugSettings, example="switch debug program.p4 --stf test.stf --stdio")
def debug(settings: DebugSettings) -> None:
    """Serve the Debug Adapter Protocol: breakpoints on lines, states, tables and actions; step, inspect, change.

    Every connection gets its own switch. To debug a running one: offramp switch run --debug ADDRESS.
    """
    from offramp_p4_tools import Debugger, DebugServer, ProgramLauncher
    from offramp_p4_tools.debug.server import serve_standard_streams

    logging.basicConfig(level=logging.INFO, format="%(message)s")

    def make() -> ProgramLauncher:
        return ProgramLauncher(Debugger(), settings.launch())

    if settings.listen is None:
        serve_standard_streams(make())
        return
    server = DebugServer(settings.listen, make)
    logging.getLogger(__name__).info("debugger   %s", server.address)

    def end(_signal: int, _frame: FrameType | None) -> None:
        server.close()

    previous = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        server.wait()
    finally:
        server.close()
        for number, handler in previous.items():
            signal.signal(number, handler)
