"""What a TNA program takes of a Tofino: an estimate of stages, memories, ALUs and PHV, from the IR.

The vendor's compiler decides; this says before it does what cannot fit, and why. Optimistic where it must guess
(memory packing, container sharing), so a program that does not fit here will not fit there.
"""

from __future__ import annotations

from offramp_sim.p4.tna.resources.report import ResourceReport, estimate

__all__ = ["ResourceReport", "estimate"]
