# SPDX-License-Identifier: Apache-2.0
"""The FPGA engines' RTL in simulation: Icarus Verilog and Verilator, driven by cocotb.

>>> from offramp_sim.rtl import Design
>>> sources, register_blocks = Design("allreduce").sources()
>>> any(path.name == "allreduce.sv" for path in sources)
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.lazy import face

if TYPE_CHECKING:
    from offramp_sim.rtl.bench import run_bench as run_bench
    from offramp_sim.rtl.board import SimulatedBoard as SimulatedBoard
    from offramp_sim.rtl.build import SIMULATORS as SIMULATORS
    from offramp_sim.rtl.build import Design as Design
    from offramp_sim.rtl.build import build as build_design
    from offramp_sim.rtl.build import cache_folder as cache_folder
    from offramp_sim.rtl.build import missing as missing_tools
    from offramp_sim.rtl.card import run as run_card
    from offramp_sim.rtl.lint import faults as module_faults
    from offramp_sim.rtl.lint import lintable as lintable
    from offramp_sim.rtl.overlay import engines_of as engines_of
    from offramp_sim.rtl.overlay import write_overlay as write_overlay
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "Design": "offramp_sim.rtl.build",
            "SIMULATORS": "offramp_sim.rtl.build",
            "SimulatedBoard": "offramp_sim.rtl.board",
            "build_design": "offramp_sim.rtl.build:build",
            "cache_folder": "offramp_sim.rtl.build",
            "engines_of": "offramp_sim.rtl.overlay",
            "lintable": "offramp_sim.rtl.lint",
            "missing_tools": "offramp_sim.rtl.build:missing",
            "module_faults": "offramp_sim.rtl.lint:faults",
            "run_bench": "offramp_sim.rtl.bench",
            "run_card": "offramp_sim.rtl.card:run",
            "write_overlay": "offramp_sim.rtl.overlay",
        },
    )
