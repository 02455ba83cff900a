"""bmv2's simple_switch as an oracle and a yardstick, where it is on PATH."""

from __future__ import annotations

from offramp_sim.p4.reference.simple_switch import Departure, available, run

__all__ = ["Departure", "available", "run"]
