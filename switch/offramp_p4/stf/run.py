# SPDX-License-Identifier: Apache-2.0
"""Running an STF test on the embedded switch and comparing what came out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from offramp_base.errors import OfframpError
from offramp_p4.engines import make_switch
from offramp_p4.records import SwitchStats
from offramp_p4.stf.control import StfControl
from offramp_p4.stf.parse import StfCommand, StfError, parse

if TYPE_CHECKING:
    from offramp_p4 import ir


@dataclass(frozen=True, slots=True)
class Mismatch:
    """One thing that was not as expected.

    Attributes:
        where: ``file:line`` of the command, or the file for a packet that nobody expected.
        expected, received: packet data as hexadecimal digits; empty for a packet that is missing.
        differs_at: the first digit that differs, where both are there.
    """

    where: str
    message: str
    expected: str = ""
    received: str = ""
    differs_at: int | None = None


@dataclass(slots=True)
class StfResult:
    """Outcome of one test; ``ignored`` counts packets on ports that the test does not mention.

    ``engine`` is the one that ran it.
    """

    file: str
    engine: str = ""
    sent: int = 0
    received: int = 0
    ignored: int = 0
    expectations: int = 0
    mismatches: list[Mismatch] = field(default_factory=list)
    stats: SwitchStats = field(default_factory=SwitchStats)

    @property
    def passed(self) -> bool:
        """Whether everything was as expected."""
        return not self.mismatches


def run_stf(program: ir.Program, stf_text: str, file: str, *, seed: int = 0, engine: str = "python") -> StfResult:
    """Run a test on a fresh switch with the ``engine`` that :func:`~offramp_p4.engines.make_switch` knows by name.

    As in p4c's ``bmv2stf.py``, expectations are compared port by port, in order, at the end; an ``expect``
    without data accepts whatever leaves its port; packets on ports that the test never mentions do not matter.

    Raises:
        OfframpError: the program cannot be run, or a command is wrong (with ``file:line``).
    """
    commands = parse(stf_text, file)
    switch = make_switch(program, engine, seed=seed)
    control, result = StfControl(switch), StfResult(file, switch.engine, stats=switch.stats)
    outputs: dict[int, list[bytes]] = {c.numbers[0]: [] for c in commands if c.name in {"packet", "expect"}}
    for command in commands:
        if command.name == "packet":
            result.sent += 1
            for port, frame in switch.process_one(command.numbers[0], bytes.fromhex(command.data)):
                if port in outputs:
                    outputs[port].append(frame)
                else:
                    result.ignored += 1
        elif command.name != "expect":
            _execute(control, command, result)
    expected: dict[int, list[StfCommand]] = {port: [] for port in outputs}
    for command in commands:
        if command.name == "expect":
            expected[command.numbers[0]].append(command)
    for port, frames in outputs.items():
        result.received += len(frames)
        _compare(port, expected[port], frames, result)
    return result


def _execute(control: StfControl, command: StfCommand, result: StfResult) -> None:
    try:
        wrong = control.execute(command)
    except OfframpError as error:
        raise StfError(result.file, command.line, str(error)) from None
    if command.name == "check_counter":
        result.expectations += 1
    if wrong:
        result.mismatches.append(Mismatch(f"{result.file}:{command.line}", wrong))


def _compare(port: int, expected: list[StfCommand], frames: list[bytes], result: StfResult) -> None:
    result.expectations += len(expected)
    if any(not command.data for command in expected):
        return
    for command, frame in zip(expected, frames, strict=False):
        where, received = f"{result.file}:{command.line}", frame.hex().upper()
        exact = command.data.endswith("$")
        wanted = command.data.removesuffix("$")
        at = next((i for i, (w, r) in enumerate(zip(wanted, received, strict=False)) if w not in {"*", r}), None)
        message = ""
        if at is not None:
            message = f"packet on port {port} differs at byte {at // 2}"
        elif len(received) < len(wanted):
            message = f"packet on port {port} is {len(frame)} bytes, expected at least {(len(wanted) + 1) // 2}"
        elif exact and len(received) > len(wanted):
            message = f"packet on port {port} is {len(frame)} bytes, expected {len(wanted) // 2}"
        if message:
            result.mismatches.append(Mismatch(where, message, wanted, received, at))
    for command in expected[len(frames) :]:
        where = f"{result.file}:{command.line}"
        result.mismatches.append(Mismatch(where, f"no packet on port {port}", command.data.removesuffix("$")))
    for frame in frames[len(expected) :]:
        received = frame.hex().upper()
        result.mismatches.append(Mismatch(result.file, f"unexpected packet on port {port}", "", received))
