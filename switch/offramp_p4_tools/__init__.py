# SPDX-License-Identifier: Apache-2.0
"""Tools around the P4 switch: bmv2's JSON and programs, BF-RT, gNMI, a debugger, a language server, a fuzzer.

>>> from offramp_p4 import load, make_switch
>>> from offramp_p4_tools import bmv2_text, from_json
>>> compiled = bmv2_text(load("p4/examples/reflector.p4"))
>>> switch = make_switch(from_json(compiled, "reflector.json"), engine="python")
>>> [port for port, _ in switch.process_one(3, bytes(12) + bytes.fromhex("88b5") + bytes(50))]
[3]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.lazy import face

if TYPE_CHECKING:
    from offramp_p4_tools.bfrt.service import BfrtService as BfrtService
    from offramp_p4_tools.bmv2.read import from_json as from_json
    from offramp_p4_tools.bmv2.write import bmv2_text as bmv2_text
    from offramp_p4_tools.debug.debugger import Debugger as Debugger
    from offramp_p4_tools.debug.launch import ProgramLauncher as ProgramLauncher
    from offramp_p4_tools.debug.server import DebugServer as DebugServer
    from offramp_p4_tools.dropin.p4c import write_outputs as write_outputs
    from offramp_p4_tools.dropin.shims import write_shims as write_shims
    from offramp_p4_tools.fuzz.campaign import Campaign as Campaign
    from offramp_p4_tools.fuzz.findings import Finding as Finding
    from offramp_p4_tools.gnmi.service import GnmiService as GnmiService
    from offramp_p4_tools.language.server import make_language_server as make_language_server
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "BfrtService": "offramp_p4_tools.bfrt.service",
            "Campaign": "offramp_p4_tools.fuzz.campaign",
            "DebugServer": "offramp_p4_tools.debug.server",
            "Debugger": "offramp_p4_tools.debug.debugger",
            "Finding": "offramp_p4_tools.fuzz.findings",
            "GnmiService": "offramp_p4_tools.gnmi.service",
            "ProgramLauncher": "offramp_p4_tools.debug.launch",
            "bmv2_text": "offramp_p4_tools.bmv2.write",
            "from_json": "offramp_p4_tools.bmv2.read",
            "make_language_server": "offramp_p4_tools.language.server",
            "write_outputs": "offramp_p4_tools.dropin.p4c",
            "write_shims": "offramp_p4_tools.dropin.shims",
        },
    )
