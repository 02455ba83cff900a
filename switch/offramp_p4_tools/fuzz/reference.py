# SPDX-License-Identifier: Apache-2.0
"""Random programs and packets on bmv2, compiled by p4c, against the Python engine."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Final

from offramp_base.ending.left import temporary_folder
from offramp_base.errors import OfframpError
from offramp_p4.frontend import load
from offramp_p4.reference import run
from offramp_p4.reference.compiled import CompilerRefusal
from offramp_p4.state.random_control import PORTS, RandomControl
from offramp_p4.switch import Switch
from offramp_p4_tools.fuzz.compare import MAX_PASSES, FuzzInput, FuzzVerdict

if TYPE_CHECKING:
    from offramp_p4 import ir

GAP_US: Final = 20_000
"""Microseconds between packets, so that all passes of one end before the next one comes."""
_QUIET_S: Final = 10.0
"""Seconds without a frame, where some are missing, after which none is waited for."""


def against_bmv2(text: str, case: FuzzInput) -> FuzzVerdict:
    """Compare the packets that leave both; ``unsupported`` where p4c or bmv2 refuses the program, which proves nothing.

    The control plane acts before the first packet only; order among the packets of one port is not compared.
    """
    with temporary_folder() as folder:
        source = Path(folder) / "random.p4"
        source.write_text(text, encoding="utf-8")
        try:
            return file_against_bmv2(source, case)
        except CompilerRefusal as error:
            return FuzzVerdict("unsupported", str(error))


def file_against_bmv2(source: Path, case: FuzzInput, compiler: str | None = None) -> FuzzVerdict:
    """The same for the program of a file, by another compiler than p4c where one is given.

    What leaves other ports than the first ones, as actions of random entries say, leaves bmv2 for nowhere.

    Raises:
        CompilerRefusal: the compiler does not take the program.
    """
    try:
        program = load(source)
        oracle, like = (_filled(program, case.seed) for _ in range(2))
    except OfframpError as error:
        return FuzzVerdict("refused", str(error))
    given = [(port, frame) for port, frame in case.packets if frame]  # no link carries an empty one
    packets = [(number * GAP_US, port, frame) for number, (port, frame) in enumerate(given)]
    ours = [Counter(out for out in oracle.process_one(*packet) if out[0] < PORTS) for packet in given]
    expected = [frame for leaving in ours for _, frame in leaving.elements()]
    try:
        leaving = run(
            source, like, packets, range(PORTS), compiler=compiler, quiet_s=_QUIET_S, expected=expected or None
        )
    except CompilerRefusal:
        raise
    except OfframpError as error:
        return FuzzVerdict("unsupported", str(error))
    extra = Counter((each.port, each.frame) for each in leaving)
    for number, (port, frame) in enumerate(given):
        missing = ours[number] - extra
        if missing:
            return FuzzVerdict(
                "difference", f"packet {number} (port {port}, {frame.hex()}): bmv2 lacks {_shown(missing)}"
            )
        extra -= ours[number]
    return FuzzVerdict("difference", f"only bmv2 sends {_shown(extra)}") if extra else FuzzVerdict("same")


def _filled(program: ir.Program, seed: int) -> Switch:
    switch = Switch(program, max_passes=MAX_PASSES)
    RandomControl(switch, seed, portable=True).fill()
    return switch


def _shown(packets: Counter[tuple[int, bytes]]) -> str:
    return ", ".join(f"{port}:{frame.hex()}" for port, frame in packets)
