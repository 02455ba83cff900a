# SPDX-License-Identifier: Apache-2.0
"""``offramp switch trace``: what happens to packets in a P4 program."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from offramp_base import Field, SettingsError
from offramp_cli import show
from offramp_cli.command import command
from offramp_cli.result import Result
from offramp_cli.switch.stf import read_stf
from offramp_p4.settings import parse_packet

if TYPE_CHECKING:
    from collections.abc import Callable

    from offramp_p4.program_source import ProgramSource
    from offramp_p4.trace import PacketTrace


@dataclass(frozen=True)
class TraceSettings:
    """The program, and the packets to trace through it."""

    packet: Annotated[
        tuple[tuple[int, bytes], ...], Field("PORT:HEX, a packet to send; repeatable", item=parse_packet)
    ] = ()
    stf: Annotated[Path | None, Field("STF file, whose packets and table commands are used")] = None
    entries: Annotated[Path | None, Field("STF file with table commands to run first")] = None
    every: Annotated[
        bool,
        Field("Show each path that a --packet can take, whichever members the action selectors pick", key="all"),
    ] = False
    seed: Annotated[int, Field("Random seed", least=0)] = 0
    quiet: Annotated[bool, Field("Show no trees", short="-q")] = False

    def __post_init__(self) -> None:
        if not self.packet and self.stf is None:
            raise SettingsError("packet", "expected PORT:HEX, or {stf} FILE")
        if self.every and not self.packet:
            raise SettingsError("every", "expected with {packet}")


@command(
    "offramp_p4.program_source:ProgramSource",
    TraceSettings,
    Result,
    example="switch trace program.p4 --packet 1:00112233",
)
def trace(source: ProgramSource, settings: TraceSettings, result: Result) -> None:
    """Run packets and show a tree for each: parser states, tables, actions, registers, copies, drops.

    The JSON has a line for each packet, or with --all for each of its paths.
    """
    from offramp_p4.stf.replay import replay
    from offramp_p4.switch import Switch
    from offramp_p4.trace.alternatives import alternatives
    from offramp_p4.trace.render import tree

    traces: list[PacketTrace] = []
    program = source.load()
    files = [(file, read_stf(file)) for file in (settings.entries, settings.stf) if file is not None]

    def prepared(sink: Callable[[PacketTrace], object], packets: int) -> Switch:
        """A switch that has run the files and the first ``packets`` packets."""
        switch = Switch(program, seed=settings.seed, trace=sink)
        for file, commands in files:
            replay(switch, commands, str(file))
        for port, frame in settings.packet[:packets]:
            switch.process_one(port, frame)
        return switch

    if settings.every:
        for number, packet in enumerate(settings.packet):
            traces += alternatives(partial(prepared, packets=number), packet)
    else:
        prepared(traces.append, len(settings.packet))
    out = show.console(wrap=False)
    for each in () if settings.quiet else traces:
        out.print(tree(each))
    result.write_lines("offramp.switch.trace/1", (each.to_json() for each in traces))
