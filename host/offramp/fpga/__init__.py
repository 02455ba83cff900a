# SPDX-License-Identifier: Apache-2.0
"""FPGA engines: where their sources lie, their registers, synthesis, bitstreams and boards.

>>> from offramp.fpga import fpga_root
>>> (fpga_root() / "rtl").is_dir()
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.lazy import face

if TYPE_CHECKING:
    from offramp.fpga.boards import Board as Board
    from offramp.fpga.boards import build as build_bitstream
    from offramp.fpga.boards import flash as flash
    from offramp.fpga.card import CardRegisters as CardRegisters
    from offramp.fpga.card import with_card as with_card
    from offramp.fpga.kernels import write_kernel as write_kernel
    from offramp.fpga.ports import Interface as Interface
    from offramp.fpga.ports import interface_of as interface_of
    from offramp.fpga.registers import RegisterMap as RegisterMap
    from offramp.fpga.registers import write_verilog as write_verilog
    from offramp.fpga.sources import fpga_root as fpga_root
    from offramp.fpga.sources import register_maps as register_maps
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "Board": "offramp.fpga.boards",
            "CardRegisters": "offramp.fpga.card",
            "Interface": "offramp.fpga.ports",
            "RegisterMap": "offramp.fpga.registers",
            "build_bitstream": "offramp.fpga.boards:build",
            "flash": "offramp.fpga.boards",
            "fpga_root": "offramp.fpga.sources",
            "interface_of": "offramp.fpga.ports",
            "register_maps": "offramp.fpga.sources",
            "with_card": "offramp.fpga.card",
            "write_kernel": "offramp.fpga.kernels",
            "write_verilog": "offramp.fpga.registers",
        },
    )
