# SPDX-License-Identifier: Apache-2.0
"""Random programs and packets on bmv2, compiled by p4c, against the Python engine."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Final

from offramp_base.ending.left import temporary_folder
from offramp_base.errors import OfframpError
from offramp_p4 import reference
from offramp_p4.frontend import load_text
from offramp_p4.state.random_control import PORTS, RandomControl
from offramp_p4_tools.fuzz.compare import FuzzInput, FuzzVerdict, python_engine

GAP_US: Final = 20_000
"""Microseconds between packets, so that all passes of one end before the next one comes."""


def against_bmv2(text: str, case: FuzzInput) -> FuzzVerdict:
    """Compare the packets that leave both; ``unsupported`` where p4c or bmv2 refuses the program, which proves nothing.

    The control plane acts before the first packet only; order among the packets of one port is not compared.
    """
    try:
        program = load_text(text, "random.p4")
        oracle = python_engine(program)
    except OfframpError as error:
        return FuzzVerdict("refused", str(error))
    RandomControl(oracle, case.seed, portable=True).fill()
    with temporary_folder() as folder:
        source = Path(folder) / "random.p4"
        source.write_text(text, encoding="utf-8")
        packets = [(number * GAP_US, port, frame) for number, (port, frame) in enumerate(case.packets)]
        try:
            extra = Counter((d.port, d.frame) for d in reference.run(source, oracle, packets, range(PORTS)))
        except OfframpError as error:
            return FuzzVerdict("unsupported", str(error))
    for number, (port, frame) in enumerate(case.packets):
        ours = Counter(oracle.process_one(port, frame))
        missing = ours - extra
        if missing:
            return FuzzVerdict(
                "difference", f"packet {number} (port {port}, {frame.hex()}): bmv2 lacks {_shown(missing)}"
            )
        extra -= ours
    return FuzzVerdict("difference", f"only bmv2 sends {_shown(extra)}") if extra else FuzzVerdict("same")


def _shown(packets: Counter[tuple[int, bytes]]) -> str:
    return ", ".join(f"{port}:{frame.hex()}" for port, frame in packets)
