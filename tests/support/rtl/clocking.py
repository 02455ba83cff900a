"""Where test benches find :mod:`offramp_sim.rtl.models.clocking`."""

from offramp_sim.rtl.models.clocking import Cycles, Handshakes, reset, start

__all__ = ["Cycles", "Handshakes", "reset", "start"]
