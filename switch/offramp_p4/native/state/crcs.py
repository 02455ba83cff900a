# SPDX-License-Identifier: Apache-2.0
"""Custom CRCs whose parameters machine code finds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from offramp_base.native.records import offset
from offramp_p4.native.runtime.context import CrcRecord, SwitchMemory
from offramp_p4.v1model.crc import CrcParameters, CustomCrcs

if TYPE_CHECKING:
    from offramp_p4 import ir
    from offramp_p4.native.state.context import SwitchContext


class NativeCrcs(CustomCrcs):
    """The custom CRCs of a program; machine code is shown what has changed between packets.

    Attributes:
        changed: whether there is something to show.
    """

    def __init__(self, program: ir.Program) -> None:
        super().__init__(program)
        self.changed = False

    def set(self, call: ir.ExternCall, parameters: CrcParameters) -> None:
        """Set the parameters of one call, from the next batch of packets on."""
        super().set(call, parameters)
        self.changed = True

    def reset(self) -> None:
        """Give all calls bmv2's first parameters."""
        super().reset()
        self.changed = True

    def sync(self, context: SwitchContext) -> None:
        """Write the records anew; no packet runs meanwhile."""
        self.changed = False
        memory = SwitchMemory(context.words)
        if not self.set_to:
            memory.crc_count = 0
            return
        rows = np.zeros((len(self.numbers), CrcRecord.WORDS), np.int64)
        for call, parameters in self.set_to.items():
            record = CrcRecord(rows[self.numbers[call]])
            record.used, record.width, record.start = 1, parameters.width, parameters.start
            record.final_xor, record.reflected = parameters.final_xor_value, int(parameters.data_reflected)
            record.turned = int(parameters.remainder_reflected != parameters.data_reflected)
            record.words[offset(CrcRecord.table) :] = parameters.table()
        context.hold(offset(SwitchMemory.crcs), rows)
        memory.crc_count = len(rows)
