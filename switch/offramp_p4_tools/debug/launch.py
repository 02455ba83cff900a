# SPDX-License-Identifier: Apache-2.0
"""The request ``launch``: a program and packets for it, run for one client."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from offramp_base.documents import read_text
from offramp_base.errors import OfframpError
from offramp_base.wire import pcap
from offramp_p4.frontend import load
from offramp_p4.program_source import parse_macro
from offramp_p4.settings import parse_packet
from offramp_p4.stf.control import StfControl
from offramp_p4.stf.parse import StfError, parse
from offramp_p4.switch import Switch
from offramp_p4.tm.config import MAX_PORT
from offramp_p4_tools.debug.session import DapSession, Starter

if TYPE_CHECKING:
    from offramp_p4_tools.debug.asked import RequestArguments
    from offramp_p4_tools.debug.debugger import Debugger

_WAIT_S: Final = 5.0
Work = Callable[[], list[tuple[int, bytes]]]


@dataclass(frozen=True)
class Launch:
    """The program and packets that the debugger runs.

    Attributes:
        program: P4-16 source.
        entries, stf: STF files; the table commands of the first, then everything of the second.
        capture: a pcap file whose packets come in at ``port``.
        packets: (port, bytes) pairs that are sent last.
    """

    program: str = ""
    include: tuple[str, ...] = ()
    defines: Mapping[str, str] = field(default_factory=dict)
    entries: str = ""
    stf: str = ""
    capture: str = ""
    port: int = 0
    packets: tuple[tuple[int, bytes], ...] = ()
    stop_on_entry: bool = False
    seed: int = 0

    def asked(self, asked: RequestArguments) -> Launch:
        """The arguments of a client's request; those that it leaves out are taken from this object.

        Raises:
            OfframpError: an argument is invalid.
        """
        macros = [_checked(parse_macro, each) for each in asked.texts("defines")]
        packets = tuple(_checked(parse_packet, each) for each in asked.texts("packets"))
        return Launch(
            asked.text("program", self.program),
            tuple(asked.texts("include")) or self.include,
            dict(macros) or self.defines,
            asked.text("entries", self.entries),
            asked.text("stf", self.stf),
            asked.text("pcap", self.capture),
            asked.number("port", self.port, most=MAX_PORT),
            packets or self.packets,
            asked.flag("stopOnEntry", self.stop_on_entry),
            asked.number("seed", self.seed),
        )


class ProgramLauncher(Starter):
    """Runs the launched program in a thread of its own."""

    def __init__(self, debugger: Debugger, given: Launch) -> None:
        self.debugger, self._launch = debugger, given
        self._work: list[Work] = []
        self._thread: threading.Thread | None = None
        self._ending = False

    def launch(self, asked: RequestArguments) -> None:
        """Load the program; its packets wait for :meth:`configured`.

        Raises:
            OfframpError: there is no program, or it or a file cannot be read.
        """
        wanted = self._launch.asked(asked)
        if not wanted.program:
            raise OfframpError("launch needs a program")
        program = load(wanted.program, include=[Path(f) for f in wanted.include], defines=wanted.defines)
        switch = Switch(program, seed=wanted.seed, debugger=self.debugger)
        self._work = list(_work(switch, wanted))
        if wanted.stop_on_entry:
            self.debugger.pause("entry")

    def configured(self, session: DapSession) -> None:
        """Send the packets."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, args=(session,), name="packets", daemon=True)
            self._thread.start()

    def end(self) -> None:
        """Wait for the packet that runs; send no more."""
        self._ending = True
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(_WAIT_S)

    def _run(self, session: DapSession) -> None:
        status = 0
        try:
            for work in self._work:
                if self._ending:
                    return
                for port, frame in work():
                    session.event("output", {"category": "stdout", "output": f"port {port}: {frame.hex()}\n"})
        except OfframpError as error:
            session.event("output", {"category": "stderr", "output": f"{error}\n"})
            status = 2
        session.event("exited", {"exitCode": status})
        session.event("terminated", {})


def _work(switch: Switch, wanted: Launch) -> Iterator[Work]:
    """The steps of a launch, in order; files are read now.

    Raises:
        OfframpError: a file cannot be read, or is invalid.
    """
    control = StfControl(switch)
    for name, packets in ((wanted.entries, False), (wanted.stf, True)):
        for command in parse(read_text(Path(name)), name) if name else ():
            if command.name == "packet" and packets:
                yield _sent(switch, command.numbers[0], bytes.fromhex(command.data))
            elif command.name not in ("packet", "expect"):
                yield _executed(control, command, name)
    frames = _captured(Path(wanted.capture)) if wanted.capture else []
    for port, frame in [*((wanted.port, frame) for frame in frames), *wanted.packets]:
        yield _sent(switch, port, frame)


def _captured(file: Path) -> list[bytes]:
    if not file.exists():
        raise OfframpError(f"{file}: No such file or directory")
    return [frame for _, frame in pcap.read(file, of_bmv2=True)]


def _sent(switch: Switch, port: int, frame: bytes) -> Work:
    return lambda: switch.process_one(port, frame)


def _executed(control: StfControl, command: Any, file: str) -> Work:
    def execute() -> list[tuple[int, bytes]]:
        try:
            control.execute(command)
        except OfframpError as error:
            raise StfError(file, command.line, str(error)) from None
        return []

    return execute


def _checked(parse_one: Callable[[str], Any], text: str) -> Any:
    try:
        return parse_one(text)
    except ValueError as error:
        raise OfframpError(f"{text[:80]!r}: {error}") from None
