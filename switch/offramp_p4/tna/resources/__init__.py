# SPDX-License-Identifier: Apache-2.0
"""Resources of a Tofino that a TNA program takes: an estimate of stages, memories, ALUs and PHV, from the IR.

The vendor's compiler decides; this says before it does what is likely not to fit, by how much, and which chain of
tables is to blame. It knows the dependencies and the counted resources of a stage. It does not know how the compiler
rearranges conditions or copies fields to break a dependency, which saves a stage here and there in large programs.
"""

from __future__ import annotations

from offramp_p4.tna.resources.report import ResourceReport, estimate

__all__ = ["ResourceReport", "estimate"]
