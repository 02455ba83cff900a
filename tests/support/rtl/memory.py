# SPDX-License-Identifier: Apache-2.0
"""Where test benches find :mod:`offramp_sim.rtl.models.memory`."""

from offramp_sim.rtl.models.memory import AxiMemory

__all__ = ["AxiMemory"]
