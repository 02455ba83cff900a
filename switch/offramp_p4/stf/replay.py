# SPDX-License-Identifier: Apache-2.0
"""The commands of an STF file carried out on a switch, without comparing what comes out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.errors import OfframpError
from offramp_p4.stf.control import StfControl
from offramp_p4.stf.parse import StfError, parse

if TYPE_CHECKING:
    from offramp_p4.engines import AnySwitch


def replay(switch: AnySwitch, text: str, file: str) -> list[tuple[int, bytes]]:
    """Run the packets and the control-plane commands in order; returns what left the switch.

    Raises:
        StfError: a line that is not a command, or that names what is not there (with ``file:line``).
    """
    control, out = StfControl(switch), []
    for command in parse(text, file):
        try:
            if command.name == "packet":
                out += switch.process_one(command.numbers[0], bytes.fromhex(command.data))
            elif command.name != "expect":
                control.execute(command)
        except OfframpError as error:
            raise StfError(file, command.line, str(error)) from None
    return out
