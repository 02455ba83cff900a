# SPDX-License-Identifier: Apache-2.0
"""Where test benches find :mod:`offramp_sim.rtl.models.clocking`."""

from offramp_sim.rtl.models.clocking import PERIOD_NS, Cycles, Handshakes, reset, start

__all__ = ["PERIOD_NS", "Cycles", "Handshakes", "reset", "start"]
