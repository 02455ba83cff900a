# SPDX-License-Identifier: Apache-2.0
"""Where test benches find :mod:`offramp_sim.rtl.models.streams`."""

from offramp_sim.rtl.models.streams import pauses, registers, sink, source

__all__ = ["pauses", "registers", "sink", "source"]
